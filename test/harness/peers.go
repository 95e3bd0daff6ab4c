package harness

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	replicationPort = "4567"
	// GreetingTime is how long a stranger is listened to at least: a node that wants to speak does so at once.
	GreetingTime = 3 * time.Second
	// JoiningTime is how long a strange arbitrator is watched at least; to become a member takes two seconds.
	JoiningTime = 10 * time.Second
)

// Greeting is what a node's replication port answers to a peer that dials it.
type Greeting struct {
	// Welcomed reports whether the node sent its part of the group's handshake.
	Welcomed bool
	// Refusal is why not, in the words of the connection.
	Refusal string
}

// Peers are those who connect to the ports of a cluster's nodes and are none of them.
type Peers struct{ cluster *Cluster }

// Peers returns the handle of what connects to the ports of the cluster's nodes.
func (c *Cluster) Peers() Peers { return Peers{c} }

// Dial dials a node's replication port, without TLS when pair is nil, else with this
// certificate, and waits for the node's greeting for as long as patience.
func (c Peers) Dial(ctx context.Context, pod string, pair *Pair, patience time.Duration) (Greeting, error) {
	p, err := c.cluster.Pod(ctx, pod)
	if err != nil {
		return Greeting{}, err
	}
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(p.Status.PodIP, replicationPort))
	if err != nil {
		return Greeting{}, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience)) // a connection that was just made takes one
	if pair != nil {
		certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
		if err != nil {
			return Greeting{}, err
		}
		// What the node thinks of this side is asked, and not the other way round.
		secure := tls.Client(conn, &tls.Config{Certificates: []tls.Certificate{certificate},
			InsecureSkipVerify: true}) //nolint:gosec // see above
		if err := secure.HandshakeContext(ctx); err != nil {
			return Greeting{Refusal: err.Error()}, nil
		}
		conn = secure
	}
	return awaitGreeting(conn), nil
}

func awaitGreeting(conn net.Conn) Greeting {
	const alert, major = 0x15, 0x03 // the first bytes of a TLS alert
	buf := make([]byte, 512)
	n, err := conn.Read(buf)
	switch {
	case n > 1 && buf[0] == alert && buf[1] == major:
		return Greeting{Refusal: "a TLS alert"}
	case n > 0:
		return Greeting{Welcomed: true}
	case err != nil:
		return Greeting{Refusal: err.Error()}
	}
	return Greeting{Refusal: "silence"}
}

// TryArbitrator lets a real garbd, a member without data, try to join the cluster: without TLS
// when pair is nil, else with this certificate. It reports whether the cluster counted it within patience.
func (c Peers) TryArbitrator(ctx context.Context, image string, pair *Pair, patience time.Duration) (joined bool,
	output string, err error) {
	stranger, err := c.startStranger(ctx, image, pair)
	if err != nil {
		return false, "", err
	}
	defer func() { err = errors.Join(err, stranger.remove(context.WithoutCancel(ctx))) }()
	joined, err = c.exceedsSize(ctx, patience)
	if err != nil {
		return joined, "", err
	}
	output, err = stranger.stop(ctx, joined)
	return joined, output, err
}

// WithArbitrator does something while a real garbd that is not the operator's is a member, with the cluster's own
// certificate. It has a name in the group.
func (c Peers) WithArbitrator(ctx context.Context, image string, do func(name string) error) error {
	genuine, err := c.cluster.Certificates().Genuine(ctx)
	if err != nil {
		return err
	}
	stranger, err := c.startStranger(ctx, image, &genuine)
	if err != nil {
		return err
	}
	joined, err := c.exceedsSize(ctx, time.Minute)
	switch {
	case err == nil && !joined:
		err = errors.New("garbd was not counted within a minute")
	case err == nil:
		err = do(stranger.name)
	}
	ctx = context.WithoutCancel(ctx)
	_, stopErr := stranger.stop(ctx, true)
	return errors.Join(err, stopErr, stranger.remove(ctx))
}

// stranger is a garbd that is not the operator's, in a container of its own.
type stranger struct {
	name string
	dir  string // its certificate
}

