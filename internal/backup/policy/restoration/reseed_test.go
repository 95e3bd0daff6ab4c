package restoration

import (
	"cmp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// follower is a cluster whose source has purged, and what there is of it.
func follower(asked string) ReseedFacts {
	c := &v1alpha1.GaleraCluster{}
	c.Name, c.Generation, c.Spec.Replicas = "shop", 4, 2
	c.Annotations = map[string]string{v1alpha1.AnnotationReseed: asked}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
	c.Status.ClusterUUID, c.Status.Epoch, c.Status.Replicas = "old", 7, 2
	c.Status.Members = []v1alpha1.MemberStatus{{Name: "shop-1", Position: "76840b3d-79d7-58dd-ba66-e609cbedbc88:5"}}
	c.Status.NoPrimarySince = &metav1.Time{}
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower}
	c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted, Attempts: 2}
	c.Status.RequiredActions = []v1alpha1.RequiredAction{{Reason: v1alpha1.ReasonSourcePurged}}
	f := ReseedFacts{Cluster: c, Now: time.Unix(1700000000, 0), Set: &appsv1.StatefulSet{}, Pods: []string{"shop-0"}}
	f.Set.UID = "set"
	f.Check = outcome.Outcome{Exists: true, Done: true, Result: task.Result{Source: &task.Source{Version: "11.8"}}}
	for _, name := range []string{"data-shop-0", "data-shop-1", "data-shop-7"} {
		p := corev1.PersistentVolumeClaim{}
		p.Name, p.UID = name, types.UID("uid of "+name)
		f.Claims = append(f.Claims, p)
	}
	return f
}

