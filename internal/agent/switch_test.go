//go:build integration

package agent_test

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestSwitch starts a cluster without any encryption, turns it on in two rolling passes, replaces the CA, and
// changes to rsync, with the rows counted after each.
func TestSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, func(c *agentapi.NodeConfig) {
		c.TLS = agentapi.TLSConfig{Replication: galera.SocketPlain, StateTransfer: galera.PolicyDisabled,
			Clients: galera.PolicyPreferred, MinVersion: "1.3"}
	})
	s := &scenario{T: t, world: w}
	for _, step := range []struct {
		name string
		run  func(*scenario)
	}{
		{"form in clear text", (*scenario).formPlain},
		{"pass A: dynamic", (*scenario).toDynamic},
		{"pass B: strict", (*scenario).toStrict},
		{"pass C: dynamic again", (*scenario).toDynamic},
		{"pass D: plain", (*scenario).toPlain},
		{"on again", (*scenario).toDynamic},
		{"and strict", (*scenario).toStrict},
		{"replace the CA", (*scenario).replaceCA},
		{"transfer by rsync", (*scenario).rsync},
	} {
		began := time.Now()
		if !t.Run(step.name, func(t *testing.T) { s.T, w.t = t, t; step.run(s) }) {
			break
		}
		t.Logf("%-30s %s", step.name, time.Since(began).Round(time.Millisecond))
	}
	w.t = t
}

// observe waits until every node has seen its own channel like this.
func (s *scenario) observe(channel, want string) {
	s.Helper()
	for _, n := range s.world.nodes {
		n.until(channel+" "+want, 60*time.Second,
			func(r agentapi.Report) bool { return r.TLS.Channels[channel].Observed == want })
	}
}

// roll restarts all nodes one by one with the published configuration.
func (s *scenario) roll() {
	s.Helper()
	for _, n := range s.world.nodes {
		n.until("reported", 30*time.Second,
			func(r agentapi.Report) bool { return r.Config.Loaded == s.world.config.Revision })
	}
	for _, n := range s.world.nodes {
		o, result := n.send(agentapi.OrderRestart, s.epoch, galera.Position{}, s.uuid)
		if result.State != agentapi.OrderAccepted {
			s.Fatalf("%+v", result)
		}
		r := n.until("restarted", 90*time.Second, done(o.ID))
		if r.Config.RestartNeeded || r.Join.Kind == "SST" || r.Config.Socket != s.world.config.TLS.Replication {
			s.Errorf("%s: %+v, join %+v", n.name, r.Config, r.Join)
		}
		s.all(30 * time.Second)
		s.write(0)
	}
	s.epoch++ // the same configuration may come again
	s.intact()
}

func (s *scenario) formPlain() {
	s.wait()
	s.form()
	s.epoch = 2
	s.observe(agentapi.ChannelReplication, agentapi.ObservedPlaintext)
	s.observe(agentapi.ChannelStateTransfer, agentapi.ObservedPlaintext)
	s.observe(agentapi.ChannelClients, agentapi.ObservedMixed)
}

func (s *scenario) toDynamic() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) {
		c.TLS.Replication, c.TLS.StateTransfer = galera.SocketDynamic, galera.PolicyRequired
	})
	s.roll()
	s.observe(agentapi.ChannelReplication, agentapi.ObservedMixed)
	s.observe(agentapi.ChannelStateTransfer, agentapi.ObservedTLS)
}

func (s *scenario) toStrict() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) {
		c.TLS.Replication, c.TLS.Clients = galera.SocketStrict, galera.PolicyRequired
	})
	s.roll()
	s.prove()
}

func (s *scenario) toPlain() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) {
		c.TLS.Replication, c.TLS.StateTransfer = galera.SocketPlain, galera.PolicyDisabled
	})
	s.roll()
	s.observe(agentapi.ChannelReplication, agentapi.ObservedPlaintext)
}

// replaceCA: trust both, present the new, trust only the new, restart.
func (s *scenario) replaceCA() {
	w := s.world
	oldRoot := w.root
	oldPrint, newRoot := w.nodes[0].trusted(), newAuthority(s.T, "shop root 2", nil)
	both := append(append([]byte{}, oldRoot.pem...), newRoot.pem...)
	published := func(step string, want int) {
		s.Helper()
		for _, n := range w.nodes {
			n.until(step, 30*time.Second, func(r agentapi.Report) bool {
				return r.TLS.LoadedSerial == r.TLS.PublishedSerial && r.TLS.Problem == "" && len(r.TLS.TrustedCAs) == want
			})
		}
		s.write(0)
	}
	certPEM, keyPEM := w.leaf()
	w.root = &authority{cert: oldRoot.cert, key: oldRoot.key, pem: both}
	w.publishCertificate(certPEM, keyPEM)
	published("trusting both", 2)
	w.ca, w.cn = newAuthority(s.T, "shop intermediate 2", newRoot), "shop"
	w.chain = w.ca.pem
	certPEM, keyPEM = w.leaf()
	w.publishCertificate(certPEM, keyPEM)
	for _, n := range w.nodes {
		n.until("presenting the new leaf", 30*time.Second, func(r agentapi.Report) bool {
			return r.TLS.LoadedSerial == r.TLS.PublishedSerial &&
				r.TLS.Channels[agentapi.ChannelReplication].Serial == r.TLS.PublishedSerial
		})
	}
	w.root = newRoot
	clientCert, clientKey := w.control.issue(s.T, agentapi.OperatorName, agentapi.OperatorName)
	w.client.Close()
	w.client = w.newClient(clientCert, clientKey)
	w.publishCertificate(certPEM, keyPEM)
	published("trusting both still, as only a restart drops one", 2)
	s.epoch++
	s.roll()
	for _, n := range w.nodes {
		if got := n.trusted(); len(got) != 1 || got[0] == oldPrint[0] {
			s.Errorf("%s trusts %v", n.name, got)
		}
	}
	s.prove()
}

func (n *node) trusted() []string {
	n.w.t.Helper()
	r, err := n.report()
	check(n.w.t, err)
	return r.TLS.TrustedCAs
}

func (s *scenario) rsync() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) {
		c.StateTransfer = agentapi.StateTransferConfig{Method: "Rsync", Parallel: 1}
	})
	for _, n := range s.world.nodes {
		n.until("reported", 30*time.Second, func(r agentapi.Report) bool {
			return r.Config.Loaded == s.world.config.Revision && !r.Config.RestartNeeded
		})
	}
	n := s.node(2)
	n.stop(true)
	n.wipe()
	n.start()
	r := n.until("joined by rsync", 90*time.Second, joined(3))
	if r.Join.Kind != "SST" {
		s.Errorf("%+v", r.Join)
	}
	s.Logf("rsync: %s", r.Join.EndedAt.Sub(r.Join.StartedAt).Round(time.Millisecond))
	n.killServer()
	before := r.Server.NodeUUID
	r = n.until("back by IST", 90*time.Second, func(r agentapi.Report) bool {
		return synced(3)(r) && r.Server.NodeUUID != before
	})
	if r.Join.Kind == "SST" {
		s.Errorf("%+v", r.Join)
	}
	s.write(1)
	s.intact()
}
