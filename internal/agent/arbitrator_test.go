//go:build integration

package agent_test

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// arbitration is two real nodes and a real garbd.
type arbitration struct {
	*testing.T
	w     *testCluster
	arb   *node
	uuid  string
	epoch int64
	rows  int
}

// TestArbitrator takes an arbitrator through its life. Its steps build on each other; the first that
// fails ends it.
func TestArbitrator(t *testing.T) {
	t.Parallel()
	s := newArbitration(t, false)
	w := s.w
	for _, step := range []struct {
		name string
		run  func(*arbitration)
	}{
		{"it waits for two nodes", (*arbitration).form},
		{"encryption is proved", (*arbitration).prove},
		{"either node may be lost", (*arbitration).lose},
		{"its agent is replaced by another one, and back", (*arbitration).replace},
		{"a killed garbd comes back as another", (*arbitration).kill},
		{"a renewed certificate waits for the order", (*arbitration).renew},
		{"a certificate of a foreign CA keeps it out", (*arbitration).foreign},
		{"it ends with the last node, and does not hinder the next component", (*arbitration).stopAll},
		{"replication is switched off, and on", (*arbitration).switchTLS},
		{"graceful end of its pod", (*arbitration).end},
	} {
		began := time.Now()
		if !t.Run(step.name, func(t *testing.T) { s.T, w.t = t, t; step.run(s) }) {
			break
		}
		t.Logf("%-40s %s", step.name, time.Since(began).Round(time.Millisecond))
	}
	w.t = t
}

func newArbitration(t *testing.T, ipv6 bool) *arbitration {
	t.Helper()
	w := newWorldOn(t, ipv6, 2, nil)
	arb := &node{w: w, image: image, name: "shop-arbitrator", command: "arbitrator",
		ip: strings.TrimSuffix(w.nodes[0].ip, "10") + "60"}
	arb.base = filepath.Join(w.dir, arb.name)
	w.nodes = append(w.nodes, arb)
	w.publishConfig(func(c *agentapi.NodeConfig) { c.Arbitrator = &agentapi.Peer{Name: arb.name, Host: arb.name} })
	w.publishCertificate(w.leaf())
	return &arbitration{T: t, w: w, arb: arb}
}

func (s *arbitration) node(i int) *node { return s.w.nodes[i] }

func (s *arbitration) write(i int) {
	s.Helper()
	s.node(i).mustSQL("SET SESSION wsrep_sync_wait = 4; INSERT INTO app.t VALUES ()") // the table may not be applied yet
	s.rows++
}

// whole waits until the arbitrator is counted, by itself and by both nodes, and returns its report.
func (s *arbitration) whole() agentapi.Report {
	s.Helper()
	r := s.arb.until("counted", time.Minute, counted)
	for i := range 2 {
		s.node(i).until("counting the arbitrator", time.Minute, func(n agentapi.Report) bool {
			return synced(3)(n) && slices.Contains(n.Server.Members, r.Arbitration.Process)
		})
	}
	return r
}

func counted(r agentapi.Report) bool {
	return r.Arbitration != nil && r.Arbitration.Counted && r.Phase == galera.PhaseRunning
}

func (s *arbitration) form() {
	for _, n := range s.w.nodes {
		n.start()
	}
	s.arb.until("waiting", time.Minute, func(r agentapi.Report) bool {
		return r.Phase == galera.PhaseWaiting && strings.Contains(r.Waiting, "two nodes") && r.Arbitration == nil
	})
	s.node(0).until("waiting", time.Minute, waiting)
	s.node(1).until("waiting", time.Minute, waiting)
	s.epoch++
	s.node(0).send(agentapi.OrderInitialise, s.epoch, galera.Position{}, "")
	s.uuid = s.node(0).until("Primary", 2*time.Minute, func(r agentapi.Report) bool {
		return r.Server != nil &&
			r.Server.State == galera.NodeSynced
	}).Server.ClusterUUID
	r := s.whole()
	if r.Image.ProviderVersion == "" || r.Config.Socket != galera.SocketStrict {
		s.Errorf("%+v %+v", r.Image, r.Config)
	}
	s.node(0).mustSQL("CREATE DATABASE app; CREATE TABLE app.t (id INT AUTO_INCREMENT PRIMARY KEY)")
	s.write(0)
	s.write(1)
}