// TestReseedIsAsked: only a cluster is emptied that no client has written to, once for each value, and for the reason
// that was named.
func TestReseedIsAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		asked string
		edit  func(*ReseedFacts)
		says  string // of a refusal
	}{
		"the source has purged": {asked: "purged@1700000000"},
		"it has not": {asked: "purged@1700000000", says: "write always@TIME", edit: func(f *ReseedFacts) {
			f.Cluster.Status.RequiredActions[0].Reason = v1alpha1.ReasonChannelFatal
		}},
		"in any case": {asked: "always@1700000000", edit: func(f *ReseedFacts) { f.Cluster.Status.RequiredActions = nil }},
		"no token":    {asked: "always@", says: "write purged@TIME"},
		"no reason":   {asked: "now@1", says: "write purged@TIME"},
		"no time":     {asked: "always@x", says: "write purged@TIME"},
		"too long":    {asked: "always@" + strings.Repeat("x", 100), says: "write purged@TIME"},
		"a while ago": {asked: "always@1699996400"},
		"long ago":    {asked: "always@1699996399", says: "ask again"},
		"early":       {asked: "always@1700000600"},
		"too early":   {asked: "always@1700000601", says: "ask again"},
		"it is independent": {asked: "always@1700000000", says: "clients may have written", edit: func(f *ReseedFacts) {
			f.Cluster.Status.Replication.Role = v1alpha1.RoleIndependent
		}},
		"it is being cut over": {asked: "always@1700000000", says: "clients may have written", edit: func(f *ReseedFacts) {
			f.Cluster.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7"}
		}},
		"its cutover is another one's": {asked: "always@1700000000", says: "anew, without it", edit: func(f *ReseedFacts) {
			f.Cluster.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7", UID: "x"}
			f.Cluster.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted}
		}},
		"as above, and its nodes may have accepted writes": {asked: "always@1700000000", says: "clients may have written",
			edit: func(f *ReseedFacts) {
				f.Cluster.Spec.Cutover, f.Cluster.Status.Restore = &v1alpha1.CutoverSpec{GTID: "0-1-7", UID: "x"}, nil
			}},
		"it follows an archive": {asked: "always@1700000000", says: "follows no server", edit: func(f *ReseedFacts) {
			f.Cluster.Spec.BootstrapFrom, f.Cluster.Spec.ReplicaOf = nil, &v1alpha1.ReplicaOf{}
		}},
		"it follows no server": {asked: "always@1700000000", says: "follows no server", edit: func(f *ReseedFacts) {
			f.Cluster.Spec.BootstrapFrom.External.Follow = false
		}},
		"its role is not known": {asked: "always@1700000000", says: "not followed", edit: func(f *ReseedFacts) {
			f.Cluster.Status.Replication = nil
		}},
		"it is being copied": {asked: "always@1700000000", says: "not followed", edit: func(f *ReseedFacts) {
			f.Cluster.Status.ClusterUUID = ""
		}},
		"it is hibernated": {asked: "always@1700000000", says: "hibernated", edit: func(f *ReseedFacts) {
			f.Cluster.Spec.Hibernate = true
		}},
		"there is no StatefulSet": {asked: "always@1700000000", says: "no StatefulSet", edit: func(f *ReseedFacts) {
			f.Set = nil
		}},
	} {
		f := follower(tc.asked)
		if tc.edit != nil {
			tc.edit(&f)
		}
		to := f.Cluster.Status.DeepCopy()
		if !Reseeds(f.Cluster) {
			t.Errorf("%s: nothing is asked", name)
		}
		act, r := Reseed(to, f), to.Reseed
		want := v1alpha1.ReseedChecking
		if tc.says != "" {
			want = v1alpha1.ReseedRefused
		}
		if act != ReseedWait || r.Phase != want || !strings.Contains(r.Message, tc.says) || to.ClusterUUID == "" !=
			(f.Cluster.Status.ClusterUUID == "") || r.Acknowledged {
			t.Errorf("%s: %d %+v", name, act, r)
		}
		if want == v1alpha1.ReseedRefused {
			f.Cluster.Status = *to
			f.Now = f.Now.Add(time.Second)
			if again := to.DeepCopy(); Reseed(again, f) != ReseedWait || again.Reseed.StartedAt != r.StartedAt ||
				Reseeds(f.Cluster) {
				t.Errorf("%s: it is asked again: %+v", name, again.Reseed)
			}
		}
	}
	f := follower("always@1700000000")
	f.Cluster.Status.Reseed = &v1alpha1.ReseedStatus{Request: "always@1700000000", Phase: v1alpha1.ReseedCompleted}
	for _, asked := range []string{"always@1700000000", "always@1699999999", "purged@1700000000"} {
		f.Cluster.Annotations[v1alpha1.AnnotationReseed] = asked
		if to := f.Cluster.Status.DeepCopy(); Reseeds(f.Cluster) || Reseed(to, f) != ReseedWait ||
			to.Reseed.Phase != v1alpha1.ReseedCompleted {
			t.Errorf("a value takes effect twice, or an earlier one: %s, %+v", asked, to.Reseed)
		}
	}
	f.Cluster.Annotations[v1alpha1.AnnotationReseed] = "always@1700000001"
	if to := f.Cluster.Status.DeepCopy(); !Reseeds(f.Cluster) || Reseed(to, f) != ReseedWait ||
		to.Reseed.Phase != v1alpha1.ReseedChecking {
		t.Errorf("a later value takes no effect: %+v", to.Reseed)
	}
	f.Cluster.Annotations[v1alpha1.AnnotationReseed] = "always@1700000000"
	for _, phase := range []string{v1alpha1.ReseedRefused, v1alpha1.ReseedCancelled} {
		f.Cluster.Status.Reseed = &v1alpha1.ReseedStatus{Request: "purged@1700000000000", Phase: phase}
		if to := f.Cluster.Status.DeepCopy(); !Reseeds(f.Cluster) || Reseed(to, f) != ReseedWait ||
			to.Reseed.Phase != v1alpha1.ReseedChecking {
			t.Errorf("a value that was %s cannot be corrected: %+v", phase, to.Reseed)
		}
	}
}

