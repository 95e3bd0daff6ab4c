//go:build integration

package agent_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestCluster takes three agents with real mariadbds through a cluster's life under TLS 1.3. Its steps build
// on each other; the first that fails ends it.
func TestCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, func(c *agentapi.NodeConfig) {
		// A member that has no pod yet, so that its name does not resolve.
		c.Members = append(c.Members, agentapi.Peer{Name: "shop-9", Host: "shop-9"})
	})
	w.nodes[1].keepsRun = true
	s := &scenario{T: t, world: w}
	for _, step := range []struct {
		name string
		run  func(*scenario)
	}{
		{"agents wait for an order", (*scenario).wait},
		{"strangers are turned away", (*scenario).unauthorised},
		{"strangers learn nothing of a member", (*scenario).peerPort},
		{"orders that do not fit are refused", (*scenario).badOrders},
		{"initialise, and two join", (*scenario).form},
		{"encryption is proved", (*scenario).prove},
		{"port 3306 trusts the clients' CA alone", (*scenario).clientsPort},
		{"repeated and old orders", (*scenario).repeat},
		{"SIGKILL of one mariadbd", (*scenario).killOne},
		{"SIGKILL of one agent with its mariadbd", (*scenario).killTogether},
		{"restart with a changed setting", (*scenario).restart},
		{"root has another password", (*scenario).rootPassword},
		{"settings that need no restart", (*scenario).liveSettings},
		{"send windows follow the distance, or the configuration", (*scenario).sendWindows},
		{"certificate renewal", (*scenario).renew},
		{"a bad pair is not loaded", (*scenario).badPair},
		{"stop and start by order", (*scenario).stopStart},
		{"SIGKILL of everything", (*scenario).killAll},
		{"SIGKILL of everything in the middle of a statement", (*scenario).cutStatement},
		{"a new volume joins the old history", (*scenario).newVolume},
		{"a member with other data", (*scenario).expel},
		{"quorum lost and rebuilt", (*scenario).quorum},
		{"graceful end of a pod", (*scenario).end},
	} {
		began := time.Now()
		if !t.Run(step.name, func(t *testing.T) { s.T, w.t = t, t; step.run(s) }) {
			break
		}
		t.Logf("%-40s %s", step.name, time.Since(began).Round(time.Millisecond))
	}
	w.t = t
}

type scenario struct {
	*testing.T
	world *testCluster
	uuid  string
	rows  int
	epoch int64
	first agentapi.Order
}

func (s *scenario) node(i int) *node { return s.world.nodes[i] }

// write inserts a row through a node and remembers that it was acknowledged.
func (s *scenario) write(i int) {
	s.Helper()
	s.node(i).mustSQL(fmt.Sprintf("INSERT INTO app.t VALUES (%d)", s.rows+1))
	s.rows++
}

// intact checks on every node that every acknowledged row is there, once.
func (s *scenario) intact() {
	s.Helper()
	for _, n := range s.world.nodes {
		out := n.mustSQL("SET SESSION wsrep_sync_wait=1; SELECT COUNT(*), COUNT(DISTINCT id), MAX(id) FROM app.t")
		if want := fmt.Sprintf("%d\t%d\t%d", s.rows, s.rows, s.rows); out != want {
			s.Fatalf("%s: rows %q, want %q", n.name, out, want)
		}
	}
}

// all waits for every node to be Synced with all others.
func (s *scenario) all(limit time.Duration) {
	s.Helper()
	for _, n := range s.world.nodes {
		n.until("synced with all", limit, synced(len(s.world.nodes)))
	}
}

func (s *scenario) wait() {
	for _, n := range s.world.nodes {
		n.start()
	}
	for _, n := range s.world.nodes {
		r := n.until("waiting", 20*time.Second, waiting)
		if r.Data != galera.DataEmpty || r.Position.Known() || r.Waiting == "" || r.Failure != nil {
			s.Fatalf("%s: %+v", n.name, r)
		}
		if code := n.probe(agentapi.PathReady); code != http.StatusServiceUnavailable {
			s.Errorf("%s: readyz is %d while waiting", n.name, code)
		}
		if code := n.probe(agentapi.PathLive); code != http.StatusOK {
			s.Errorf("%s: livez is %d", n.name, code)
		}
	}
}

