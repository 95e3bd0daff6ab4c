package lifecycle

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestDonation(t *testing.T) {
	synced := &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced}
	donor := &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeDonor}
	lost := &agentapi.Server{Component: galera.ComponentNonPrimary, State: galera.NodeJoining}
	type check struct {
		server *agentapi.Server
		giving bool
		after  time.Duration
	}
	for name, tc := range map[string]struct {
		checks []check
		stuck  bool
	}{
		"the end of the transfer was not heard": {[]check{{donor, true, 0}, {lost, true, 0}, {lost, false, 0},
			{donor, false, 0}, {donor, false, time.Minute}}, true},
		"too early to judge": {[]check{{donor, true, 0}, {lost, false, 0}, {donor, false, time.Second}},
			false},
		"it ended in good order": {[]check{{donor, true, 0}, {donor, false, 0}, {donor, false, time.Minute}},
			false},
		"quorum was back before it ended": {[]check{{lost, true, 0}, {donor, true, 0}, {donor, false, 0},
			{donor, false, time.Minute}}, false},
		"desynchronised by hand": {[]check{{synced, false, 0}, {lost, false, 0}, {donor, false, 0},
			{donor, false, time.Minute}}, false},
		"it was Synced in between": {[]check{{donor, true, 0}, {lost, false, 0}, {synced, false, 0},
			{donor, false, time.Minute}}, false},
		"it gives again": {[]check{{donor, true, 0}, {lost, false, 0}, {donor, true, time.Minute},
			{donor, false, time.Minute}}, false},
		"still without quorum": {[]check{{donor, true, 0}, {lost, false, 0}, {lost, false, time.Minute}},
			false},
		"a check that failed changes nothing": {[]check{{donor, true, 0}, {lost, true, 0}, {nil, false, 0}, {lost, false, 0},
			{donor, false, time.Minute}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var d Donation
			now := time.Now()
			stuck := false
			for _, l := range tc.checks {
				now = now.Add(l.after)
				d.See(l.server, l.giving, now)
				stuck = stuck || d.Stuck(l.server, now)
			}
			if stuck != tc.stuck {
				t.Errorf("stuck: %t", stuck)
			}
		})
	}
}
