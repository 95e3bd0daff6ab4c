package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestFollowedArchive: a cluster that follows an archive reports the archive and no age of what it applies. What keeps
// the archive from being served is named, and one that does not go on from the cluster needs a person.
func TestFollowedArchive(t *testing.T) {
	refused := agentapi.ChannelState{ErrorNumber: 1236, Error: "Got fatal error 1236 from master when reading data from " +
		"binary log: 'the archive cannot be followed: there is a gap in the archive: 7 follows 5'"}
	well := agentapi.ChannelState{Running: true, Connected: true, Applying: true, Received: "0-1-7",
		SecondsBehind: new(int64)}
	for name, tc := range map[string]struct {
		channel *agentapi.ChannelState
		message string
		cutover bool
		uid     string
		token   bool
		open    bool
		want    string
		stalled string
		says    []string
	}{
		"follows": {channel: &well, message: "the store does not answer", want: "True Following",
			says: []string{"n-0 applies what is in the archive of prod/shop"}},
		"follows, and is not streamed to": {channel: &well, want: "True Following"},
		"is not served": {message: "the store does not answer", want: "False ChannelStarting",
			says: []string{"The archive is not served: the store does not answer"}},
		"is refused": {channel: &refused, want: "False ChannelStopped", stalled: v1alpha1.ReasonArchiveRefused,
			says: []string{"there is a gap in the archive: 7 follows 5. ", "kubectl delete galeracluster",
				"set spec.cutover.gtid to 0-1-7", "and spec.cutover.uid to i"}},
		"is refused during a cutover": {channel: &refused, cutover: true, want: "False ChannelStopped",
			stalled: v1alpha1.ReasonArchiveRefused, says: []string{"set spec.cutover.gtid to 0-1-7"}},
		"is refused with another one's cutover": {channel: &refused, cutover: true, uid: "x", want: "False ChannelStopped",
			stalled: v1alpha1.ReasonArchiveRefused, says: []string{"create this one anew without spec.cutover"}},
		"is refused after a token": {channel: &refused, cutover: true, token: true, want: "False ChannelStopped",
			stalled: v1alpha1.ReasonArchiveRefused, says: []string{"kubectl galera switch-site shop -n prod --back"}},
		"is refused, and a node accepts writes": {channel: &refused, cutover: true, open: true, want: "False ChannelStopped"},
		"another error of the program": {channel: &agentapi.ChannelState{ErrorNumber: 1236,
			Error: "Got fatal error 1236: 'files have been purged'"}, want: "False ChannelStopped"},
	} {
		in := healthy()
		c := in.Facts.Cluster
		c.Namespace, c.Status.Identity = "site", "i"
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{StoreRef: v1alpha1.LocalName{Name: "offsite"}, Replaces: "4-bbbbbbbb",
			Cluster: v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop"}}
		archive := &v1alpha1.FollowedArchive{GTID: "0-1-7", Through: new(metav1.NewTime(time.Unix(1e9, 0))),
			Message: tc.message}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Archive: archive,
			Stream: &v1alpha1.FollowedStream{Endpoint: "db:3306", Connected: name == "follows",
				SecondsBehind: new(int64(77))}}
		if tc.cutover {
			c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: tc.uid}
		}
		if tc.token {
			c.Spec.Cutover.Token = &v1alpha1.SwitchToken{Number: 1, GTID: "0-1-9"}
		}
		for i, m := range in.Snapshot.Members {
			seen := in.Seen[m.Name]
			seen.Report.Following = &agentapi.Following{Applied: "0-1-7", ReadOnly: true}
			if i == 0 && tc.channel != nil {
				seen.Report.Channel, seen.Report.Following.Channel = agentapi.TaskOn, tc.channel
			}
			if i == 1 && tc.open {
				seen.Report.Following.Reached, seen.Report.Following.ReadOnly = true, false
			}
			in.Seen[m.Name] = seen
		}
		problem, text := "", ""
		if p := channelProblem(in); p != nil {
			problem, text = p.Reason, p.Message
		}
		Update(&c.Status, in)
		v := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionFollowing)
		if got := string(v.Status) + " " + v.Reason; got != tc.want || problem != tc.stalled {
			t.Errorf("%s: %q, %q", name, got, problem)
		}
		for _, says := range tc.says {
			if !strings.Contains(v.Message+text, says) {
				t.Errorf("%s: %q, %q", name, v.Message, text)
			}
		}
		r := c.Status.Replication
		if s := r.Stream; s == nil || (s.SecondsBehind != nil) != (name == "follows") {
			t.Errorf("%s: the stream: %+v", name, s)
		}
		if r.Store != "offsite" || r.Archive != archive || r.SecondsBehind != nil ||
			!strings.HasPrefix(r.Source, c.Name+"-source.site.svc:") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestStreamEnds: a cluster that has taken over is not streamed to, whatever was known when it did, or since.
func TestStreamEnds(t *testing.T) {
	for name, role := range map[string]string{"it takes over": v1alpha1.RoleFollower,
		"it has taken over": v1alpha1.RoleIndependent} {
		in := healthy()
		c := in.Facts.Cluster
		c.Spec.ReplicaOf, c.Spec.Cutover = &v1alpha1.ReplicaOf{}, &v1alpha1.CutoverSpec{GTID: "0-1-7"}
		archive := &v1alpha1.FollowedArchive{GTID: "0-1-7"}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: role, Archive: archive,
			Stream: &v1alpha1.FollowedStream{Endpoint: "db:3306", Connected: true}}
		for _, m := range in.Snapshot.Members {
			seen := in.Seen[m.Name]
			seen.Report.Following = &agentapi.Following{Applied: "0-1-7", Reached: true}
			in.Seen[m.Name] = seen
		}
		Update(&c.Status, in)
		if r := c.Status.Replication; r.Role != v1alpha1.RoleIndependent || r.Stream != nil || r.Archive != archive &&
			*r.Archive != *archive {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestArchiveWaitsForTheCutover: a cluster that follows reports why it is not archived, whatever the archive was
// before.
func TestArchiveWaitsForTheCutover(t *testing.T) {
	for role, want := range map[string]string{v1alpha1.RoleFollower: v1alpha1.ReasonCuttingOver,
		v1alpha1.RoleIndependent: v1alpha1.ReasonArchiving} {
		c := &v1alpha1.GaleraCluster{}
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Cluster: v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop"}}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: role}
		c.Status.Backup = &v1alpha1.ArchiveStatus{Reason: v1alpha1.ReasonArchiving}
		v := recoverable(c)
		if v.reason != want || strings.Contains(v.message, "prod/shop") != (role == v1alpha1.RoleFollower) {
			t.Errorf("%s: %+v", role, v)
		}
	}
}
