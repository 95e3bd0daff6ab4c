package observe

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// lagging is a cluster that follows a server, with a limit of 30 seconds, whose node n-0 is behind by some seconds; by
// less than 0 for unknown.
func lagging(seconds int64) (*v1alpha1.GaleraCluster, map[string]Seen) {
	c := &v1alpha1.GaleraCluster{}
	c.Spec.ReadOnlyService.MaxLag = &metav1.Duration{Duration: 30 * time.Second}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower}
	of := &agentapi.Following{Applied: "0-1-8", Channel: &agentapi.ChannelState{Connected: true, Applying: true}}
	if seconds >= 0 {
		of.Channel.SecondsBehind = &seconds
	}
	return c, map[string]Seen{
		"n-0": {Live: true, Report: agentapi.Report{Channel: agentapi.TaskOn, Following: of}},
		"n-1": {Live: true, Report: agentapi.Report{Channel: agentapi.TaskOff, Following: &agentapi.Following{}}}}
}

// TestLag: how far a cluster is behind is what its one channel has, and the age of the archive where that is followed.
// What is not known is never 0.
func TestLag(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	archive := func(c *v1alpha1.GaleraCluster, gtid string, age time.Duration) {
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{}
		c.Status.Replication.Archive = &v1alpha1.FollowedArchive{GTID: gtid, Through: new(metav1.NewTime(now.Add(-age)))}
	}
	streamed := func(c *v1alpha1.GaleraCluster, on bool) {
		c.Status.Replication.Stream = &v1alpha1.FollowedStream{Connected: on}
	}
	for name, tc := range map[string]struct {
		seconds int64
		edit    func(*v1alpha1.GaleraCluster, map[string]Seen)
		want    time.Duration
		unknown string
	}{
		"a server":     {seconds: 7, want: 7 * time.Second},
		"all applied":  {},
		"not reported": {seconds: -1, unknown: "n-0 does not receive"},
		"not connected": {edit: func(_ *v1alpha1.GaleraCluster, s map[string]Seen) {
			s["n-0"].Report.Following.Channel.Connected = false
		}, unknown: "n-0 does not receive"},
		"not applying": {edit: func(_ *v1alpha1.GaleraCluster, s map[string]Seen) {
			s["n-0"].Report.Following.Channel.Applying = false
		}, unknown: "n-0 does not receive"},
		"no channel yet": {edit: func(_ *v1alpha1.GaleraCluster, s map[string]Seen) {
			s["n-0"].Report.Following.Channel = nil
		}, unknown: "n-0 does not receive"},
		"its agent is silent": {edit: func(_ *v1alpha1.GaleraCluster, s map[string]Seen) {
			one := s["n-0"]
			one.Live = false
			s["n-0"] = one
		}, unknown: "no node"},
		"two channels": {edit: func(_ *v1alpha1.GaleraCluster, s map[string]Seen) { s["n-1"] = s["n-0"] },
			unknown: "which node"},
		"a stream": {seconds: 2, edit: func(c *v1alpha1.GaleraCluster, _ map[string]Seen) {
			archive(c, "0-1-7", time.Hour)
			streamed(c, true)
		}, want: 2 * time.Second},
		"a stream that is down": {edit: func(c *v1alpha1.GaleraCluster, _ map[string]Seen) {
			archive(c, "0-1-7", time.Minute)
			streamed(c, false)
		}, want: time.Minute},
		"an archive": {edit: func(c *v1alpha1.GaleraCluster, _ map[string]Seen) { archive(c, "0-1-8", 9*time.Second) },
			want: 9 * time.Second},
		"older transactions of an archive": {seconds: 77, edit: func(c *v1alpha1.GaleraCluster, _ map[string]Seen) {
			archive(c, "0-1-9", 9*time.Second)
		}, want: 77 * time.Second},
		"an archive that is not received": {edit: func(c *v1alpha1.GaleraCluster, _ map[string]Seen) {
			archive(c, "0-1-9", 9*time.Second)
		}, unknown: "not received"},
		"an archive that was not read": {edit: func(c *v1alpha1.GaleraCluster, _ map[string]Seen) {
			c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{}
		}, unknown: "not read"},
	} {
		c, seen := lagging(tc.seconds)
		if tc.edit != nil {
			tc.edit(c, seen)
		}
		got, unknown := Lag(c, seen, now)
		if got != tc.want || !strings.Contains(unknown, tc.unknown) || (unknown == "") != (tc.unknown == "") {
			t.Errorf("%s: %s %q", name, got, unknown)
		}
	}
}

