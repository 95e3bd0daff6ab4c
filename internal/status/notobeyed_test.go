package status

import (
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestNotObeyed: a cluster that follows a server goes on with it where spec.cutover is another cluster's. What is to be
// done is reported, and is the same while it goes on.
func TestNotObeyed(t *testing.T) {
	const (
		patch   = `-p '{"spec":{"cutover":{"uid":"u"}}}'`
		applied = `-p '{"spec":{"cutover":{"gtid":"APPLIED","uid":"u"}}}'`
	)
	for name, tc := range map[string]struct {
		uid, has, after   string
		own               string
		lost, independent bool
		unnamed           bool
		says              []string
		without           string
	}{
		"its own": {uid: "u", has: "0-1-5"},
		"another one's": {uid: "x", has: "0-1-5", says: []string{`its uid is "x"`, "goes on following", applied},
			without: patch},
		"no one's": {has: "0-1-5",
			says: []string{"has no uid", "db accepts no writes after 0-1-9: kubectl", patch, applied}},
		"no one's, and it is there":            {has: "0-1-9", says: []string{patch, applied}},
		"no one's, and the server has gone on": {has: "0-1-10", says: []string{"has no uid", applied}, without: patch},
		"nothing is applied yet":               {says: []string{patch}},
		"its status is lost": {has: "0-1-9", lost: true, says: []string{"status was lost", "more than 0-1-9", patch,
			"If it has not, delete it and its claims, and create it anew without spec.cutover"}, without: applied},
		"another one's, whose status is lost": {uid: "x", own: "7-7-3", has: "0-1-9", lost: true,
			says: []string{`"uid":"u","own":null}`, "If it has not, delete it"}},
		"another one's, with what that one had": {uid: "x", own: "7-7-3", has: "0-1-5",
			says: []string{`{"gtid":"APPLIED","uid":"u","own":null}`}},
		"no one's, with what this one had, or another one": {own: "7-7-3", has: "0-1-5",
			says: []string{patch, `{"gtid":"APPLIED","uid":"u","own":null}`}},
		"its nodes accept writes":          {has: "0-1-9", after: "0-1-9"},
		"it has taken over, without a uid": {has: "0-1-9", independent: true},
		"its source is not named any more": {has: "0-1-9", unnamed: true},
	} {
		in := healthy()
		c := in.Facts.Cluster
		c.Namespace, c.Name, c.UID, c.Status.ClusterUUID = "demo", "shop", "u", "h"
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
		if tc.unnamed {
			c.Spec.BootstrapFrom = nil
		}
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: tc.uid, Own: tc.own}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Applied: tc.has,
			AcceptsAfter: tc.after}
		if tc.independent {
			c.Status.Replication.Role = v1alpha1.RoleIndependent
		}
		if !tc.lost {
			c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted}
		}
		reason := ""
		if len(tc.says) > 0 {
			reason = v1alpha1.ReasonPromotionUnrecorded
		}
		p := promotionRefused(in)
		reports(t, name, p, reason, tc.says...)
		if p != nil && tc.without != "" && strings.Contains(p.Message, tc.without) {
			t.Errorf("%s: %s", name, p.Message)
		}
		if c.TakesOver() == (p != nil) {
			t.Errorf("%s: takes over: %v", name, c.TakesOver())
		}
		if tc.uid == "x" && !tc.lost {
			v := following(in)
			if v.reason != v1alpha1.ReasonChannelStarting {
				t.Errorf("%s: %s: %s", name, v.reason, v.message)
			}
		}
	}
}

// TestAcceptsAfterAServer: once the nodes of a cluster are to accept writes, that is not taken back: also where the
// cutover has no uid, or loses it. While they are removed they are not given that.
func TestAcceptsAfterAServer(t *testing.T) {
	in := healthy()
	c := in.Facts.Cluster
	c.UID = "u"
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
	c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted}
	for _, tc := range []struct {
		name, gtid, uid, phase, accepts string
	}{
		{name: "another one's", gtid: "0-1-9", uid: "x"},
		{name: "it is emptied", gtid: "0-1-9", uid: "u", phase: v1alpha1.ReseedEmptying},
		{name: "its own", gtid: "0-1-9", uid: "u", accepts: "0-1-9"},
		{name: "without the uid", gtid: "0-1-9", accepts: "0-1-9"},
		{name: "the rest is given up", gtid: "0-1-7", accepts: "0-1-7"},
	} {
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: tc.gtid, UID: tc.uid}
		c.Status.Reseed = &v1alpha1.ReseedStatus{Request: "purged@1", Phase: tc.phase}
		if Update(&c.Status, in); c.Status.Replication.AcceptsAfter != tc.accepts ||
			c.TakesOver() != (tc.accepts != "" || tc.phase != "") {
			t.Errorf("%s: %+v, %v", tc.name, c.Status.Replication, c.TakesOver())
		}
	}
}
