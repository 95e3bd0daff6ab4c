package plugin

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestArchiveLine: a cutover takes the end of an archive that can be read, while the channel works, and that has all
// that was committed before the writes ended.
func TestArchiveLine(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	with := func(edit func(c *v1alpha1.GaleraCluster)) *v1alpha1.GaleraCluster {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "standby"}}
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Cluster: v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop"}}
		c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFollowing, Status: metav1.ConditionTrue}}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Applied: "0-1-5",
			Archive: &v1alpha1.FollowedArchive{GTID: "0-1-7", Through: new(metav1.NewTime(at))}}
		edit(c)
		return c
	}
	for name, tc := range map[string]struct {
		edit  func(c *v1alpha1.GaleraCluster)
		after time.Time
		done  bool
		says  string
	}{
		"its end is known":          {done: true, says: "ends with 0-1-7"},
		"it has what was committed": {after: at.Add(-time.Second), done: true},
		"it may lack something":     {after: at, says: "waiting until it has what was committed before 2026-11-27T12:00:00Z"},
		"it cannot be read": {edit: func(c *v1alpha1.GaleraCluster) {
			c.Status.Replication.Archive.Message = "the store does not answer"
		}, says: "the store does not answer. To give up also what it may have, set spec.cutover.gtid to " +
			"status.replication.applied (0-1-5)"},
		"its end is not known": {edit: func(c *v1alpha1.GaleraCluster) {
			c.Status.Replication.Archive.GTID = ""
		}, says: "not known yet"},
		"the channel has stopped": {edit: func(c *v1alpha1.GaleraCluster) {
			c.Status.Conditions[0].Status, c.Status.Conditions[0].Message = metav1.ConditionFalse, "error 1062"
		}, says: "error 1062"},
		"the cluster is stalled": {edit: func(c *v1alpha1.GaleraCluster) {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled,
				Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonArchiveRefused, Message: "a gap"})
		}, says: "ArchiveRefused: a gap"},
		"it was not asked yet": {edit: func(c *v1alpha1.GaleraCluster) { c.Status.Replication.Archive = nil },
			says: "does not follow yet"},
		"it has less than the cluster": {edit: func(c *v1alpha1.GaleraCluster) {
			c.Status.Replication.Applied, c.Status.Replication.Stream = "0-1-9", &v1alpha1.FollowedStream{}
		}, after: at.Add(-time.Second), says: "the cluster has 0-1-9 from a stream"},
		"it has less than the cluster, and is lost": {edit: func(c *v1alpha1.GaleraCluster) {
			c.Status.Replication.Applied, c.Status.Replication.Stream = "0-1-9", &v1alpha1.FollowedStream{}
		}, done: true},
		"the operator is paused": {edit: func(c *v1alpha1.GaleraCluster) {
			c.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
		}, says: "paused"},
	} {
		if tc.edit == nil {
			tc.edit = func(*v1alpha1.GaleraCluster) {}
		}
		line, done := archiveLine(with(tc.edit), tc.after)
		if done != tc.done || !strings.Contains(line, tc.says) {
			t.Errorf("%s: %q, %v", name, line, done)
		}
	}
	text := undecided(with(func(*v1alpha1.GaleraCluster) {}), at.Add(90*time.Second))
	for _, says := range []string{"the last transaction in the archive of prod/shop is 0-1-7",
		"2026-11-27T12:00:00Z, 1m30s ago", "--writes-stopped", "--accept-loss"} {
		if !strings.Contains(text, says) {
			t.Errorf("%q lacks %q", text, says)
		}
	}
}

// TestReadings: what is given up is known only from a reading of the archive that began after the command did: neither
// the one that was shown first nor the next one need have.
func TestReadings(t *testing.T) {
	var r readings
	for i, tc := range []struct {
		at   int64 // 0 for none
		done bool
	}{{0, false}, {100, false}, {100, false}, {115, false}, {115, false}, {100, false}, {130, true}, {130, true}} {
		c := &v1alpha1.GaleraCluster{}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Archive: &v1alpha1.FollowedArchive{}}
		if tc.at > 0 {
			c.Status.Replication.Archive.ObservedAt = new(metav1.Unix(tc.at, 0))
		}
		if wait := r.wait(c); (wait == "") != tc.done {
			t.Errorf("%d: %q", i, wait)
		}
	}
	if wait := new(readings).wait(&v1alpha1.GaleraCluster{}); wait == "" {
		t.Error("a cluster whose archive is not known is not waited for")
	}
}

// TestLastOf: a cluster that was streamed to does not give up what it has applied and the archive lacks.
func TestLastOf(t *testing.T) {
	for name, tc := range map[string]struct {
		applied  string
		streamed bool
		want     string
	}{
		"the archive alone":       {"0-1-9", false, "0-1-7"},
		"behind the archive":      {"0-1-5", true, "0-1-7"},
		"at its end":              {"0-1-7", true, "0-1-7"},
		"ahead of it":             {"4-1-3,0-1-9", true, "0-1-9"},
		"another server's number": {"0-2-9", true, "0-1-7"},
		"nothing is known":        {"", true, "0-1-7"},
	} {
		r := &v1alpha1.ReplicationStatus{Applied: tc.applied, Archive: &v1alpha1.FollowedArchive{GTID: "0-1-7"}}
		if tc.streamed {
			r.Stream = &v1alpha1.FollowedStream{}
		}
		if got := lastOf(r); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