// TestReseedChecks: nothing is about to be removed before the source has passed a check that was made for the request,
// and none is removed when the request is taken back, or its reason is gone, meanwhile.
func TestReseedChecks(t *testing.T) {
	is := func(o outcome.Outcome) func(*ReseedFacts) { return func(f *ReseedFacts) { f.Check = o } }
	findings := &task.Source{Findings: []task.Finding{{Name: "PrivilegeMissing", Message: "grant it"}}}
	after := func(d time.Duration, o outcome.Outcome) func(*ReseedFacts) {
		return func(f *ReseedFacts) {
			f.Check, f.Now = o, f.Now.Add(d)
			r := f.Cluster.Status.Reseed
			r.Attempts, r.AttemptedAt, r.Message = 1, new(r.StartedAt), "the door is closed"
		}
	}
	for name, tc := range map[string]struct {
		edit  func(*ReseedFacts)
		act   ReseedAct
		phase string
		says  string
		tries int32
	}{
		"it is not made yet": {edit: is(outcome.Outcome{}), act: ReseedCheck, says: "nothing is removed before"},
		"it runs":            {edit: is(outcome.Outcome{Exists: true}), says: "nothing is removed before"},
		"its pod does not start": {edit: is(outcome.Outcome{Exists: true, Waits: "no host has enough memory"}),
			says: "no host has enough memory"},
		"it is passed": {edit: func(*ReseedFacts) {}, phase: v1alpha1.ReseedEmptying},
		"the source is gone": {edit: is(outcome.Outcome{Exists: true, Done: true, Result: task.Result{Error: "no route"}}),
			says: "no route", tries: 1},
		"nothing is reported": {edit: is(outcome.Outcome{Exists: true, Done: true}), says: "reported nothing", tries: 1},
		"something is found": {edit: is(outcome.Outcome{Exists: true, Done: true, Result: task.Result{Source: findings}}),
			says: "PrivilegeMissing: grant it", tries: 1},
		"a Secret is missing": {edit: func(f *ReseedFacts) { f.Blocker = Problem{"CredentialsMissing", "create it"} },
			says: "create it"},
		"it has failed a moment ago": {edit: after(time.Second, outcome.Outcome{}), says: "the door is closed", tries: 1},
		"it is made again": {edit: after(time.Minute, outcome.Outcome{}), act: ReseedCheck, says: "the door is closed",
			tries: 1},
		"it has failed for an hour": {edit: after(time.Hour+time.Second, outcome.Outcome{}), phase: v1alpha1.ReseedRefused,
			says: "The last check of the source: the door is closed", tries: 1},
		"the annotation is removed": {edit: func(f *ReseedFacts) { f.Cluster.Annotations = nil },
			phase: v1alpha1.ReseedCancelled, says: "as they were"},
		"the annotation is another one": {edit: func(f *ReseedFacts) {
			f.Cluster.Annotations[v1alpha1.AnnotationReseed] = "always@1700000001"
		}, phase: v1alpha1.ReseedCancelled, says: "as they were"},
		"it is cut over meanwhile": {edit: func(f *ReseedFacts) {
			f.Cluster.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7"}
		}, phase: v1alpha1.ReseedRefused, says: "being cut over"},
		"the source has what is needed again": {edit: func(f *ReseedFacts) { f.Cluster.Status.RequiredActions = nil },
			phase: v1alpha1.ReseedRefused, says: "SourcePurged"},
	} {
		f := follower("purged@1700000000")
		to := f.Cluster.Status.DeepCopy()
		Reseed(to, f)
		f.Cluster.Status = *to
		tc.edit(&f)
		to = f.Cluster.Status.DeepCopy()
		act, r := Reseed(to, f), to.Reseed
		if act != tc.act || r.Phase != cmp.Or(tc.phase, v1alpha1.ReseedChecking) || !strings.Contains(r.Message, tc.says) ||
			r.Attempts != tc.tries || r.Acknowledged || to.ClusterUUID == "" {
			t.Errorf("%s: %d %+v", name, act, r)
		}
		if r.Phase != v1alpha1.ReseedEmptying && len(r.Claims) > 0 || r.Phase == v1alpha1.ReseedEmptying &&
			(len(r.Claims) != 2 || r.Claims[1].Name != "data-shop-1" || r.Claims[1].UID != string(f.Claims[1].UID)) {
			t.Errorf("%s: these claims are to go: %+v", name, r.Claims)
		}
		if len(r.Message) > 1024 {
			t.Errorf("%s: the API refuses this message: %q", name, r.Message)
		}
	}
	f := follower("purged@1700000000")
	f.Cluster.Status.Reseed = &v1alpha1.ReseedStatus{Request: "purged@1700000000", Phase: v1alpha1.ReseedChecking}
	f.Check.Result = task.Result{Error: strings.Repeat("ü", 1000)}
	to := f.Cluster.Status.DeepCopy()
	if Reseed(to, f); len(to.Reseed.Message) > 1024 || !utf8.ValidString(to.Reseed.Message) {
		t.Errorf("the API refuses this message: %q", to.Reseed.Message)
	}
}

