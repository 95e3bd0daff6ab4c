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
		{&task.Served{Chain: 7, Promotion: other}, v1alpha1.PromotionRecord{ID: "1-cccccccc", GTID: "0-1-8",
			LostTo: "site/third"}, "no store"},
		{&task.Served{Chain: 7, Promotion: mine}, v1alpha1.PromotionRecord{ID: "1-a54080f9", GTID: "0-1-9",
			RecordedAt: new(metav1.NewTime(w.now))}, "no store"},
		{&task.Served{Chain: 7, Unrecorded: "away"}, v1alpha1.PromotionRecord{ID: "1-a54080f9", GTID: "0-1-9",
			RecordedAt: new(metav1.NewTime(w.now))}, "no store"},
		{nil, v1alpha1.PromotionRecord{ID: "1-a54080f9", GTID: "0-1-9",
			RecordedAt: new(metav1.NewTime(w.now))}, "no store"},
	} {
		have := recorded(w.c, tc.served, tc.problem)
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
	if promotion(w.c) != nil || recorded(w.c, &task.Served{Promotion: mine}, "") != nil {
		w.Error("it is recorded all the same")
	}
}
