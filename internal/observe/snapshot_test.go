package observe

import (
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// TestTrust: what the planner asks for is what is read from the spec.
func TestTrust(t *testing.T) {
	const uuid = "6b4c1a52-0000-11f0-a000-000000000001"
	down := func(name string, seqno int64) galera.Member {
		return galera.Member{Name: name, Known: true, HeldData: true, Pod: galera.Pod{Exists: true},
			Phase: galera.PhaseWaiting, Data: galera.DataPresent,
			Position: galera.Position{UUID: uuid, Seqno: seqno}}
	}
	silent := galera.Member{Name: "shop-0", HeldData: true, SilentFor: time.Hour, Pod: galera.Pod{Exists: true}}
	hung := down("shop-0", 11)
	hung.Phase, hung.CannotAct = galera.PhaseRunning, galera.Hung
	unable := down("shop-0", 14)
	unable.CannotStart = "its image is gone"
	for name, row := range map[string]struct {
		missing galera.Member
		want    galera.Approval
	}{
		"silent": {silent, galera.Approval{Without: []string{"shop-0"}}},
		"hung":   {hung, galera.Approval{Running: []string{"shop-0"}}},
		"unable": {unable, galera.Approval{Unable: []string{"shop-0"}}},
	} {
		s := galera.Snapshot{Name: "shop", Namespace: "default", ClusterUUID: uuid, Epoch: 4, NoPrimaryFor: time.Hour,
			Members: []galera.Member{row.missing, down("shop-1", 12), down("shop-2", 12)}}
		row.want.Member, row.want.Position, row.want.Epoch = "shop-1", galera.Position{UUID: uuid, Seqno: 12}, 5
		asked := plan.Plan(s).Approval
		if asked == nil || !reflect.DeepEqual(*asked, row.want) {
			t.Errorf("%s: %+v is asked for, want %+v", name, asked, row.want)
			continue
		}
		if got := approval(given(*asked)); got == nil || !reflect.DeepEqual(*got, row.want) {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
	if c := (&v1alpha1.GaleraCluster{}); approval(c) != nil {
		t.Error("an approval of nothing")
	}
}

// given is a cluster with an approval in its spec.
func given(a galera.Approval) *v1alpha1.GaleraCluster {
	out := &v1alpha1.RecoveryApproval{Member: a.Member, History: a.Position.UUID, Seqno: a.Position.Seqno, Epoch: a.Epoch}
	states := map[galera.GivenUpAs][]string{galera.Gone: a.Without, galera.StillRunning: a.Running,
		galera.Unable: a.Unable}
	for as, names := range states {
		for _, name := range names {
			out.Without = append(out.Without, v1alpha1.GivenUpMember{Name: name, As: string(as)})
		}
	}
	c := &v1alpha1.GaleraCluster{}
	c.Spec.Recovery = &v1alpha1.RecoverySpec{Approval: out}
	return c
}

func TestMembersReportMissingTools(t *testing.T) {
	f := Facts{Cluster: &v1alpha1.GaleraCluster{}}
	f.Cluster.Name = "shop"
	for want, missing := range map[bool][]string{true: {"socat"}, false: nil} {
		r := agentapi.Report{Image: agentapi.ImageReport{Missing: missing, ServerVersion: "11.8.6"}}
		if m := member(f, map[string]Seen{"shop-0": {Live: true, Report: r}}, 0, time.Unix(0, 0)); !m.Known ||
			m.LacksTools != want || m.ServerVersion != "11.8.6" {
			t.Errorf("%v: %+v", missing, m)
		}
	}
}

// TestNoPrimary: what is counted begins with the end of the Primary component, however few were in it, and whatever
// the condition QuorumHealthy has said since when.
func TestNoPrimary(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	ago := func(d time.Duration) *metav1.Time { at := metav1.NewTime(now.Add(-d)); return &at }
	primary := Seen{Live: true, Report: agentapi.Report{Server: &agentapi.Server{Component: galera.ComponentPrimary,
		ClusterUUID: "u"}}}
	for name, tc := range map[string]struct {
		recorded *metav1.Time
		seen     Seen
		want     time.Duration
	}{
		"a minority serves":                {nil, primary, 0},
		"a minority came back":             {ago(time.Minute), primary, 0},
		"the minority that served is gone": {nil, Seen{}, 0},
		"it has been for a minute":         {ago(time.Minute), Seen{}, time.Minute},
	} {
		f := Facts{Cluster: &v1alpha1.GaleraCluster{}}
		f.Cluster.Name, f.Cluster.Status.Replicas, f.Cluster.Status.NoPrimarySince = "shop", 3, tc.recorded
		f.Cluster.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionQuorumHealthy,
			Status: metav1.ConditionFalse, LastTransitionTime: *ago(time.Hour)}}
		s := Snapshot(f, map[string]Seen{"shop-0": tc.seen}, agentapi.NodeConfig{}, now)
		new(Waits).See(types.NamespacedName{}, &s, f, now)
		if got := now.Sub(s.NoPrimarySince); s.NoPrimaryFor != 0 || got != tc.want && !s.NoPrimarySince.IsZero() {
			t.Errorf("%s: %s without a Primary component, want %s", name, got, tc.want)
		}
	}
}

// TestOutdated: the image of the operator makes no pod outdated, any other change of the template does.
func TestOutdated(t *testing.T) {
	set := func(hash string) *appsv1.StatefulSet {
		s := &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{UpdateRevision: "new"}}
		s.Spec.Template.Annotations = map[string]string{v1alpha1.AnnotationPodTemplate: hash}
		return s
	}
	for name, c := range map[string]struct {
		revision, hash string
		set            *appsv1.StatefulSet
		want           bool
	}{
		"the same":                          {"new", "a", set("a"), false},
		"another operator":                  {"old", "a", set("a"), false},
		"another template":                  {"old", "b", set("a"), true},
		"of an operator that wrote no hash": {"old", "", set("a"), true},
		"there is no StatefulSet":           {"old", "b", nil, false},
		"one the controller has not seen": {"old", "b",
			func() *appsv1.StatefulSet { s := set("a"); s.Generation = 1; return s }(), false},
		"neither has a hash, same revision":  {"new", "", set(""), false},
		"neither has a hash, other revision": {"old", "", set(""), true},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			appsv1.ControllerRevisionHashLabelKey: c.revision},
			Annotations: map[string]string{v1alpha1.AnnotationPodTemplate: c.hash}}}
		if got := outdated(p, c.set); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