func (c Peers) startStranger(ctx context.Context, image string, pair *Pair, args ...string) (*stranger, error) {
	dir, err := os.MkdirTemp("", "galera-arbitrator-")
	if err != nil {
		return nil, err
	}
	s := &stranger{name: "galera-test-" + strings.ToLower(rand.Text()[:8]), dir: dir}
	options, err := arbitratorOptions(dir, pair)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	addresses, err := c.replicationAddresses(ctx)
	group, groupErr := c.group(ctx)
	if err := errors.Join(err, groupErr); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	command := []string{"run", "-d", "--name", s.name, "--network", "host", "-v", dir + ":/certs:ro", image,
		"garbd", "--address", "gcomm://" + addresses, "--group", group, "--name", s.name, "--options", options}
	if _, err := Docker(ctx, append(command, args...)...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// group is the name of the cluster's group, from what its nodes have been given.
func (c Peers) group(ctx context.Context) (string, error) {
	var cm corev1.ConfigMap
	if err := c.cluster.Kube.Get(ctx, client.ObjectKey{Namespace: c.cluster.Namespace, Name: c.cluster.Name + "-config"},
		&cm); err != nil {
		return "", err
	}
	var config agentapi.NodeConfig
	if err := json.Unmarshal([]byte(cm.Data[agentapi.ConfigKey]), &config); err != nil {
		return "", fmt.Errorf("reading %s/%s: %w", cm.Namespace, cm.Name, err)
	}
	return config.Group(), nil
}

// stop ends it, and returns the end of what it said. A member leaves in order, so that the others do not have to
// wait until they believe it dead; one that was never let in does not listen.
func (s *stranger) stop(ctx context.Context, joined bool) (output string, err error) {
	patience := "1"
	if joined {
		patience = "10"
	}
	_, err = Docker(ctx, "stop", "--time", patience, s.name)
	output, logErr := run(ctx, "", "sh", "-c", `docker logs --tail 40 "$1" 2>&1`, "sh", s.name)
	return output, errors.Join(err, logErr)
}

func (s *stranger) remove(ctx context.Context) error {
	_, err := Docker(ctx, "rm", "-f", s.name)
	return errors.Join(err, os.RemoveAll(s.dir))
}

// arbitratorOptions writes the pair where the arbitrator reads it. It listens on a port of its
// own, because it shares this machine's network.
func arbitratorOptions(dir string, pair *Pair) (string, error) {
	options := "gmcast.listen_addr=tcp://0.0.0.0:14567;gmcast.peer_timeout=PT3S"
	if pair == nil {
		return options, nil
	}
	for name, data := range map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key, "ca.crt": pair.CA} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return "", err
		}
	}
	options = strings.Replace(options, "tcp:", "ssl:", 1)
	return options +
		";socket.ssl=yes;socket.ssl_cert=/certs/tls.crt;socket.ssl_key=/certs/tls.key;socket.ssl_ca=/certs/ca.crt", nil
}

func (c Peers) replicationAddresses(ctx context.Context) (string, error) {
	pods, err := c.cluster.Pods().List(ctx)
	if err != nil {
		return "", err
	}
	var out []string
	for _, p := range pods {
		out = append(out, net.JoinHostPort(p.Status.PodIP, replicationPort))
	}
	return strings.Join(out, ","), nil
}

// exceedsSize watches for a while whether the component has more members than it should have.
func (c Peers) exceedsSize(ctx context.Context, within time.Duration) (bool, error) {
	cl, err := c.cluster.Client(ctx)
	if err != nil {
		return false, err
	}
	pods, err := c.cluster.PodNames(ctx)
	if err != nil {
		return false, err
	}
	votes, err := votes(ctx, c.cluster)
	if err != nil {
		return false, err
	}
	for end := time.Now().Add(within); time.Now().Before(end); {
		if s := cl.NodeState(ctx, pods[0]); s.Err == nil && s.Size == fmt.Sprint(votes+1) {
			return true, nil
		}
		pause(ctx, pollEvery)
	}
	return false, ctx.Err()
}
