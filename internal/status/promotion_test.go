package status

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// reports tests the problem that is reported, and its message.
func reports(t *testing.T, name string, p *validate.Problem, reason string, says ...string) {
	t.Helper()
	if p == nil {
		p = &validate.Problem{}
	}
	if p.Reason != reason {
		t.Errorf("%s: %q", name, p.Reason)
	}
	for _, text := range says {
		if !strings.Contains(p.Message, text) {
			t.Errorf("%s: %q does not have %q", name, p.Message, text)
		}
	}
}

// TestPromotion: no node accepts writes before the store has the record that this cluster takes over.
func TestPromotion(t *testing.T) {
	for name, tc := range map[string]struct {
		without  bool
		token    bool
		started  bool
		uid      string
		record   *v1alpha1.PromotionRecord
		takes    bool
		reason   string
		messages []string
	}{
		"is being recorded": {messages: []string{"it is being recorded in the store"}},
		"its status is lost": {token: true, started: true, reason: v1alpha1.ReasonPromotionUnrecorded,
			messages: []string{"its status was lost", "no other cluster has taken over", `{"withoutRecord":true}`}},
		"its status is lost, after which it was recorded": {started: true, takes: true,
			record: &v1alpha1.PromotionRecord{ID: "1-bbbbbbbb", GTID: "0-1-9"}},
		"as above, with another transaction": {started: true, reason: v1alpha1.ReasonPromotionUnrecorded,
			record:   &v1alpha1.PromotionRecord{ID: "1-bbbbbbbb", GTID: "0-1-8"},
			messages: []string{"its status was lost", `{"withoutRecord":true}`}},
		"the store refuses it": {record: &v1alpha1.PromotionRecord{Message: "access denied"},
			reason: v1alpha1.ReasonPromotionUnrecorded, messages: []string{"access denied", `{"withoutRecord":true}`}},
		"the archive goes on after its token": {token: true, record: &v1alpha1.PromotionRecord{Message: "0-1-10"},
			reason: v1alpha1.ReasonPromotionUnrecorded, messages: []string{"switch-site NAME --back",
				"If that one is lost for good", `{"withoutRecord":true}`}},
		"another one was first": {record: &v1alpha1.PromotionRecord{ID: "1-cccccccc", GTID: "0-1-9", LostTo: "site/third"},
			reason: v1alpha1.ReasonPromotionLost, messages: []string{"site/third has taken over", "Delete it"}},
		"it was taken back": {record: &v1alpha1.PromotionRecord{ID: "4-aaaaaaaa", GTID: "0-1-9", Withdrawn: true},
			reason: v1alpha1.ReasonSwitchWithdrawn, messages: []string{"accepts writes", `{"cutover":null}`}},
		"is recorded": {record: &v1alpha1.PromotionRecord{ID: "1-bbbbbbbb", GTID: "0-1-9"}, takes: true},
		"is recorded, and its uid changed": {uid: "x", record: &v1alpha1.PromotionRecord{ID: "1-b", GTID: "0-1-9"},
			takes: true},
		"is recorded with another transaction": {record: &v1alpha1.PromotionRecord{ID: "1-bbbbbbbb", GTID: "0-1-8"}},
		"without a record": {without: true, record: &v1alpha1.PromotionRecord{ID: "1-cccccccc", LostTo: "site/third"},
			takes: true},
	} {
		in := healthy()
		c := in.Facts.Cluster
		c.Namespace, c.Spec.ReplicaOf = "site", &v1alpha1.ReplicaOf{}
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: tc.uid, WithoutRecord: tc.without}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Promotion: tc.record}
		if tc.token {
			c.Spec.Cutover.Token = &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-9", To: string(c.UID)}
			c.Spec.Cutover.UID = string(c.UID)
		}
		if tc.started {
			c.Status.ClusterUUID = "6f1a1d7e-9d5e-5a39-8ab2-11f2a6b0d1c2"
		}
		for _, m := range in.Snapshot.Members {
			seen := in.Seen[m.Name]
			seen.Report.Following = &agentapi.Following{Applied: "0-1-9", ReadOnly: true, Held: "x"}
			in.Seen[m.Name] = seen
		}
		p := promotionRefused(in)
		reports(t, name, p, tc.reason)
		if c.TakesOver() != tc.takes {
			t.Errorf("%s: takes over: %v", name, c.TakesOver())
		}
		if tc.takes {
			continue
		}
		v := following(in)
		if p != nil {
			v.message += p.Message
		}
		reports(t, name, &validate.Problem{Reason: v.reason, Message: v.message}, v1alpha1.ReasonCuttingOver, tc.messages...)
		if Update(&c.Status, in); c.Status.Replication.Promotion != tc.record {
			t.Errorf("%s: the record is forgotten", name)
		}
	}
}

