package serving

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestTakingOver: the program is given what is to be recorded, and what it answers is reported: the own record, that of
// another cluster, or why there is none. A record that is known stays while there is no answer. Nothing is recorded of
// a cluster that has not started, nor of the cutover of one before it, nor of what neither the cluster nor the archive
// is known to have.
func TestTakingOver(t *testing.T) {
	w := newWorld(t)
	w.served = &task.Served{Chain: 7}
	w.pass()
	text := func() string {
		d := &appsv1.Deployment{}
		if !w.there(d) {
			t.Fatal("no Deployment")
		}
		return d.Spec.Template.Spec.Containers[0].Env[0].Value
	}
	if have := text(); strings.Contains(have, "promotion") {
		t.Errorf("it follows: %s", have)
	}
	state := func(uid, uuid, reached, applied string) {
		w.c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: uid}
		if err := w.Update(t.Context(), w.c); err != nil {
			t.Fatal(err)
		}
		w.c.Status.ClusterUUID, w.c.Status.Restore.Replay.Reached = uuid, reached
		r := w.c.Status.Replication
		r.Applied, r.Archive, r.Promotion = applied, &v1alpha1.FollowedArchive{GTID: "0-1-8"}, nil
		if err := w.Status().Update(t.Context(), w.c); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	const mine = "a54080f9-1111"
	for name, of := range map[string]struct{ uid, uuid, reached, applied, says string }{
		"it is not filled yet":                        {uid: mine, applied: "0-1-9"},
		"it has begun later":                          {mine, "u", "0-1-10", "0-1-10", "is from before 0-1-10"},
		"it has begun there, by an earlier manifest":  {"b54080f9-1111", "u", "0-1-9", "0-1-9", "another cluster"},
		"where it has begun is not known, and no uid": {"", "u", "", "0-1-9", "another cluster"},
		"neither has it":                              {mine, "u", "0-1-7", "0-1-8", "is later than the end of"},
		"what it has is not known":                    {mine, "u", "0-1-7", "", ""},
	} {
		if state(of.uid, of.uuid, of.reached, of.applied); strings.Contains(text(), "promotion") {
			t.Errorf("%s: %s", name, text())
		}
		if r := w.c.Status.Replication.Promotion; (r == nil) != (of.says == "") || r != nil &&
			!strings.Contains(r.Message, of.says) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	state(mine, "u", "0-1-9", "0-1-9")
	if have := text(); !strings.Contains(have, `"uid":"a54080f9-1111","gtid":"0-1-9"`) {
		t.Errorf("it takes over: %s", have)
	}
	answers(w)
}

// answers are those of the program, in this order.
func answers(w *world) {
	mine := &task.Promotion{Number: 1, Namespace: "site", Name: "shop", UID: "a54080f9-1111", GTID: "0-1-9", At: w.now}
	other := &task.Promotion{Number: 1, Namespace: "site", Name: "third", UID: "cccccccc-1", GTID: "0-1-8"}
	for _, tc := range []struct {
		served  *task.Served
		want    v1alpha1.PromotionRecord
		problem string
	}{
		{&task.Served{Chain: 7}, v1alpha1.PromotionRecord{}, ""},
		{nil, v1alpha1.PromotionRecord{}, "it is being started"},
		{&task.Served{Chain: 7}, v1alpha1.PromotionRecord{Message: "no store"}, "no store"}, // an earlier one answers
		{&task.Served{Chain: 7, Unrecorded: "denied"}, v1alpha1.PromotionRecord{Message: "denied"}, "no store"},
		{&task.Served{Chain: 7, Waits: true}, v1alpha1.PromotionRecord{}, "no store"},
		{&task.Served{Chain: 7, Promotion: other}, v1alpha1.PromotionRecord{ID: "1-cccccccc", GTID: "0-1-8",
			LostTo: "site/third"}, "no store"},
		{&task.Served{Chain: 7, Promotion: mine}, v1alpha1.PromotionRecord{ID: "1-a54080f9", GTID: "0-1-9",
			RecordedAt: new(metav1.NewTime(w.now))}, "no store"},
		{&task.Served{Chain: 7, Unrecorded: "away"}, v1alpha1.PromotionRecord{ID: "1-a54080f9", GTID: "0-1-9",
			RecordedAt: new(metav1.NewTime(w.now))}, "no store"},
		{nil, v1alpha1.PromotionRecord{ID: "1-a54080f9", GTID: "0-1-9",
			RecordedAt: new(metav1.NewTime(w.now))}, "no store"},
	} {
		have := Recorded(w.c, tc.served, tc.problem)
		w.c.Status.Replication.Promotion = have
		if have == nil {
			have = &v1alpha1.PromotionRecord{}
		}
		if !equality.Semantic.DeepEqual(*have, tc.want) {
			w.Errorf("%+v: %+v", tc.served, have)
		}
	}
	w.c.Status.Replication.Promotion = nil
	w.c.Spec.Cutover.WithoutRecord = true
	if Promotion(w.c) != nil || Recorded(w.c, &task.Served{Promotion: mine}, "") != nil {
		w.Error("it is recorded all the same")
	}
}

// TestTakingOverWithAToken: nothing is recorded before this cluster has applied everything, nor with a token for or
// from another cluster. Where the archive ends is for the program to compare, which keeps its task until it has
// answered.
func TestTakingOverWithAToken(t *testing.T) {
	w := newWorld(t)
	w.served = &task.Served{Chain: 7}
	w.pass()
	w.c.Status.ClusterUUID, w.c.Status.Restore.Replay.Reached = "u", "0-1-5"
	w.c.Status.Restore.Directory = "prod/shop/b65191a0"
	token := v1alpha1.SwitchToken{Number: 4, GTID: "0-1-9", From: "b65191a0-1", To: string(w.c.UID), Segment: 3,
		Checksum: "5f1c"}
	at := func(applied, archived string, change func(*v1alpha1.SwitchToken)) *task.Promotion {
		with := token
		change(&with)
		w.c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: with.GTID, UID: string(w.c.UID), Token: &with}
		r := w.c.Status.Replication
		r.Applied, r.Archive, r.Promotion = applied, &v1alpha1.FollowedArchive{GTID: archived}, nil
		return Promotion(w.c)
	}
	same := func(*v1alpha1.SwitchToken) {}
	for name, tc := range map[string]struct {
		applied, archived string
		change            func(*v1alpha1.SwitchToken)
		says              string
	}{
		"it lacks one": {"0-1-8", "0-1-9", same, ""},
		"for another cluster": {"0-1-9", "0-1-9", func(s *v1alpha1.SwitchToken) { s.To = "cccccccc-1" },
			"for the cluster with the uid cccccccc-1"},
		"from another cluster": {"0-1-9", "0-1-9", func(s *v1alpha1.SwitchToken) { s.From = "cccccccc-1" },
			"from the cluster with the uid cccccccc-1"},
	} {
		if p := at(tc.applied, tc.archived, tc.change); p != nil {
			t.Errorf("%s: %+v", name, p)
		}
		have := &v1alpha1.PromotionRecord{}
		if r := Recorded(w.c, &task.Served{Chain: 7}, ""); r != nil {
			have = r
		}
		if (have.Message != "") != (tc.says != "") || !strings.Contains(have.Message, tc.says) {
			t.Errorf("%s: %+v", name, have)
		}
	}
	if at("0-1-10", "0-1-10", same) == nil {
		t.Error("it has more: whether the token was taken back is not asked")
	}
	store := &v1alpha1.GaleraBackupStore{}
	if of := asked(w.c, store); !strings.Contains(of, `"ahead":"0-1-10"`) || strings.Contains(of, "segment") ||
		strings.Contains(of, "5f1c") {
		t.Errorf("it has more: %s", of)
	}
	if at("0-1-9", "0-1-10", same) == nil {
		t.Error("the program is not asked any more what has become of the token")
	}
	if p := at("0-1-9", "0-1-9", same); p == nil || p.Number != 4 || p.GTID != "0-1-9" {
		t.Errorf("%+v", p)
	}
	if of := asked(w.c, store); !strings.Contains(of, `"segment":3,"checksum":"5f1c"`) || strings.Contains(of, "ahead") {
		t.Error(of)
	}
	withdrawn := &task.Served{Chain: 7, Promotion: &task.Promotion{Number: 4, UID: "b65191a0-1", GTID: "0-1-9",
		Withdrawn: true}}
	record := Recorded(w.c, withdrawn, "")
	if record == nil || !record.Withdrawn || record.LostTo != "" {
		t.Errorf("%+v", record)
	}
	w.c.Status.Replication.Promotion = record
	if w.c.TakesOver() {
		t.Error("takes over with what was taken back")
	}
	w.c.Spec.Cutover.Token.Number = 5
	if have := Recorded(w.c, withdrawn, ""); have != nil {
		t.Errorf("another token: %+v", have)
	}
	w.c.Status.Replication.Promotion = nil
	own := &task.Served{Chain: 7, Promotion: &task.Promotion{Number: 4, UID: string(w.c.UID), GTID: "0-1-9"}}
	if have := Recorded(w.c, own, ""); have != nil {
		t.Errorf("its own record of another token: %+v", have)
	}
	w.c.Spec.Cutover.Token.Number = 4
	if have := Recorded(w.c, own, ""); have == nil || have.ID != "4-a54080f9" {
		t.Errorf("its own record: %+v", have)
	}
	w.c.Spec.Cutover = nil
	if have := Recorded(w.c, withdrawn, ""); have != nil {
		t.Errorf("no token any more: %+v", have)
	}
}

