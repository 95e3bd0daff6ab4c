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
	type look struct {
		server *agentapi.Server
		giving bool
		after  time.Duration
	}
	for name, tc := range map[string]struct {
		looks []look
		stuck bool
	}{
		"the end of the transfer was not heard": {[]look{{donor, true, 0}, {lost, true, 0}, {lost, false, 0},
			{donor, false, 0}, {donor, false, time.Minute}}, true},
		"too early to judge": {[]look{{donor, true, 0}, {lost, false, 0}, {donor, false, time.Second}},
			false},
		"it ended in good order": {[]look{{donor, true, 0}, {donor, false, 0}, {donor, false, time.Minute}},
			false},
		"quorum was back before it ended": {[]look{{lost, true, 0}, {donor, true, 0}, {donor, false, 0},
			{donor, false, time.Minute}}, false},
		"desynchronised by hand": {[]look{{synced, false, 0}, {lost, false, 0}, {donor, false, 0},
			{donor, false, time.Minute}}, false},
		"it was Synced in between": {[]look{{donor, true, 0}, {lost, false, 0}, {synced, false, 0},
			{donor, false, time.Minute}}, false},
		"it gives again": {[]look{{donor, true, 0}, {lost, false, 0}, {donor, true, time.Minute},
			{donor, false, time.Minute}}, false},
		"still without quorum": {[]look{{donor, true, 0}, {lost, false, 0}, {lost, false, time.Minute}},
			false},
		"a check that failed changes nothing": {[]look{{donor, true, 0}, {lost, true, 0}, {nil, false, 0}, {lost, false, 0},
			{donor, false, time.Minute}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var d Donation
			now := time.Now()
			stuck := false
			for _, l := range tc.looks {
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