// TestRecordable: nothing is recorded of a cutover that is another cluster's, or is from before this one, or that
// neither this one nor the archive has; and of that which is not known, before it is.
func TestRecordable(t *testing.T) {
	has := func(applied, archive string) *v1alpha1.ReplicationStatus {
		r := &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Applied: applied}
		if archive != "" {
			r.Archive = &v1alpha1.FollowedArchive{GTID: archive}
		}
		return r
	}
	for name, tc := range map[string]struct {
		gtid, uid, identity, reached, replaces string
		of                                     *v1alpha1.ReplicationStatus
		without, ok, emptied                   bool
		says                                   string
	}{
		"it has that":                    {gtid: "0-1-9", uid: "u", of: has("0-1-9", ""), ok: true},
		"the archive has that":           {gtid: "0-1-9", uid: "u", of: has("0-1-8", "0-1-9"), ok: true},
		"it has begun with that":         {gtid: "0-1-9", uid: "u", reached: "0-1-9", of: has("0-1-9", "0-1-9"), ok: true},
		"it has more domains":            {gtid: "0-1-9,7-2-3", uid: "u", of: has("7-2-3,0-1-9", ""), ok: true},
		"it is the same one, made again": {gtid: "0-1-9", uid: "i", identity: "i", of: has("0-1-9", ""), ok: true},
		"no uid": {gtid: "0-1-9", of: has("0-1-9", "0-1-9"),
			says: `has no uid: it may be that of another cluster`},
		"no uid, and the rest is in the archive": {gtid: "0-1-9", of: has("0-1-8", "0-1-9"),
			says: `everything up to 0-1-9: kubectl patch galeracluster n -n site --type=merge -p ` +
				`'{"spec":{"cutover":{"uid":"u"}}}'`},
		"another one's": {gtid: "0-1-9", uid: "x", identity: "i", reached: "0-1-9", of: has("0-1-9", "0-1-9"),
			says: `with what it has: kubectl patch galeracluster n -n site --type=merge -p ` +
				`'{"spec":{"cutover":{"gtid":"0-1-9","uid":"u"}}}'`},
		"another one's, without a record": {gtid: "0-1-9", uid: "x", without: true, says: "without spec.cutover"},
		"as above, and it has applied something": {gtid: "0-1-9", uid: "x", without: true, of: has("0-1-9", ""),
			says: `goes on accepting writes. Make sure first that it accepts none any more, and never will. To take over with ` +
				`what it has: kubectl`},
		"no uid, without a record": {gtid: "0-1-9", without: true, of: has("0-1-9", ""),
			says: `and never will. If this one is to take over, once it has applied everything up to 0-1-9: kubectl`},
		"it has begun later": {gtid: "0-1-9", uid: "u", reached: "0-1-10", of: has("0-1-10", "0-1-10"),
			says: "is from before 0-1-10"},
		"it is of what it had followed before it was emptied": {gtid: "0-1-9", uid: "i", identity: "i", reached: "7-2-3",
			of: has("0-1-9,7-2-5", "7-2-5"), emptied: true, says: "is from before 7-2-3"},
		"it is of what it follows since then": {gtid: "7-2-5", uid: "i", identity: "i", reached: "7-2-3",
			of: has("0-1-9,7-2-5", "7-2-5"), emptied: true, ok: true},
		"it was there before it was emptied": {gtid: "7-2-5", uid: "u", identity: "i", reached: "7-2-3", without: true,
			of: has("0-1-9,7-2-5", "7-2-5"), emptied: true, says: `of the time before this cluster has begun anew to follow ` +
				`another one (spec.replicaOf.replaces), or of another cluster: its uid is "u", and status.identity is i. To ` +
				`follow, create it anew without spec.cutover. If this one takes over, that is not recorded, as ` +
				`spec.cutover.withoutRecord has it, which cannot be taken back: the cluster that is followed does not learn of ` +
				`it, and goes on accepting writes. Make sure first that it accepts none any more, and never will. To take over ` +
				`with what it has: kubectl patch galeracluster n -n site --type=merge -p ` +
				`'{"spec":{"cutover":{"gtid":"0-1-9,7-2-5","uid":"i"}}}'`},
		"that it was emptied is forgotten": {gtid: "7-2-5", uid: "u", identity: "i", replaces: "4-bbbbbbbb", without: true,
			of: has("0-1-9,7-2-5", "7-2-5"), says: "of the time before this cluster has begun anew"},
		"a new one with such a manifest": {gtid: "7-2-5", uid: "u", identity: "u", replaces: "4-bbbbbbbb",
			of: has("7-2-5", "7-2-5"), ok: true},
		"its identity is not known": {gtid: "7-2-5", uid: "u", replaces: "4-bbbbbbbb", without: true,
			of: has("7-2-5", "7-2-5"), says: "of the time before this cluster has begun anew"},
		"another domain, of another cluster": {gtid: "0-1-9", uid: "u", reached: "7-2-3", of: has("0-1-9,7-2-5", "7-2-5"),
			ok: true},
		"another server has written that": {gtid: "0-2-9", uid: "u", of: has("0-1-9", "0-2-9"),
			says: "whether this cluster has what is before that is not known"},
		"neither has that": {gtid: "0-1-10", uid: "u", of: has("0-1-8", "0-1-9"),
			says: "is later than the end of the archive of prod/shop, 0-1-9, and than what this cluster has, 0-1-8"},
		"neither has one of its domains": {gtid: "0-1-9,7-2-3", uid: "u", of: has("0-1-9", "0-1-9"), says: "is later"},
		"the archive is not known":       {gtid: "0-1-10", uid: "u", of: has("0-1-9", "")},
		"what it has is not known":       {gtid: "0-1-10", uid: "u", of: has("", "0-1-9")},
		"nothing is known":               {gtid: "0-1-10", uid: "u"},
	} {
		in := healthy()
		c := in.Facts.Cluster
		c.Namespace, c.Name, c.UID, c.Status.Identity = "site", "n", "u", tc.identity
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: tc.replaces,
			Cluster: v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop"}}
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: tc.gtid, UID: tc.uid, WithoutRecord: tc.without}
		c.Status.Replication = tc.of
		if tc.reached != "" {
			c.Status.Restore = &v1alpha1.RestoreStatus{Replay: &v1alpha1.ReplayStatus{Reached: tc.reached}}
		}
		if tc.emptied {
			c.Status.Reseed = &v1alpha1.ReseedStatus{Request: "4-bbbbbbbb", Phase: v1alpha1.ReseedCompleted}
		}
		ok, why := Recordable(c)
		if ok != tc.ok || !strings.Contains(why, tc.says) || (why == "") != (tc.says == "") || c.TakesOver() {
			t.Errorf("%s: %v, %q, %v", name, ok, why, c.TakesOver())
		}
		reason := ""
		if tc.says != "" {
			reason = v1alpha1.ReasonPromotionUnrecorded
		}
		reports(t, name, promotionRefused(in), reason, tc.says)
	}
}

