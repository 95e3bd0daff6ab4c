package process

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestZonesHeldUp: a failure to fill the tables of time zones is reported until the member that fills them is another
// one, whatever else is done to its system tables, and the pause between two attempts goes on.
func TestZonesHeldUp(t *testing.T) {
	serving := func(change func(*agentapi.Server)) *agentapi.Server {
		s := &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
			ClusterUUID: "6f9619ff-8b86-d011-b42d-00cf4fc964ff"}
		change(s)
		return s
	}
	same := func(*agentapi.Server) {}
	for name, tc := range map[string]struct {
		change   func(*agentapi.Server)
		rebuilds bool
		follows  bool
		kept     bool
	}{
		"nothing else happens":       {same, false, false, true},
		"Aria tables are rebuilt":    {same, true, false, true},
		"it is a donor":              {func(s *agentapi.Server) { s.State = galera.NodeDonor }, false, false, true},
		"another member has index 0": {func(s *agentapi.Server) { s.Index = 1 }, false, false, false},
		"it has no quorum": {func(s *agentapi.Server) { s.Component = galera.ComponentNonPrimary }, false,
			false, false},
		"another one fills while it does": {func(s *agentapi.Server) { s.Index = 1 }, true, false, false},
		"it follows another server":       {same, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			queue, attempts := eventloop.NewQueue(), 0
			loop := queue.Loop(slog.New(slog.DiscardHandler))
			r := Maintainer{MaintainerDependencies: MaintainerDependencies{Run: &Supervisor{Proc: &mariadbd.Process{},
				Status: serving(same), Run: Run{Served: true}}},
				Aria: mariadbd.NewAria(loop, platform.Places{Data: t.TempDir()}, nil),
				Zones: mariadbd.NewZones(loop, platform.Places{}, &platform.ProcessTable{}, "agent",
					func(context.Context, string) (string, []string, error) {
						attempts++
						return "", nil, errors.New("no space left")
					})}
			r.checkZones(time.Now())
			(<-queue.Events)()
			if r.Zones.Failure() == "" {
				t.Fatal("the attempt has not failed")
			}
			r.Run.Status = serving(tc.change)
			r.events.Refuses = func() bool { return tc.follows }
			if tc.rebuilds {
				r.Aria.Check(time.Now(), true) // busy until its event is handled
			}
			r.checkZones(time.Now())
			if kept := r.Zones.Failure() != ""; kept != tc.kept || attempts != 1 {
				t.Errorf("the failure is kept: %t; %d attempts", kept, attempts)
			}
		})
	}
}
