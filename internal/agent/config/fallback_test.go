package config

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

type settings = map[string]string

// configured is a Manager that has read a configuration with settings. Its mariadbd refuses the setting unknown.
type configured struct {
	*testing.T
	Manager
	events chan func()
}

func configure(t *testing.T) *configured {
	t.Helper()
	dir := t.TempDir()
	c := &configured{T: t, events: make(chan func(), 1)}
	server := filepath.Join(dir, "mariadbd")
	script := "#!/bin/sh\ngrep -q '^unknown' \"${1#--defaults-file=}\" || exit 0\necho '[ERROR] unknown variable'\nexit " +
		"1\n"
	if err := os.WriteFile(server, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	loop := eventloop.Loop{Post: func(event func()) { c.events <- event }, Logger: slog.New(slog.DiscardHandler),
		Work: func(limit time.Duration) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), limit)
		}}
	c.Manager = NewManager(loop, platform.Places{Run: dir, Tmp: dir, Config: dir},
		Member{Name: "shop-0", Address: "10.0.0.1"},
		&mariadbd.Image{Mariadbd: server}, &platform.ProcessTable{}, nil,
		Events{Taken: func() {}})
	return c
}

// publish writes a configuration, and reads it until mariadbd has checked it.
func (c *configured) publish(revision string, s settings) {
	c.Helper()
	c.begin(revision, s)
	c.settle()
}

// begin writes a configuration, and begins to read it.
func (c *configured) begin(revision string, s settings) {
	c.Helper()
	data, err := json.Marshal(agentapi.NodeConfig{Revision: revision, Cluster: "shop",
		Members: []agentapi.Peer{{Name: "shop-0", Host: "shop-0"}}, Settings: s,
		TLS: agentapi.TLSConfig{Replication: galera.SocketPlain, StateTransfer: galera.PolicyDisabled,
			Clients: galera.PolicyDisabled, MinVersion: "1.3"},
		StateTransfer: agentapi.StateTransferConfig{Method: "MariaBackup"}})
	if err == nil {
		err = os.WriteFile(filepath.Join(c.places.Config, agentapi.ConfigKey), data, 0o600)
	}
	if err != nil {
		c.Fatal(err)
	}
	c.Read()
}

func (c *configured) settle() {
	for c.Checking {
		(<-c.events)()
	}
}

// fail lets a server that was started with the present configuration end before it serves.
func (c *configured) fail(certain bool) {
	c.FailedStart(c.ForStart(), certain, "exit code 1: the server's own line")
	c.settle()
}

func (c *configured) serve() {
	c.Started(1, c.ForStart())
	c.Served()
}

// shows compares the settings in use, the revision that counts as loaded, and whether a problem is reported.
func (c *configured) shows(what string, want settings, loaded string, problem string) {
	c.Helper()
	var r agentapi.Report
	c.Report(&r)
	if !maps.Equal(c.Node.Settings, want) || r.Config.Loaded != loaded || (r.Config.Problem == "") != (problem == "") ||
		!strings.Contains(r.Config.Problem, problem) || (r.Config.Reason == agentapi.ConfigSettings) != (problem != "") {
		c.Errorf("%s: settings %v, loaded %q, problem %q (%s)", what, c.Node.Settings, r.Config.Loaded, r.Config.Problem,
			r.Config.Reason)
	}
}

// TestFallBack: a member goes back to the settings it served with when no server starts with new ones, and reports why,
// until others are published.
func TestFallBack(t *testing.T) {
	good, bad, better := settings{"max_connections": "1"}, settings{"max_connections": "2"},
		settings{"max_connections": "3"}
	c := configure(t)
	c.publish("r1", good)
	c.fail(true)
	c.shows("never served", good, "r1", "")
	c.serve()
	c.publish("r2", bad)
	c.shows("new settings", bad, "r2", "")
	c.fail(false)
	c.shows("the cause is not certain", bad, "r2", "")
	c.fail(false)
	c.shows("twice", good, "", "the server's own line")
	c.fail(true)
	c.shows("it is not the settings", good, "", "the server's own line")
	c.publish("r3", bad)
	c.shows("another revision with the same settings", good, "", "the server's own line")
	c.publish("r4", better)
	c.shows("other settings", better, "r4", "")
	c.fail(true)
	c.shows("certain at once", good, "", "the server's own line")
	c.publish("r5", good)
	c.shows("set back", good, "r5", "")
	c.serve()
	c.publish("r6", bad)
	c.fail(false)
	c.serve()
	c.fail(false)
	c.shows("served meanwhile", bad, "r6", "")
	c.publish("r7", better)
	blame := c.Blame()
	c.publish("r8", settings{"max_connections": "4"})
	blame(true, "the examination's own line")
	c.settle()
	c.shows("an examination with settings of before", settings{"max_connections": "4"}, "r8", "")
	c.Blame()(true, "the examination's own line")
	c.settle()
	c.shows("an examination", bad, "", "the examination's own line")
}

// TestFallBackOfANewAgent: one that is started with refused settings has those of the last server that served, from the
// volume.
func TestFallBackOfANewAgent(t *testing.T) {
	c := configure(t)
	c.Remember(settings{})
	c.publish("r2", settings{"unknown": "1"})
	if c.Node == nil {
		t.Fatal("no configuration")
	}
	c.shows("refused by the check", settings{}, "", "unknown variable")
	fresh := configure(t)
	fresh.Remember(nil)
	if fresh.publish("r2", settings{"unknown": "1"}); fresh.Node != nil {
		t.Errorf("nothing was remembered: %+v", fresh.Node)
	}
}

// TestFallBackToRefusedSettings: when mariadbd accepts neither the published settings nor those of the last server that
// served, it is not asked about them over and over without a pause.
func TestFallBackToRefusedSettings(t *testing.T) {
	c := configure(t)
	c.Remember(settings{"unknown": "1"})
	c.begin("r2", settings{"unknown": "2"})
	for range 4 {
		if !c.Checking {
			break
		}
		(<-c.events)()
	}
	if c.Checking || c.Node != nil || !strings.Contains(c.problem, "either: mariadbd does not accept") {
		t.Fatalf("checking %t, node %+v, problem %q", c.Checking, c.Node, c.problem)
	}
	c.publish("r3", settings{})
	c.shows("set back", settings{}, "r3", "")
}
