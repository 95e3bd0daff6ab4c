package status

import (
	"cmp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func TestFollowing(t *testing.T) {
	seconds := int64(3)
	waits := func(says string) *agentapi.Following {
		return &agentapi.Following{Applied: "0-1-7", ReadOnly: true, Waiting: says}
	}
	held := func(at string) *agentapi.Following {
		return &agentapi.Following{Applied: "0-1-8", ReadOnly: true, Held: at}
	}
	runs := func(edit func(*agentapi.ChannelState)) *agentapi.Following {
		ch := &agentapi.ChannelState{Running: true, Connected: true, Applying: true, Received: "0-1-9",
			SecondsBehind: &seconds}
		edit(ch)
		return &agentapi.Following{Applied: "0-1-8", ReadOnly: true, Channel: ch}
	}
	opened := &agentapi.Following{Applied: "0-1-9", Reached: true}
	well := runs(func(*agentapi.ChannelState) {})
	for name, tc := range map[string]struct {
		of          [3]*agentapi.Following
		cutover     bool
		want        string
		says        string
		role        string
		available   string
		received    string
		held        string
		waiting     string
		source      string
		independent bool
	}{
		"follows": {of: [3]*agentapi.Following{well, waits(""), waits("")}, want: "True Following", says: "n-0 applies",
			role: v1alpha1.RoleFollower, available: "False Following", received: "0-1-9"},
		"an error": {of: [3]*agentapi.Following{runs(func(c *agentapi.ChannelState) {
			c.Applying, c.ErrorNumber, c.Error = false, 1062, "Duplicate entry"
		}), waits(""), waits("")}, want: "False ChannelStopped", says: "error 1062", role: v1alpha1.RoleFollower,
			available: "False Following", received: "0-1-9"},
		"another source": {of: [3]*agentapi.Following{runs(func(c *agentapi.ChannelState) { c.Source = "db2:3307" }),
			waits(""), waits("")}, want: "True Following", says: "n-0 applies what db2 writes", role: v1alpha1.RoleFollower,
			available: "False Following", received: "0-1-9", source: "db2:3307"},
		"a source that is not named": {of: [3]*agentapi.Following{runs(func(c *agentapi.ChannelState) {
			c.Source = "db3:3306"
		}), waits(""), waits("")}, want: "True Following", says: "n-0 applies what db writes", role: v1alpha1.RoleFollower,
			available: "False Following", received: "0-1-9", source: "db:3306"},
		"another source is refused": {of: [3]*agentapi.Following{func() *agentapi.Following {
			out := runs(func(c *agentapi.ChannelState) { c.Connected, c.ErrorNumber, c.Error = false, 2003, "refused" })
			out.Waiting = "db2:3307: it is not followed"
			return out
		}(), waits(""), waits("")}, want: "False ChannelStopped", says: "10 seconds. db2:3307: it is not",
			role: v1alpha1.RoleFollower, available: "False Following", received: "0-1-9",
			waiting: "n-0: db2:3307: it is not followed"},
		"no node runs it": {of: [3]*agentapi.Following{waits("the credentials are missing"), waits(""), waits("")},
			want: "False ChannelStarting", says: "n-0: the credentials", role: v1alpha1.RoleFollower,
			available: "False Following"},
		"is held": {of: [3]*agentapi.Following{held("now@T"), held("now@T"), held("now@T")}, want: "False ChannelHeld",
			says: "until T. They stop where they are", role: v1alpha1.RoleFollower, available: "False Following", held: "now@T"},
		"one is not held yet": {of: [3]*agentapi.Following{held("0-1-9@T"), held("now@T"), held("0-1-9@T")},
			want: "False ChannelStarting", role: v1alpha1.RoleFollower, available: "False Following"},
		"one that is held does not answer": {of: [3]*agentapi.Following{held("now@T"), nil, held("now@T")},
			want: "False ChannelStarting", role: v1alpha1.RoleFollower, available: "False Following"},
		"no node answers": {want: "False ChannelStarting", role: v1alpha1.RoleFollower, available: "False Following"},
		"some accept writes": {of: [3]*agentapi.Following{opened, waits(""), nil}, cutover: true, want: "False CuttingOver",
			says: "n-1", role: v1alpha1.RoleFollower, available: "True Available"},
		"a silent agent holds it up": {of: [3]*agentapi.Following{{Applied: "0-1-9", ReadOnly: true, Reached: true,
			Waiting: "not known of n-2"}, waits(""), nil}, cutover: true, want: "False CuttingOver",
			says: "No node accepts writes yet. n-0: not known of n-2", role: v1alpha1.RoleFollower,
			available: "False Following", waiting: "n-0: not known of n-2"},
		"all accept writes": {of: [3]*agentapi.Following{opened, opened, opened}, cutover: true,
			role: v1alpha1.RoleIndependent, available: "True Available"},
		"all were independent": {cutover: true, independent: true, role: v1alpha1.RoleIndependent,
			available: "True Available"},
	} {
		in := healthy()
		c := in.Facts.Cluster
		in.Snapshot.Members[0].Pod.Role = v1alpha1.RolePrimary
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Port: 3306,
			Follow: true, Alternatives: []v1alpha1.ExternalHost{{Host: "db2", Port: 3307}}}}
		if tc.cutover {
			c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: string(c.UID)}
		}
		if tc.independent {
			c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleIndependent}
		}
		for i, m := range in.Snapshot.Members {
			seen := in.Seen[m.Name]
			seen.Report.Following, seen.Report.Channel = tc.of[i], agentapi.TaskOff
			if tc.of[i] != nil && tc.of[i].Channel != nil {
				seen.Report.Channel = agentapi.TaskOn
			}
			in.Seen[m.Name] = seen
		}
		Update(&c.Status, in)
		text := func(kind string) (string, string) {
			if v := meta.FindStatusCondition(c.Status.Conditions, kind); v != nil {
				return string(v.Status) + " " + v.Reason, v.Message
			}
			return "", ""
		}
		got, message := text(v1alpha1.ConditionFollowing)
		available, _ := text(v1alpha1.ConditionAvailable)
		r := c.Status.Replication
		if got != tc.want || !strings.Contains(message, tc.says) || available != tc.available || r.Role != tc.role ||
			tc.source != "" && r.Source != tc.source ||
			r.Received != tc.received || r.Held != tc.held || !strings.Contains(r.Waiting, tc.waiting) {
			t.Errorf("%s: %q %q, %q, %+v", name, got, message, available, r)
		}
	}
}

