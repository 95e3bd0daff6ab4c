package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Copied is what came of asking for a full copy of the data.
type Copied struct {
	// Bytes that were handed over, decrypted.
	Bytes int64
	// Refusals are the words in which the donor turned away what it was shown.
	Refusals []string
	// Output is the end of what the stranger's garbd said.
	Output string
}

// AskForCopy joins the group as a member without data, with the cluster's genuine certificate, and asks a node for a
// full copy of its data, to be sent to this machine, where shown is the certificate presented to it. It
// ends when the donor has refused, when so many bytes have come, or when the time is over.
func (c Peers) AskForCopy(ctx context.Context, image, donor string, shown Pair, enough int64, most time.Duration) (
	out Copied, err error) {
	genuine, err := c.cluster.Certificates().Genuine(ctx)
	if err != nil {
		return out, err
	}
	receiver, err := c.listenFor(ctx, donor, shown, enough)
	if err != nil {
		return out, err
	}
	defer receiver.close()
	// What a joining node's transfer script would have it ask for; version 1 of its protocol.
	request := fmt.Sprintf("mariabackup:%s/xtrabackup_sst//1", receiver.listener.Addr())
	stranger, err := c.startStranger(ctx, image, &genuine, "--donor", agentapi.GroupName(donor), "--sst", request)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, stranger.remove(context.WithoutCancel(ctx))) }()
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	select {
	case <-receiver.ended:
	case <-waiting.Done():
	}
	receiver.close()
	out.Output, err = stranger.stop(ctx, true)
	out.Bytes, out.Refusals = receiver.result()
	return out, err
}

// receiver takes what a donor sends.
type receiver struct {
	listener net.Listener
	config   *tls.Config
	enough   int64
	ended    chan struct{}
	end      sync.Once

	mu       sync.Mutex
	bytes    int64
	refusals []string
}

// listenFor listens where a node can reach this machine.
func (c Peers) listenFor(ctx context.Context, pod string, shown Pair, enough int64) (*receiver, error) {
	p, err := c.cluster.Pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(shown.Certificate, shown.Key)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	// sends nothing, and reports the route
	probe, err := dialer.DialContext(ctx, "udp", net.JoinHostPort(p.Status.PodIP, transferPort))
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(probe.LocalAddr().String())
	if err = errors.Join(err, probe.Close()); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	r := &receiver{listener: listener, enough: enough, ended: make(chan struct{}), config: &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
		ClientAuth: tls.RequireAnyClientCert, // who the donor is, is not the question
	}}
	go r.accept()
	return r, nil
}

func (r *receiver) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		// One after another, as a joining node does: first where the donor stands, then the backup.
		r.take(tls.Server(conn, r.config))
	}
}

// take counts what one connection brings. A side that refuses the certificate says so before the handshake is over.
func (r *receiver) take(conn *tls.Conn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if err := conn.HandshakeContext(context.Background()); err != nil {
		r.count(0, err)
		return
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		if enough := r.count(n, nil); enough || err != nil {
			return
		}
	}
}

// count reports whether there is enough.
func (r *receiver) count(n int, refusal error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += int64(n)
	if refusal != nil {
		r.refusals = append(r.refusals, refusal.Error())
	}
	enough := r.bytes >= r.enough
	if enough || refusal != nil {
		r.end.Do(func() { close(r.ended) })
	}
	return enough
}

func (r *receiver) close() { _ = r.listener.Close() }

func (r *receiver) result() (bytes int64, refusals []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes, append([]string(nil), r.refusals...)
}