// TestAcceptsAfter: once a cluster takes over, nodes may accept writes: it does so whatever becomes of the record, for
// that very transaction.
func TestAcceptsAfter(t *testing.T) {
	in := healthy()
	c := in.Facts.Cluster
	c.UID = "u"
	c.Spec.ReplicaOf, c.Spec.Cutover = &v1alpha1.ReplicaOf{}, &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: "u"}
	for _, tc := range []struct{ name, record, lost, accepts string }{
		{name: "it is not recorded"},
		{name: "another cluster is", record: "0-1-9", lost: "site/third"},
		{name: "it is, with another transaction", record: "0-1-8"},
		{name: "it is", record: "0-1-9", accepts: "0-1-9"},
		{name: "it is not any more", accepts: "0-1-9"},
		{name: "another cluster is, later", record: "0-1-9", lost: "site/third", accepts: "0-1-9"},
	} {
		if c.Status.Replication != nil {
			c.Status.Replication.Promotion = &v1alpha1.PromotionRecord{ID: "1-bbbbbbbb", GTID: tc.record, LostTo: tc.lost}
		}
		if Update(&c.Status, in); c.Status.Replication.AcceptsAfter != tc.accepts || c.TakesOver() != (tc.accepts != "") {
			t.Errorf("%s: %+v", tc.name, c.Status.Replication)
		}
	}
	if c.Spec.Cutover.GTID = "0-1-7"; c.TakesOver() {
		t.Error("less than that needs a record of its own")
	}
}