// TestUrgent: the program is asked often while nothing is known to keep the cluster from taking over with a token.
func TestUrgent(t *testing.T) {
	for name, tc := range map[string]struct {
		token  bool
		record *v1alpha1.PromotionRecord
		want   bool
	}{
		"nothing is known":         {true, nil, true},
		"without a token":          {false, nil, false},
		"the archive goes on":      {true, &v1alpha1.PromotionRecord{Message: "the archive ends with 0-1-8"}, false},
		"another one has":          {true, &v1alpha1.PromotionRecord{ID: "4-cccccccc", LostTo: "site/third"}, false},
		"it was taken back":        {true, &v1alpha1.PromotionRecord{ID: "4-b65191a0", Withdrawn: true}, false},
		"it was with a token once": {true, &v1alpha1.PromotionRecord{ID: "3-b65191a0", Withdrawn: true}, true},
		"it is recorded": {true, &v1alpha1.PromotionRecord{ID: "4-a54080f9", GTID: "0-1-9"},
			false},
	} {
		c := newWorld(t).c
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: string(c.UID)}
		if tc.token {
			c.Spec.Cutover.Token = &v1alpha1.SwitchToken{Number: 4}
		}
		if c.Status.Replication.Promotion = tc.record; urgent(c) != tc.want {
			t.Errorf("%s: %v", name, !tc.want)
		}
	}
	if urgent(newWorld(t).c) {
		t.Error("it does not take over")
	}
}