func (n *node) probe(path string) int {
	n.w.t.Helper()
	resp, err := http.Get("http://" + net.JoinHostPort(n.ip, fmt.Sprint(agentapi.ProbePort)) + path)
	check(n.w.t, err)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// unauthorised: no certificate, a node's certificate, and another name from the control CA.
func (s *scenario) unauthorised() {
	certPEM, keyPEM := s.world.leaf()
	otherCert, otherKey := s.world.control.issue(s.T, "stranger", "stranger.control")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.world.root.pem)
	for name, c := range map[string]*agentapi.Client{
		"no certificate": agentapi.NewClient(tls.Certificate{}, roots, "shop-nodes"),
		"a node":         s.world.newClient(certPEM, keyPEM),
		"another name":   s.world.newClient(otherCert, otherKey),
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		if _, err := c.Status(ctx, s.node(0).ip, -1, 0); err == nil {
			s.Errorf("the control port answered a client with %s", name)
		}
		cancel()
	}
}

func (s *scenario) badOrders() {
	pos := galera.Position{UUID: "11111111-2222-3333-4444-555555555555", Seqno: 7}
	for name, send := range map[string]func() agentapi.OrderResult{
		"bootstrap of an empty member": func() agentapi.OrderResult {
			_, r := s.node(0).send(agentapi.OrderBootstrap, 1, pos, pos.UUID)
			return r
		},
		"initialise in an old cluster": func() agentapi.OrderResult {
			_, r := s.node(0).send(agentapi.OrderInitialise, 1, galera.Position{}, pos.UUID)
			return r
		},
		"rebuild on a member that is down": func() agentapi.OrderResult {
			_, r := s.node(0).send(agentapi.OrderRebuildQuorum, 1, pos, pos.UUID)
			return r
		},
		"unknown kind": func() agentapi.OrderResult { _, r := s.node(0).send("Explode", 1, pos, ""); return r },
	} {
		if r := send(); r.State != agentapi.OrderRefused || r.Message == "" {
			s.Errorf("%s: %+v", name, r)
		}
	}
	if r, _ := s.node(0).report(); r.Phase != galera.PhaseWaiting || r.Data != galera.DataEmpty {
		s.Errorf("something was done: %+v", r)
	}
}

func (s *scenario) form() {
	s.epoch = 1
	began := time.Now()
	o, result := s.node(0).send(agentapi.OrderInitialise, s.epoch, galera.Position{}, "")
	if result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	s.first = o
	r := s.node(0).until("initialised", 60*time.Second, done(o.ID))
	s.Logf("initialise to serving: %s", time.Since(began).Round(time.Millisecond))
	s.uuid = r.Server.ClusterUUID
	s.node(0).mustSQL("CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY) ENGINE=InnoDB")
	s.all(90 * time.Second)
	s.Logf("all three serve: %s", time.Since(began).Round(time.Millisecond))
	for _, n := range s.world.nodes[1:] {
		r := n.until("reporting its join", 10*time.Second, func(r agentapi.Report) bool {
			return r.Join != nil && r.Join.Kind == "SST" && r.Join.EndedAt != nil && r.Join.Bytes > 1<<20
		})
		s.Logf("%s: %s from %q in %s, %d bytes", n.name, r.Join.Kind, r.Join.Donor, r.Join.EndedAt.Sub(r.Join.StartedAt).
			Round(time.Millisecond), r.Join.Bytes)
		encrypted := s.world.config.TLS.StateTransfer == galera.PolicyRequired
		if encrypted != (r.Join.Protocol == "TLSv1.3") || encrypted != strings.HasPrefix(r.Join.Cipher, "TLS_") {
			s.Errorf("%s: the copy came over %q with %q", n.name, r.Join.Protocol, r.Join.Cipher)
		}
		if code := n.probe(agentapi.PathReady); code != http.StatusOK {
			s.Errorf("%s: readyz is %d", n.name, code)
		}
	}
	for i := range s.world.nodes[1:] {
		s.write(i + 1)
	}
	s.intact()
}

func (s *scenario) prove() {
	for _, n := range s.world.nodes {
		r := n.until("proved", 60*time.Second, func(r agentapi.Report) bool {
			for _, ch := range []string{agentapi.ChannelReplication, agentapi.ChannelStateTransfer, agentapi.ChannelClients} {
				if f := r.TLS.Channels[ch]; f.Observed != agentapi.ObservedTLS || !f.PlaintextRefused &&
					ch != agentapi.ChannelStateTransfer || f.Problem != "" {
					return false
				}
			}
			for _, peer := range s.world.nodes {
				if f := r.TLS.Peers[peer.name]; peer != n && (f.Observed != agentapi.ObservedTLS || !f.Verified) {
					return false
				}
			}
			return true
		})
		for _, ch := range []string{agentapi.ChannelReplication, agentapi.ChannelClients} {
			f := r.TLS.Channels[ch]
			if f.Protocol != "TLSv1.3" || f.Cipher == "" || f.Serial != r.TLS.PublishedSerial || !f.Verified ||
				r.TLS.LoadedSerial != f.Serial {
				s.Errorf("%s: %s: %+v", n.name, ch, f)
			}
		}
		if err := n.refusesPlaintext(); err != nil {
			s.Errorf("%s: %v", n.name, err)
		}
	}
}