// TestNextLag: NAME-readonly leads nowhere at once when the cluster is too far behind, and when that is not known for
// long; it leads to the nodes again once they were within half of the limit for as long.
func TestNextLag(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	ago := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(-d))) }
	in, out := v1alpha1.LagStatus{}, v1alpha1.LagStatus{Exceeded: true}
	turning := func(of v1alpha1.LagStatus, since time.Duration) v1alpha1.LagStatus {
		of.TurningSince = ago(since)
		return of
	}
	for name, tc := range map[string]struct {
		seconds      int64
		limit        time.Duration
		before, want v1alpha1.LagStatus
	}{
		"within":                      {seconds: 30, before: in, want: in},
		"over":                        {seconds: 31, before: in, want: out},
		"over, and it was unknown":    {seconds: 31, before: turning(in, 2*time.Second), want: out},
		"unknown":                     {seconds: -1, before: in, want: turning(in, 0)},
		"unknown for 14 s":            {seconds: -1, before: turning(in, 14*time.Second), want: turning(in, 14*time.Second)},
		"unknown for 15 s":            {seconds: -1, before: turning(in, 15*time.Second), want: out},
		"unknown for a short limit":   {seconds: -1, limit: 5 * time.Second, before: turning(in, 5*time.Second), want: out},
		"known again":                 {seconds: 3, before: turning(in, 14*time.Second), want: in},
		"within half":                 {seconds: 15, before: out, want: turning(out, 0)},
		"within half for 14 s":        {seconds: 0, before: turning(out, 14*time.Second), want: turning(out, 14*time.Second)},
		"within half for 15 s":        {seconds: 15, before: turning(out, 15*time.Second), want: in},
		"between half and the limit":  {seconds: 16, before: turning(out, 15*time.Second), want: out},
		"between, it is not taken":    {seconds: 16, before: in, want: in},
		"out, and unknown":            {seconds: -1, before: turning(out, time.Hour), want: out},
		"a clock that was set back":   {seconds: -1, before: turning(in, -time.Hour), want: turning(in, 0)},
		"back, by a clock set back":   {seconds: 0, before: turning(out, -time.Hour), want: turning(out, 0)},
		"over, when it was returning": {seconds: 31, before: turning(out, time.Hour), want: out},
	} {
		c, seen := lagging(tc.seconds)
		if tc.limit != 0 {
			c.Spec.ReadOnlyService.MaxLag.Duration = tc.limit
		}
		c.Status.Replication.Lag = &tc.before
		got := NextLag(c, seen, now)
		if got == nil || got.Exceeded != tc.want.Exceeded || !got.TurningSince.Equal(tc.want.TurningSince) {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestNewLimit: a limit that is set later takes nothing away from a cluster within it. A new cluster serves once it has
// shown how far it is; one without a limit, or that is independent, always.
func TestNewLimit(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	follows := func(c *v1alpha1.GaleraCluster, since time.Duration) {
		c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFollowing, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now.Add(-since))}}
	}
	for name, tc := range map[string]struct {
		seconds int64
		edit    func(*v1alpha1.GaleraCluster)
		behind  bool
	}{
		"has followed for long": {edit: func(c *v1alpha1.GaleraCluster) { follows(c, time.Hour) }},
		"and is too far behind": {seconds: 31, edit: func(c *v1alpha1.GaleraCluster) { follows(c, time.Hour) }, behind: true},
		"follows since now":     {edit: func(c *v1alpha1.GaleraCluster) { follows(c, time.Second) }, behind: true},
		"follows not yet":       {edit: func(*v1alpha1.GaleraCluster) {}, behind: true},
		"without a status":      {edit: func(c *v1alpha1.GaleraCluster) { c.Status.Replication = nil }, behind: true},
		"without a limit": {seconds: 99, edit: func(c *v1alpha1.GaleraCluster) {
			c.Spec.ReadOnlyService.MaxLag = nil
		}},
		"independent": {seconds: -1, edit: func(c *v1alpha1.GaleraCluster) {
			c.Status.Replication.Role = v1alpha1.RoleIndependent
		}},
		"follows nothing": {seconds: -1, edit: func(c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom = nil }},
	} {
		c, seen := lagging(tc.seconds)
		tc.edit(c)
		if got := Behind(c, seen, now); got != tc.behind {
			t.Errorf("%s: %v", name, got)
		}
	}
}