// TestARecordInAnArchiveThatWasBegunAnew: a record of this cluster counts, also where the archive was begun anew since,
// whose end is another one's.
func TestARecordInAnArchiveThatWasBegunAnew(t *testing.T) {
	w := newWorld(t)
	w.c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: string(w.c.UID)}
	if err := w.Update(t.Context(), w.c); err != nil {
		t.Fatal(err)
	}
	w.c.Status.ClusterUUID, w.c.Status.Restore.Replay.Reached = "u", "0-1-5"
	w.c.Status.Replication.Applied = "0-1-9"
	if err := w.Status().Update(t.Context(), w.c); err != nil {
		t.Fatal(err)
	}
	w.served = &task.Served{Chain: 9, GTID: "0-1-3", Through: w.now, Observed: w.now}
	if a := w.pass(); a == nil || a.GTID != "" || !strings.Contains(a.Message, "begun anew") ||
		w.c.Status.Replication.Promotion != nil {
		t.Errorf("%+v, %+v", a, w.c.Status.Replication.Promotion)
	}
	w.served.Promotion = &task.Promotion{Number: 1, UID: string(w.c.UID), GTID: "0-1-9"}
	if a := w.pass(); a.GTID != "" || !strings.Contains(a.Message, "begun anew") || !w.c.TakesOver() {
		t.Errorf("%+v, %+v", a, w.c.Status.Replication.Promotion)
	}
}