func (s *scenario) repeat() {
	if r := s.node(0).resend(s.first); r.State != agentapi.OrderDone {
		s.Errorf("the same order again: %+v", r)
	}
	if _, r := s.node(0).send(agentapi.OrderRestart, 0, galera.Position{}, ""); r.State != agentapi.OrderRefused {
		s.Errorf("epoch 0: %+v", r)
	}
	changed := s.first
	changed.Kind = agentapi.OrderRestart
	if r := s.node(0).resend(changed); r.State != agentapi.OrderRefused {
		s.Errorf("a known id with other content: %+v", r)
	}
	if _, r := s.node(1).send(agentapi.OrderInitialise, 2, galera.Position{}, ""); r.State != agentapi.OrderRefused {
		s.Errorf("initialise on a running member: %+v", r)
	}
	if _, r := s.node(1).send(agentapi.OrderRebuildQuorum, 2, galera.Position{UUID: s.uuid, Seqno: 1},
		s.uuid); r.State != agentapi.OrderRefused {
		s.Errorf("rebuild on a Primary member: %+v", r)
	}
	if _, r := s.node(1).send(agentapi.OrderRestart, 1, galera.Position{}, s.uuid); r.State != agentapi.OrderRefused {
		s.Errorf("an epoch that is over: %+v", r)
	}
	s.epoch = 3
}

func (s *scenario) killOne() {
	n, tries := s.node(1), 0
	var began time.Time
	// The end is reported until the next server starts: who asks too late tries again.
	for evicted := false; !evicted; tries++ {
		if tries == 4 {
			s.Fatal("no end of a server was reported in time to evict it")
		}
		before := n.until("synced", 60*time.Second, synced(3)).Server.NodeUUID
		began = time.Now()
		n.killServer()
		down := n.until("down", 30*time.Second, func(r agentapi.Report) bool {
			return r.Ended != nil || synced(3)(r) && r.Server.NodeUUID != before
		})
		evicted = down.Ended != nil && s.evict(s.node(0), down.Ended)
	}
	s.write(0)
	r := n.until("back", 60*time.Second, synced(3))
	s.Logf("killed to serving: %s", time.Since(began).Round(time.Millisecond))
	if r.Join == nil || r.Join.Kind == "SST" || r.Restarts != tries {
		s.Errorf("join %+v, restarts %d after %d ends", r.Join, r.Restarts, tries)
	}
	s.intact()
}

// evict has a member evict a terminated server from the group. It reports false when the group had found out by itself.
func (s *scenario) evict(n *node, ended *agentapi.Ended) bool {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	if err := s.world.client.Evict(ctx, n.ip, agentapi.Eviction(*ended)); err != nil {
		s.Logf("not evicted: %v", err)
		return false
	}
	n.until("settled without it", 10*time.Second, func(r agentapi.Report) bool {
		return r.Server != nil && r.Server.ViewID > ended.ViewID && !r.Settling && len(r.Server.Group) > 1 &&
			!slices.ContainsFunc(r.Server.Group, func(m agentapi.GroupMember) bool { return m.UUID == ended.NodeUUID })
	})
	const evicted = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS " +
		"WHERE VARIABLE_NAME = 'wsrep_evs_evict_list'"
	if got := n.mustSQL(evicted); got != "" {
		s.Errorf("not forgotten: %q", got)
	}
	if err := s.world.client.Evict(ctx, n.ip, agentapi.Eviction(*ended)); err == nil {
		s.Error("evicted from a view that is gone")
	}
	return true
}

func (s *scenario) restart() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Settings["max_connections"] = "60" })
	n := s.node(2)
	n.until("asking for a restart", 30*time.Second, func(r agentapi.Report) bool {
		return r.Config.Loaded == s.world.config.Revision && r.Config.RestartNeeded
	})
	began := time.Now()
	o, result := n.send(agentapi.OrderRestart, s.epoch, galera.Position{}, s.uuid)
	if result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	r := n.until("restarted", 60*time.Second, done(o.ID))
	s.Logf("restart: %s (join %+v)", time.Since(began).Round(time.Millisecond), r.Join)
	if r.Config.RestartNeeded || r.Restarts != 0 || r.Join.Kind == "SST" {
		s.Errorf("%+v, restarts %d, join %+v", r.Config, r.Restarts, r.Join)
	}
	if got := n.mustSQL("SELECT @@max_connections"); got != "60" {
		s.Errorf("max_connections is %s", got)
	}
	s.all(30 * time.Second)
}