// TestReseedEmpties: nothing is removed before the nodes are left alone, nor before each claim ends with the
// StatefulSet; and the source is copied when all that was recorded is gone.
func TestReseedEmpties(t *testing.T) {
	marked := func(f *ReseedFacts) {
		f.Set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	}
	owned := func(f *ReseedFacts) {
		marked(f)
		for i := range f.Claims[:2] {
			f.Claims[i].OwnerReferences = []metav1.OwnerReference{{UID: "set"}}
		}
	}
	for name, tc := range map[string]struct {
		edit  func(*ReseedFacts)
		act   ReseedAct
		says  string
		begun bool
		// cancelled reports whether everything stays.
		cancelled bool
	}{
		"the nodes may be acted upon": {edit: func(f *ReseedFacts) {
			owned(f)
			f.Cluster.Status.Reseed.Acknowledged = false
		}, says: "left alone"},
		"the claims stay": {act: ReseedMark},
		"the annotation is removed": {edit: func(f *ReseedFacts) {
			owned(f)
			f.Cluster.Annotations = nil
		}, says: "as they were", cancelled: true},
		"the annotation is removed too late": {edit: func(f *ReseedFacts) {
			owned(f)
			f.Set.DeletionTimestamp = &metav1.Time{Time: f.Now}
			f.Cluster.Annotations = nil
		}, says: "also without the annotation"},
		"the annotation is removed when the StatefulSet is gone": {edit: func(f *ReseedFacts) {
			f.Set, f.Claims, f.Cluster.Annotations = nil, nil, nil
		}, says: "shop-0"},
		"no claim is owned yet": {edit: marked, says: "data-shop-0 belongs"},
		"one claim is not owned": {edit: func(f *ReseedFacts) {
			owned(f)
			f.Claims[1].OwnerReferences = nil
		}, says: "data-shop-1"},
		"one claim is another StatefulSet's": {edit: func(f *ReseedFacts) {
			owned(f)
			f.Claims[1].OwnerReferences[0].UID = "other"
		}, says: "data-shop-1"},
		"one claim is gone, and there is another one": {edit: func(f *ReseedFacts) {
			owned(f)
			f.Claims[1].UID, f.Claims[1].OwnerReferences = "new", nil
		}, act: ReseedRemove},
		"all claims are owned": {edit: owned, act: ReseedRemove},
		"it is being removed": {edit: func(f *ReseedFacts) {
			owned(f)
			f.Set.DeletionTimestamp = &metav1.Time{Time: f.Now}
		}, says: "StatefulSet is gone"},
		"pods are left": {edit: func(f *ReseedFacts) { f.Set, f.Claims = nil, nil }, says: "shop-0"},
		"claims are left": {edit: func(f *ReseedFacts) { f.Set, f.Pods = nil, nil },
			says: "claims are gone: data-shop-0, data-shop-1"},
		"only others are left": {edit: func(f *ReseedFacts) {
			f.Set, f.Pods, f.Claims = nil, nil, f.Claims[2:]
		}, begun: true},
	} {
		f := follower("purged@1700000000")
		to := f.Cluster.Status.DeepCopy()
		Reseed(to, f)
		f.Cluster.Status = *to.DeepCopy()
		Reseed(to, f)
		to.Reseed.Acknowledged = true
		f.Cluster.Status = *to
		if tc.edit != nil {
			tc.edit(&f)
		}
		to = f.Cluster.Status.DeepCopy()
		act := Reseed(to, f)
		if act != tc.act || !strings.Contains(to.Reseed.Message, tc.says) ||
			(to.Reseed.Phase == v1alpha1.ReseedCopying) != tc.begun || (to.ClusterUUID == "") != tc.begun ||
			(to.Reseed.Phase == v1alpha1.ReseedCancelled) != tc.cancelled {
			t.Errorf("%s: %d %+v", name, act, to.Reseed)
		}
	}
}

// TestReseedCopies: a cluster that was emptied begins as a new one: with other Jobs and another history, and with
// epochs that go on.
func TestReseedCopies(t *testing.T) {
	f := follower("always@1700000000")
	first := history(f.Cluster, externalID(f.Cluster), nil)
	f.Cluster.Status.Reseed = &v1alpha1.ReseedStatus{Request: "always@1700000000", Phase: v1alpha1.ReseedEmptying,
		StartedAt: metav1.NewTime(f.Now), Acknowledged: true}
	f.Set, f.Pods, f.Claims = nil, nil, nil
	to := f.Cluster.Status.DeepCopy()
	Reseed(to, f)
	f.Cluster.Status = *to
	if r := to.Restore; r.Phase != v1alpha1.RestoreFinding || r.Attempts != 3 || to.Epoch != 7 || to.ClusterUUID != "" ||
		to.Replication != nil || to.Members != nil || to.NoPrimarySince != nil || !Reseeds(f.Cluster) {
		t.Errorf("%+v, %+v", to.Restore, to.Reseed)
	}
	if second := history(f.Cluster, externalID(f.Cluster), nil); second == first {
		t.Error("both copies have one history")
	}
	if Reseed(to, f); to.Reseed.Phase != v1alpha1.ReseedCopying {
		t.Errorf("it is complete before the copy: %+v", to.Reseed)
	}
	to.Restore.Phase = v1alpha1.RestoreCompleted
	if Reseed(to, f); to.Reseed.Phase != v1alpha1.ReseedCompleted || to.Reseed.CompletedAt == nil {
		t.Errorf("%+v", to.Reseed)
	}
}