func (s *arbitration) prove() {
	proved := func(f agentapi.ChannelFact) bool { return f.Observed == agentapi.ObservedTLS && f.Verified }
	s.arb.until("proved", time.Minute, func(r agentapi.Report) bool {
		own := r.TLS.Channels[agentapi.ChannelReplication]
		return proved(own) && own.PlaintextRefused && own.Serial == r.TLS.LoadedSerial && proved(r.TLS.Peers["shop-0"]) &&
			proved(r.TLS.Peers["shop-1"])
	})
	for i := range 2 {
		s.node(i).until("verifying the arbitrator", time.Minute,
			func(r agentapi.Report) bool { return proved(r.TLS.Peers[s.arb.name]) })
	}
}

func (s *arbitration) lose() {
	for i := range 2 {
		gone, stays := s.node(i), s.node(1-i)
		gone.stop(false)
		stays.until("Primary without the other", time.Minute, synced(2))
		s.write(1 - i)
		gone.start()
		s.whole()
	}
}

// replace leaves the same garbd, counted all the time, below another agent; kill then shows that this one sees its end.
func (s *arbitration) replace() {
	first, second := built.first(s.T), built.next(s.T)
	before := s.whole()
	for i, p := range []*agentapi.Program{second, first, second} {
		s.eventually("the replacement", func() bool {
			err := s.arb.replace(p)
			if err != nil && !strings.Contains(err.Error(), agentapi.NotNow) {
				s.Fatal(err)
			}
			return err == nil
		})
		var r agentapi.Report
		for reported := time.Now(); time.Since(reported) < 2*time.Second || r.AgentDigest != p.Digest; {
			if time.Since(reported) > time.Minute {
				s.Fatalf("not replaced: %+v", r)
			}
			got, err := s.arb.report()
			if err != nil {
				continue // the connection of the agent before
			}
			if r = got; !counted(r) || r.Arbitration.Process != before.Arbitration.Process || len(r.TLS.Channels) == 0 ||
				r.Config.RestartNeeded ||
				r.TLS.LoadedSerial != before.TLS.LoadedSerial || r.Boot != before.Boot {
				s.Fatalf("in between: %+v", r)
			}
		}
		if r.Handovers != i+1 || r.Restarts != before.Restarts {
			s.Errorf("%d handovers, %d restarts", r.Handovers, r.Restarts)
		}
	}
	check(s.T, s.arb.replace(built.refuses(s.T)))
	s.arb.until("back", 20*time.Second, func(r agentapi.Report) bool {
		return counted(r) && strings.Contains(r.HandoverProblem, "changed its mind") &&
			r.Arbitration.Process == before.Arbitration.Process
	})
	s.whole()
}

func (s *arbitration) kill() {
	before := s.arb.until("counted", time.Minute, counted)
	s.arb.exec("bash", "-c", "kill -9 $(pidof garbd)")
	s.arb.until("another one", time.Minute, func(r agentapi.Report) bool {
		return counted(r) && r.Arbitration.Process != before.Arbitration.Process && r.Restarts == 1
	})
	s.whole()
	s.write(0)
}

func (s *arbitration) restart(process string) agentapi.OrderState {
	s.Helper()
	return s.arb.resend(agentapi.Order{ID: process, Epoch: 1, Kind: agentapi.OrderRestart}).State
}

func (s *arbitration) renew() {
	before := s.whole()
	s.w.publishCertificate(s.w.leaf())
	s.node(0).until("a new certificate", time.Minute, func(r agentapi.Report) bool {
		return r.TLS.LoadedSerial != "" && r.TLS.LoadedSerial == r.TLS.PublishedSerial &&
			r.TLS.LoadedSerial != before.TLS.LoadedSerial
	})
	needed := s.arb.until("in need of a restart", time.Minute,
		func(r agentapi.Report) bool { return r.Config.RestartNeeded && counted(r) })
	if needed.Arbitration.Process != before.Arbitration.Process || needed.TLS.LoadedSerial != before.TLS.LoadedSerial {
		s.Errorf("%+v was restarted without an order", needed.Arbitration)
	}
	if got := s.restart("arbitrator.another"); got != agentapi.OrderDone {
		s.Errorf("an order for a garbd that is gone: %s", got)
	}
	if got := s.restart(before.Arbitration.Process); got != agentapi.OrderAccepted {
		s.Errorf("the order: %s", got)
	}
	s.arb.until("restarted", time.Minute, func(r agentapi.Report) bool {
		return counted(r) && r.TLS.LoadedSerial == r.TLS.PublishedSerial && !r.Config.RestartNeeded &&
			r.Arbitration.Process != before.Arbitration.Process
	})
	s.whole()
	if got := s.restart(before.Arbitration.Process); got != agentapi.OrderDone {
		s.Errorf("the same order again: %s", got)
	}
}