// TestSuperseded: a cluster that another one has taken over from is reported with what that one lacks, and with the
// nodes that do not refuse writes yet, before whatever else is wrong with it.
func TestSuperseded(t *testing.T) {
	in := healthy()
	c := in.Facts.Cluster
	c.Namespace = "prod"
	reports(t, "nothing", superseded(in), "")
	s := &v1alpha1.SupersededStatus{ID: "1-bbbbbbbb", Namespace: "site", Name: "standby", UID: "bbbbbbbb-1", GTID: "0-1-7",
		RecordedAt: new(metav1.NewTime(time.Unix(1e9, 0)))}
	c.Status.Superseded = s
	refuse := func(name string) {
		seen := in.Seen[name]
		seen.Report.Refuses = true
		in.Seen[name] = seen
	}
	refuse("n-0")
	in.Snapshot.Members[0].Pod.Role = v1alpha1.RolePrimary
	reports(t, "some nodes", superseded(in), v1alpha1.ReasonSuperseded, "site/standby", "0-1-7, at 2001-09-09T01:46:40Z",
		"once these do: n-1; n-2", "is not known, or not yet",
		"each further cluster that has followed this one and is PromotionLost",
		`{"overrulesPromotion":"1-bbbbbbbb"}`)
	for _, m := range in.Snapshot.Members {
		refuse(m.Name)
	}
	s.Surplus = new(int64(3))
	reports(t, "all nodes", firstProblem(in), v1alpha1.ReasonSuperseded, "the writes of clients. The other one lacks "+
		"3 transactions that this cluster has after 0-1-7")
	v := available(in)
	reports(t, "available", &validate.Problem{Reason: v.reason}, v1alpha1.ReasonSuperseded)
	reports(t, "with loss", superseded(in), v1alpha1.ReasonSuperseded, "the other one: delete this cluster")
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Phase: v1alpha1.SwitchTaken}
	reports(t, "a planned one with loss", superseded(in), v1alpha1.ReasonSuperseded, "the other one: delete this cluster")
	s.Surplus = new(int64(0))
	reports(t, "without loss", superseded(in), v1alpha1.ReasonSuperseded, "kubectl galera switch-site "+c.Name+
		" -n prod --to standby --to-namespace site --rejoin")
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "1-bbbbbbbb"}
	reports(t, "it is to follow", superseded(in), v1alpha1.ReasonSuperseded, "about to begin")
	c.Status.Reseed = &v1alpha1.ReseedStatus{Request: "1-bbbbbbbb", Message: "no backup yet"}
	reports(t, "it waits", superseded(in), v1alpha1.ReasonSuperseded, "no backup yet. To take that back",
		`{"replicaOf":null}`)
	c.Status.Reseed.Phase, s.ID = v1alpha1.ReseedChecking, "2-cccccccc"
	reports(t, "by now another one has taken over", superseded(in), v1alpha1.ReasonSuperseded, "no backup yet. To take")
	c.Spec.ReplicaOf, c.Status.SwitchSite, s.ID = nil, nil, "1-bbbbbbbb"
	c.Spec.OverrulesPromotion = "1-bbbbbbbb"
	reports(t, "overruled", superseded(in), "")
}

