package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

const (
	transferPort = "4444"
	// knockEvery is the pause between two dials of a port that is not listened on yet: the intruder wants to be
	// there before the donor is.
	knockEvery = 10 * time.Millisecond
	// refusalTime is what a busy node may take to turn a peer away: it hears all others only after that.
	refusalTime = 5 * time.Second
)

// Intruder dials the port on which a joining node awaits its data, again and again, and pretends to be its donor.
type Intruder struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	refusals []string
	taken    []string
}

// StartIntruder begins to dial a pod with each of the pairs in turn, without TLS where one is nil, until it
// was turned away that many times.
func StartIntruder(ctx context.Context, c *Cluster, pod string, times int, pairs ...*Pair) (*Intruder, error) {
	p, err := c.Pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	configs := make([]*tls.Config, len(pairs))
	for i, pair := range pairs {
		if configs[i], err = intruderConfig(pair); err != nil {
			return nil, err
		}
	}
	in := &Intruder{}
	ctx, in.stop = context.WithCancel(context.WithoutCancel(ctx))
	address := net.JoinHostPort(p.Status.PodIP, transferPort)
	in.done.Go(func() {
		for i := 0; ctx.Err() == nil && i < times; {
			if in.knock(ctx, address, configs[i%len(configs)]) {
				i++
			}
			pause(ctx, knockEvery)
		}
	})
	return in, nil
}

// intruderConfig presents the pair whatever CAs the other side says it takes.
func intruderConfig(pair *Pair) (*tls.Config, error) {
	if pair == nil {
		return nil, nil // without TLS
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		InsecureSkipVerify:   true, //nolint:gosec // what the node thinks of this side is asked, and not the other way round
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil },
	}, nil
}

// knock reports whether the port answered.
func (in *Intruder) knock(ctx context.Context, address string, config *tls.Config) bool {
	dialer := net.Dialer{Timeout: GreetingTime}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(refusalTime)) // a connection that was just made takes one
	refusal := offer(ctx, conn, config)
	in.mu.Lock()
	defer in.mu.Unlock()
	if refusal == nil {
		in.taken = append(in.taken, fmt.Sprintf("%s from %s, with TLS: %v", time.Now().UTC().Format(time.TimeOnly),
			conn.LocalAddr(), config != nil))
	} else {
		in.refusals = append(in.refusals, refusal.Error())
	}
	return true
}

// offer sends something, with a certificate where there is a config, and returns how it was refused. A node that took
// this side for its donor would not answer.
func offer(ctx context.Context, conn net.Conn, config *tls.Config) error {
	if config != nil {
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return err
		}
		conn = secure // this side is done; what the other thinks of the certificate comes as the answer
	}
	if _, err := conn.Write([]byte("something that is no backup\n")); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 512))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && config == nil:
		// socat leaves the connection open after a handshake that failed, and OpenSSL answers nothing to what is no TLS.
		return errors.New("no answer to something without TLS")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case err != nil:
		return err
	}
	return errors.New("an answer without TLS") // an alert, to a peer that speaks none
}

// Stop ends the dialling. It returns in what words the intruder was refused, and when it was not.
func (in *Intruder) Stop() (refusals, taken []string) {
	in.stop()
	in.done.Wait()
	return in.refusals, in.taken
}