// TestATokenIsAskedFor: the program is asked to record with a token, and not started anew for it; and nothing while the
// store cannot be used.
func TestATokenIsAskedFor(t *testing.T) {
	w := newWorld(t)
	w.served = &task.Served{Chain: 7}
	w.pass()
	before := &appsv1.Deployment{}
	w.there(before)
	w.c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: string(w.c.UID),
		Token: &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-9", Segment: 9, Checksum: "5f1c", From: "b65191a0-1",
			To: string(w.c.UID)}}
	if err := w.Update(t.Context(), w.c); err != nil {
		t.Fatal(err)
	}
	w.c.Status.ClusterUUID, w.c.Status.Replication.Applied = "u", "0-1-9"
	if err := w.Status().Update(t.Context(), w.c); err != nil {
		t.Fatal(err)
	}
	w.pass()
	after := &appsv1.Deployment{}
	if w.there(after); !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		t.Error("the program is started anew")
	}
	if want := `{"number":4,"namespace":"site","name":"shop","uid":"a54080f9-1111","gtid":"0-1-9",` +
		`"segment":9,"checksum":"5f1c"}`; w.asks != want {
		t.Errorf("%q instead of %q", w.asks, want)
	}
	w.s.Spec.SingleWriter = true
	if err := w.Update(t.Context(), w.s); err != nil {
		t.Fatal(err)
	}
	if w.pass(); !strings.Contains(w.asks, `"singleWriter":true`) {
		t.Error(w.asks)
	}
	w.s.Generation = 2 // it was not checked yet
	if err := w.Update(t.Context(), w.s); err != nil {
		t.Fatal(err)
	}
	if w.pass(); w.asks != "" {
		t.Error(w.asks)
	}
}

// TestCutoverRemovedAfterTheRecord: a record that was made just before spec.cutover was removed is reported. It counts
// once it is found in the store again: a person may have overruled it meanwhile.
func TestCutoverRemovedAfterTheRecord(t *testing.T) {
	w := newWorld(t)
	w.c.Status.ClusterUUID = "u"
	r := w.c.Status.Replication
	own := &task.Promotion{Number: 4, UID: string(w.c.UID), GTID: "0-1-9"}
	of := func(p *task.Promotion) *task.Served { return &task.Served{Promotion: p} }
	for name, tc := range map[string]struct {
		before *v1alpha1.PromotionRecord
		served *task.Served
		want   bool
	}{
		"the program answers":       {nil, of(own), true},
		"it was known":              {&v1alpha1.PromotionRecord{ID: "4-a54080f9", GTID: "0-1-9"}, nil, true},
		"it was reported":           {&v1alpha1.PromotionRecord{GTID: "0-1-9", Message: "x"}, of(nil), true},
		"nothing is recorded":       {&v1alpha1.PromotionRecord{Message: "x"}, nil, false},
		"another one has been":      {nil, of(&task.Promotion{Number: 4, UID: "cccccccc-1", GTID: "0-1-9"}), false},
		"it was taken back":         {nil, of(&task.Promotion{Number: 4, UID: "b", GTID: "0-1-9", Withdrawn: true}), false},
		"another one was known":     {&v1alpha1.PromotionRecord{ID: "4-c", GTID: "0-1-9", LostTo: "x"}, nil, false},
		"it was known as withdrawn": {&v1alpha1.PromotionRecord{ID: "4-b", GTID: "0-1-9", Withdrawn: true}, nil, false},
	} {
		r.Promotion = tc.before
		have := Recorded(w.c, tc.served, "")
		if (have != nil) != tc.want || tc.want && (have.GTID != "0-1-9" || have.ID != "" || have.Message == "") {
			t.Errorf("%s: %+v", name, have)
		}
	}
	r.Promotion = &v1alpha1.PromotionRecord{GTID: "0-1-9", Message: "spec.cutover was removed"}
	w.c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: string(w.c.UID)}
	r.Applied = "0-1-9"
	if w.c.TakesOver() {
		t.Error("it takes over with what is not looked for again")
	}
	if have := Recorded(w.c, nil, ""); have != nil {
		t.Errorf("it is set again: %+v", have)
	}
}