// TestSwitchingSite: a cluster that accepts no writes so that another site can take over is reported, with what ends
// it.
func TestSwitchingSite(t *testing.T) {
	in := healthy()
	c := in.Facts.Cluster
	c.Namespace, c.Spec.Backup = "prod", &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	reports(t, "nothing", switchingSite(in), "")
	s := &v1alpha1.SwitchSiteStatus{Number: 1, To: v1alpha1.SiteCluster{Namespace: "site", Name: "standby",
		UID: "bbbbbbbb-1"}, Phase: v1alpha1.SwitchTakenBack, Message: "the archiver has to have read the store"}
	c.Status.SwitchSite, c.Spec.SwitchSite = s, &v1alpha1.SwitchSiteSpec{}
	const back = `{"switchSite":null}`
	reports(t, "not begun", switchingSite(in), v1alpha1.ReasonSwitchingSite, "go on accepting writes", back)
	s.Phase, s.Message = v1alpha1.SwitchStopping, "waiting until these refuse writes: n-1"
	reports(t, "stopping", firstProblem(in), v1alpha1.ReasonSwitchingSite, "site/standby", "writes: n-1", back)
	s.Phase, s.Message, s.Token = v1alpha1.SwitchOffered, "", &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-7"}
	reports(t, "offered", switchingSite(in), v1alpha1.ReasonSwitchingSite, "up to 0-1-7", "ends when", back)
	for _, m := range in.Snapshot.Members {
		seen := in.Seen[m.Name]
		seen.Report.Refuses = true
		in.Seen[m.Name] = seen
	}
	in.Snapshot.Members[0].Pod.Role = v1alpha1.RolePrimary
	v := available(in)
	reports(t, "available", &validate.Problem{Reason: v.reason}, v1alpha1.ReasonSwitchingSite)
	s.Phase, s.Message = v1alpha1.SwitchWithdrawing, "access denied"
	reports(t, "withdrawing", switchingSite(in), v1alpha1.ReasonSwitchingSite, "unless the other cluster is recorded "+
		"first; access denied")
	c.Spec.Backup = nil
	reports(t, "no archiver", switchingSite(in), v1alpha1.ReasonSwitchingSite, "enable spec.backup.pointInTime")
	s.Phase = v1alpha1.SwitchTaken
	reports(t, "taken", switchingSite(in), "")
	c.Spec.SwitchSite = &v1alpha1.SwitchSiteSpec{}
	c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb"}
	reports(t, "taken", superseded(in), v1alpha1.ReasonSuperseded, `{"overrulesPromotion":"4-bbbbbbbb","switchSite":null}`)
	c.Status.Superseded = nil
	s.Phase, s.Message = v1alpha1.SwitchExpired, "shop-1"
	reports(t, "expired", switchingSite(in), v1alpha1.ReasonSwitchingSite, "accept writes again", "minutes: shop-1", back)
	s.Phase = v1alpha1.SwitchTakenBack
	c.Spec.SwitchSite = nil // with pointInTime: nothing else clears the message then
	reports(t, "it is not asked for any more", switchingSite(in), "")
	*s = v1alpha1.SwitchSiteStatus{Number: 1, Phase: v1alpha1.SwitchWithdrawing}
	reports(t, "the status was lost", switchingSite(in), v1alpha1.ReasonSwitchingSite, "so that another cluster can")
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Cluster: v1alpha1.ReplicatedCluster{Name: "crm"}}
	reports(t, "the role was lost", switchingSite(in), v1alpha1.ReasonSwitchingSite, "follows the archive of prod/crm",
		`{"status":{"switchSite":{"phase":"TakenBack","token":null,"message":null}}}`)
}

// TestCutoverRemoved: a cluster whose spec.cutover was removed after it was recorded is reported: neither site accepts
// writes.
func TestCutoverRemoved(t *testing.T) {
	in := healthy()
	c := in.Facts.Cluster
	c.Namespace, c.Name, c.UID = "site", "standby", "u"
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Cluster: v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop"}}
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower,
		Promotion: &v1alpha1.PromotionRecord{GTID: "0-1-9", Message: "x"}}
	reports(t, "removed", promotionRefused(in), v1alpha1.ReasonCutoverRemoved, "nor the other one",
		`{"spec":{"cutover":{"gtid":"0-1-9","uid":"u"}}}`)
	c.Spec.ReplicaOf.Replaces, c.Status.Identity = "4-bbbbbbbb", "i"
	reports(t, "removed of one that has begun anew", promotionRefused(in), v1alpha1.ReasonCutoverRemoved, `"uid":"i"`)
	c.Spec.ReplicaOf.Replaces = ""
	c.Status.Replication.Promotion = nil
	reports(t, "nothing is recorded", promotionRefused(in), "")
}

// TestTakingOverWithLess: where a token cannot be used any more, what takes its place has none.
func TestTakingOverWithLess(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9"}
	c.Status.Replication = &v1alpha1.ReplicationStatus{Applied: "0-1-8"}
	if have := withApplied(c); !strings.Contains(have, `{"gtid":"0-1-8","uid":""}`) {
		t.Error(have)
	}
	c.Spec.Cutover.Token = &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-9"}
	if have := withApplied(c); !strings.Contains(have, `{"gtid":"0-1-8","uid":"","token":null}`) {
		t.Error(have)
	}
	c.UID, c.Spec.ReplicaOf, c.Spec.Cutover.Own = "u", &v1alpha1.ReplicaOf{}, "7-7-3"
	for uid, want := range map[string]string{"x": `{"gtid":"0-1-8","uid":"u","own":null,"token":null}`,
		"u": `{"gtid":"0-1-8","uid":"u","token":null}`} { // its own stays: --back needs it
		if c.Spec.Cutover.UID = uid; !strings.Contains(withApplied(c), want) {
			t.Errorf("%s: %s", uid, withApplied(c))
		}
	}
}
