//go:build integration

package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestSettings: the first database is made with the settings it keeps, and knows time zones by name. A member that
// cannot start with new settings continues with those before.
func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, func(c *agentapi.NodeConfig) {
		c.Settings["innodb_page_size"], c.Settings["lower_case_table_names"] = "32k", "1"
		c.Settings["default_time_zone"] = "Europe/Nowhere"
	})
	s := &scenario{T: t, world: w}
	for _, step := range []struct {
		name string
		run  func(*scenario)
	}{
		{"agents wait for an order", (*scenario).wait},
		{"the first server does not start", (*scenario).badFirstStart},
		{"the setting is corrected", (*scenario).goodFirstStart},
		{"a member does not start with a new setting", (*scenario).unusableSetting},
		{"the setting is corrected again", (*scenario).usableSetting},
	} {
		if !t.Run(step.name, func(t *testing.T) { s.T, w.t = t, t; step.run(s) }) {
			break
		}
	}
	w.t = t
}

func (s *scenario) badFirstStart() {
	n := s.node(0)
	for range 2 {
		s.epoch++
		if _, result := n.send(agentapi.OrderInitialise, s.epoch, galera.Position{},
			""); result.State != agentapi.OrderAccepted {
			s.Fatalf("%+v", result)
		}
		n.until("empty again", 60*time.Second, func(r agentapi.Report) bool {
			return r.Phase == galera.PhaseWaiting && r.Data == galera.DataEmpty && r.Order.State == agentapi.OrderFailed &&
				r.Order.Epoch == s.epoch && r.Failure != nil &&
				r.Failure.Reason == agentapi.FailureSettings && strings.Contains(r.Failure.Message,
				"Illegal or unknown default time zone 'Europe/Nowhere'")
		})
	}
}

func (s *scenario) goodFirstStart() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Settings["default_time_zone"] = "Europe/Vienna" })
	n := s.node(0)
	n.until("corrected", 30*time.Second,
		func(r agentapi.Report) bool { return r.Config.Loaded == s.world.config.Revision })
	s.epoch++
	o, result := n.send(agentapi.OrderInitialise, s.epoch, galera.Position{}, "")
	if result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	s.uuid = n.until("initialised", 60*time.Second, done(o.ID)).Server.ClusterUUID
	s.all(90 * time.Second)
	const values = "SELECT CONCAT_WS(' ', @@innodb_page_size, @@lower_case_table_names, @@time_zone, " +
		"CONVERT_TZ('2026-07-01 12:00:00', 'UTC', 'Asia/Tokyo'), @@secure_file_priv)"
	for _, n := range s.world.nodes {
		if got, want := n.mustSQL(values), "32768 1 Europe/Vienna 2026-07-01 21:00:00 /var/lib/mysql/files/"; got != want {
			s.Errorf("%s: %q, want %q", n.name, got, want)
		}
	}
}

// unusableSetting publishes a setting that mariadbd accepts, and cannot start with.
func (s *scenario) unusableSetting() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Settings["default_time_zone"] = "Europe/Elsewhere" })
	n := s.node(1)
	n.until("asking for a restart", 30*time.Second, func(r agentapi.Report) bool {
		return r.Config.Loaded == s.world.config.Revision && r.Config.RestartNeeded
	})
	s.epoch++
	if _, result := n.send(agentapi.OrderRestart, s.epoch, galera.Position{},
		s.uuid); result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	r := n.until("serving with the settings before", 60*time.Second, func(r agentapi.Report) bool {
		return strings.Contains(r.Config.Problem, "unknown default time zone 'Europe/Elsewhere'") && synced(3)(r)
	})
	if r.Config.Loaded != "" || r.Config.RestartNeeded {
		s.Errorf("%+v, join %+v", r.Config, r.Join)
	}
	if got := n.mustSQL("SELECT @@time_zone"); got != "Europe/Vienna" {
		s.Error(got)
	}
}

func (s *scenario) usableSetting() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Settings["default_time_zone"] = "Europe/Paris" })
	n := s.node(1)
	n.until("asking for a restart", 30*time.Second, func(r agentapi.Report) bool {
		return r.Config.Loaded == s.world.config.Revision && r.Config.RestartNeeded && r.Config.Problem == ""
	})
	s.epoch++
	o, result := n.send(agentapi.OrderRestart, s.epoch, galera.Position{}, s.uuid)
	if result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	n.until("restarted", 60*time.Second, done(o.ID))
	if got := n.mustSQL("SELECT @@time_zone"); got != "Europe/Paris" {
		s.Error(got)
	}
}