// TestHolding: what is waited for while nodes hold the channel is named without the time that ends the year 9999.
func TestHolding(t *testing.T) {
	server, archive := &v1alpha1.GaleraCluster{}, &v1alpha1.GaleraCluster{}
	server.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
	archive.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Cluster: v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop"}}
	for want, c := range map[string]struct {
		of   *v1alpha1.GaleraCluster
		held string
	}{
		"no node applies what db writes, until it is compared with the nodes, or until T. They stop at 0-1-9": {server,
			"0-1-9@T"},
		"no node applies more of the archive of prod/shop than 0-1-9, with which this cluster takes over": {archive,
			"0-1-9@9999-01-01T00:00:00Z"},
	} {
		if got := holding(c.of, followedFacts{held: c.held}); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
}

// TestChannelProblem: a channel that ends servers without progress, or whose source has purged, needs a person.
func TestChannelProblem(t *testing.T) {
	purged := agentapi.ChannelState{ErrorNumber: 1236, Error: "Probably the slave state is too old and required binlog " +
		"files have been purged."}
	for name, tc := range map[string]struct {
		applied  string
		ends     [3]int
		at       string
		channel  agentapi.ChannelState
		role     string
		cutover  bool
		foreign  bool // spec.cutover is of another cluster
		open     bool
		closed   bool // a node has applied everything, and accepts no writes
		emptying bool
		others   []v1alpha1.ExternalHost
		want     string
		says     string
	}{
		"follows":              {},
		"servers end":          {ends: [3]int{1, 1, 1}, at: "0-1-7", want: v1alpha1.ReasonChannelFatal},
		"it has gone on since": {ends: [3]int{1, 1, 1}, at: "0-1-6"},
		"they ended below an idle source": {ends: [3]int{1, 1, 1}, at: "0-1-7", channel: agentapi.ChannelState{
			Running: true, Connected: true, Applying: true, Received: "0-1-7", SecondsBehind: new(int64)}},
		"they ended below an idle source of two domains": {ends: [3]int{1, 1, 1}, at: "0-1-7,3-1-2", applied: "0-1-7,3-1-2",
			channel: agentapi.ChannelState{Running: true, Connected: true, Applying: true, Received: "3-1-2,0-1-7",
				SecondsBehind: new(int64)}},
		"what follows is received": {ends: [3]int{1, 1, 1}, at: "0-1-7", channel: agentapi.ChannelState{Running: true,
			Connected: true, Applying: true, Received: "0-1-8", SecondsBehind: new(int64)},
			want: v1alpha1.ReasonChannelFatal},
		"two have ended": {ends: [3]int{1, 0, 1}, at: "0-1-7"},
		"the source has purged": {channel: purged, want: v1alpha1.ReasonSourcePurged,
			says: "kubectl annotate galeracluster shop -n demo --overwrite galera-operator.io/reseed=purged@$(date +%s)"},
		"the source has purged during a cutover": {channel: purged, cutover: true, want: v1alpha1.ReasonSourcePurged,
			says: "set spec.cutover.gtid to 0-1-7"},
		"one of several sources has purged": {channel: purged, others: []v1alpha1.ExternalHost{{Host: "other"}},
			want: v1alpha1.ReasonSourcePurged, says: "wait until each has been tried. Let it keep"},
		"one of several sources has purged during a cutover": {channel: purged, cutover: true,
			others: []v1alpha1.ExternalHost{{Host: "other"}}, want: v1alpha1.ReasonSourcePurged,
			says: "wait until each has been tried. To give up"},
		"another server has written the last position": {applied: "0-2-110", cutover: true,
			want: v1alpha1.ReasonCutoverDiverged, says: "has applied 0-2-110, and spec.cutover.gtid is 0-1-9"},
		"as above, and what there is is kept": {applied: "0-2-110", cutover: true, want: v1alpha1.ReasonCutoverDiverged,
			says: `-p '{"spec":{"cutover":{"gtid":"0-2-110","uid":"u"}}}'`},
		"as above, and a node accepts writes": {applied: "0-2-110", cutover: true, open: true},
		"as above, and one does not": {applied: "0-2-110", cutover: true, open: true, closed: true,
			want: v1alpha1.ReasonCutoverDiverged, says: "0-1-9, which would lack what clients have written to this one. " +
				"Nodes accept writes: n-1; these do not, and will not by themselves: n-2. To take over with what it has: " +
				`kubectl patch galeracluster shop -n demo --type=merge -p '{"spec":{"cutover":{"gtid":"0-2-110","uid":"u"}}}'`},
		"a node accepts writes, and one is about to": {applied: "0-1-9", cutover: true, open: true, closed: true},
		"the source has purged, and the cutover is another cluster's": {channel: purged, cutover: true, foreign: true,
			want: v1alpha1.ReasonSourcePurged, says: "create the cluster anew, without spec.cutover, which is not " +
				"obeyed; no application has written to this one. With its manifest at hand: kubectl delete"},
		"as above, and this one is to take over": {channel: purged, cutover: true, foreign: true,
			want: v1alpha1.ReasonSourcePurged, says: `end the writes of db, then: kubectl patch galeracluster shop -n demo ` +
				`--type=merge -p '{"spec":{"cutover":{"gtid":"0-1-7","uid":"u","own":null}}}'`},
		"as above, and it is independent": {applied: "0-2-110", cutover: true,
			role: v1alpha1.RoleIndependent},
		"another server has written, and it follows":       {applied: "0-2-110"},
		"the source has purged, and a node accepts writes": {channel: purged, cutover: true, open: true},
		"another error of the source": {channel: agentapi.ChannelState{ErrorNumber: 1236,
			Error: "max_allowed_packet"}},
		"it is independent":  {channel: purged, role: v1alpha1.RoleIndependent},
		"it is copied again": {channel: purged, emptying: true, want: ""},
	} {
		in := healthy()
		c := in.Facts.Cluster
		c.Namespace, c.Name, c.UID = "demo", "shop", "u"
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Port: 3306,
			Follow: true, Alternatives: tc.others}}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: tc.role}
		for i, m := range in.Snapshot.Members {
			seen := in.Seen[m.Name]
			seen.Report.Following = &agentapi.Following{Applied: cmp.Or(tc.applied, "0-1-7"), ReadOnly: true}
			seen.Report.ChannelEnds = agentapi.ChannelEnds{Position: tc.at, Ends: tc.ends[i]}
			if i == 0 {
				seen.Report.Channel, seen.Report.Following.Channel = agentapi.TaskOn, &tc.channel
			}
			if i == 1 && tc.open {
				seen.Report.Following.Reached, seen.Report.Following.ReadOnly = true, false
			}
			seen.Report.Following.Reached = seen.Report.Following.Reached || i == 2 && tc.closed
			in.Seen[m.Name] = seen
		}
		if tc.cutover {
			c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: string(c.UID)}
		}
		if tc.foreign {
			c.Spec.Cutover.UID, c.Spec.Cutover.Own = "x", "7-7-3"
			c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted}
		}
		if tc.emptying {
			c.Status.Reseed = &v1alpha1.ReseedStatus{Phase: v1alpha1.ReseedEmptying}
		}
		Update(&c.Status, in)
		if tc.emptying && !c.Status.Reseed.Acknowledged {
			t.Errorf("%s: it is not acknowledged", name)
		}
		got, says := "", ""
		if v := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionStalled); v.Status == "True" {
			got, says = v.Reason, v.Message
		}
		if p := channelProblem(in); tc.foreign && got == v1alpha1.ReasonPromotionUnrecorded && p != nil { // that comes first
			got, says = p.Reason, p.Message
		}
		if got != tc.want || !strings.Contains(says, tc.says) || tc.cutover && !tc.foreign &&
			strings.Contains(says, "delete ") {
			t.Errorf("%s: %q, want %q: %s", name, got, tc.want, says)
		}
	}
}