func (s *arbitration) foreign() {
	before := s.whole()
	stranger := newAuthority(s.T, "a stranger", nil)
	certPEM, keyPEM := stranger.issue(s.T, "shop", "shop", "shop-nodes")
	s.arb.mount("tls", map[string][]byte{"tls.crt": certPEM, "tls.key": keyPEM, "ca.crt": stranger.pem,
		agentapi.ControlCAKey: s.w.control.pem})
	s.eventually("the order", func() bool { return s.arb.tryRestart(stranger.pem, before.Arbitration.Process) })
	for i := range 2 {
		s.node(i).until("without the arbitrator", time.Minute, func(r agentapi.Report) bool { return synced(2)(r) })
	}
	// garbd runs and tries; no node lets it in.
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if r := got(s.node(0).report())(s.T); r.Server != nil && r.Server.Size != 2 {
			s.Fatalf("a foreign certificate was let in: %+v", r.Server)
		}
	}
	s.write(1)
	s.w.publishCertificate(s.w.leaf())
	s.whole()
}

// tryRestart asks with trust in another CA.
func (n *node) tryRestart(caPEM []byte, process string) bool {
	root := n.w.root
	n.w.root = &authority{pem: caPEM}
	certPEM, keyPEM := n.w.control.issue(n.w.t, agentapi.OperatorName, agentapi.OperatorName)
	client := n.w.newClient(certPEM, keyPEM)
	n.w.root = root
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	r, err := client.Order(ctx, n.ip, agentapi.Order{ID: process, Epoch: 1, Kind: agentapi.OrderRestart})
	return err == nil && r.State != agentapi.OrderRefused
}

func (s *arbitration) eventually(what string, ok func() bool) {
	s.Helper()
	for end := time.Now().Add(90 * time.Second); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatal(what)
		}
	}
}

func (s *arbitration) stopAll() {
	s.whole()
	s.epoch++
	for _, i := range []int{1, 0} {
		s.node(i).send(agentapi.OrderStop, s.epoch, galera.Position{}, s.uuid)
		s.node(i).until("stopped", time.Minute, func(r agentapi.Report) bool { return r.Phase == galera.PhaseStopped })
	}
	r := s.arb.until("ended", time.Minute, func(r agentapi.Report) bool {
		return r.Arbitration == nil &&
			r.Phase == galera.PhaseWaiting
	})
	if r.Restarts != 1 {
		s.Errorf("garbd ended by itself: %+v", r)
	}
	s.epoch++
	last := s.node(0).until("known", time.Minute, func(r agentapi.Report) bool { return r.Position.Known() })
	s.node(0).send(agentapi.OrderBootstrap, s.epoch, last.Position, s.uuid)
	s.node(0).until("Primary", time.Minute, synced(1))
	s.node(1).send(agentapi.OrderStart, s.epoch, galera.Position{}, s.uuid)
	s.whole()
	s.write(1)
}

// switchTLS goes there and back, the arbitrator first each time.
func (s *arbitration) switchTLS() {
	for _, mode := range []galera.SocketMode{galera.SocketDynamic, galera.SocketPlain, galera.SocketDynamic,
		galera.SocketStrict} {
		s.w.publishConfig(func(c *agentapi.NodeConfig) { c.TLS.Replication = mode })
		old := s.arb.until("in need of a restart", time.Minute,
			func(r agentapi.Report) bool { return r.Config.RestartNeeded })
		s.restart(old.Arbitration.Process)
		s.arb.until("restarted", time.Minute, func(r agentapi.Report) bool { return counted(r) && r.Config.Socket == mode })
		s.whole()
		for i := range 2 {
			s.epoch++
			s.node(i).until("in need of a restart", time.Minute, func(r agentapi.Report) bool { return r.Config.RestartNeeded })
			s.node(i).send(agentapi.OrderRestart, s.epoch, galera.Position{}, s.uuid)
			s.node(i).until("restarted", 2*time.Minute,
				func(r agentapi.Report) bool { return joined(3)(r) && r.Config.Socket == mode })
			s.whole()
			s.write(1 - i)
		}
	}
	if n := s.node(1).mustSQL("SELECT COUNT(*) FROM app.t"); n != strconv.Itoa(s.rows) {
		s.Errorf("%s rows, %d were acknowledged", n, s.rows)
	}
}

func (s *arbitration) end() {
	if took := s.arb.stop(true); took > 15*time.Second { // it is killed after 20
		s.Errorf("the end took %s", took)
	}
	s.node(0).until("two are left", 30*time.Second, synced(2))
}
