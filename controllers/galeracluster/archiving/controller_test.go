package archiving

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/deployed"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestFailedBaseGoes: what a base that has failed has left in the store goes with it.
func TestFailedBaseGoes(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop-base"}}
	b.Spec.DeletionPolicy, b.Status.Phase, b.Status.ID = v1alpha1.BackupRetain, v1alpha1.BackupFailed, "b1"
	r := Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(b).Build()}
	pass := func() *v1alpha1.GaleraBackup {
		t.Helper()
		have := &v1alpha1.GaleraBackup{}
		err := r.Get(t.Context(), client.ObjectKeyFromObject(b), have)
		if err == nil {
			err = r.makeBase(t.Context(), &v1alpha1.GaleraCluster{}, archival.Request{Name: b.Name, Failed: have})
		}
		if err == nil {
			err = r.Get(t.Context(), client.ObjectKeyFromObject(b), have)
		}
		if err != nil {
			t.Fatal(err)
		}
		return have
	}
	for range 2 { // until its controller holds it
		if have := pass(); have.Spec.DeletionPolicy != v1alpha1.BackupDelete || have.DeletionTimestamp != nil {
			t.Fatalf("%+v", have)
		}
	}
	held := pass()
	held.Finalizers = []string{"galera-operator.io/remove-backup"}
	if err := r.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if have := pass(); have.DeletionTimestamp == nil {
			t.Fatalf("%+v", have)
		}
	}
}

// agents are those of a cluster, by pod.
type agents struct{}

func (agents) Target(_ types.NamespacedName, pod string) (observe.Target, bool) {
	return observe.Target{Pod: pod}, pod != ""
}

func (agents) Seen(types.NamespacedName) map[string]observe.Seen { return nil }

// TestAlignment: the primary's agent is asked for one number of all members, which an event names, and the status when
// that was. One that has done so already changes nothing, and a failure is reported.
func TestAlignment(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		number  uint64
		err     error
		aligned bool
	}{
		"given one": {1012, nil, true}, "aligned already": {0, nil, false},
		"refused": {0, errors.New("of another size"), false},
	} {
		cluster := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
		cluster.Status.Primary, cluster.Status.Members = "shop-1", make([]v1alpha1.MemberStatus, 3)
		cluster.Status.Arbitrator = &v1alpha1.ArbitratorStatus{Connected: true}
		cluster.Status.Backup = &v1alpha1.ArchiveStatus{Session: "s"}
		recorder := events.NewFakeRecorder(10)
		var asked []agentapi.Alignment
		r := Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster).
			WithStatusSubresource(cluster).Build(), Events: recorder, Agents: agents{}, Now: func() time.Time { return now },
			Today: func() time.Time { return now }, Late: func() time.Time { return now },
			Aligning: &calls.Calls[observe.Target, agentapi.Alignment, agentapi.AlignmentResult]{Do: calls.One(
				func(_ context.Context, to observe.Target, a agentapi.Alignment) (agentapi.AlignmentResult, error) {
					if to.Pod != "shop-1" {
						t.Errorf("%s is asked", to.Pod)
					}
					asked = append(asked, a)
					return agentapi.AlignmentResult{Number: c.number}, c.err
				})}}
		have := &v1alpha1.GaleraCluster{}
		if err := r.Get(t.Context(), client.ObjectKeyFromObject(cluster), have); err != nil {
			t.Fatal(err)
		}
		err := r.align(t.Context(), have, task.Skew{Why: "0-1-7 is 0-1-8", Seqno: 9, Spread: 1})
		for errors.Is(err, calls.ErrPending) {
			err = r.align(t.Context(), have, task.Skew{Why: "0-1-7 is 0-1-8", Seqno: 9, Spread: 1})
		}
		if (err != nil) != (c.err != nil) || !slices.Equal(asked, []agentapi.Alignment{{Seqno: 9, Spread: 1, Size: 4}}) {
			t.Errorf("%s: %v, %+v", name, err, asked)
		}
		if err := r.Get(t.Context(), client.ObjectKeyFromObject(cluster), have); err != nil {
			t.Fatal(err)
		}
		at := have.Status.Backup.AlignedAt
		if (at != nil) != c.aligned || at != nil && !at.Time.Equal(now) {
			t.Errorf("%s: the status names %v", name, at)
		}
		select {
		case text := <-recorder.Events:
			if !c.aligned || !strings.Contains(text, "NumbersAligned") || !strings.Contains(text, "0-1-7 is 0-1-8") ||
				!strings.Contains(text, "from 1012 on") {
				t.Errorf("%s: %s", name, text)
			}
		default:
			if c.aligned {
				t.Errorf("%s: no event", name)
			}
		}
	}
}

// TestArchiveBeginsAfterTheCutover: no session of the archive begins before all of what the cluster follows is part of
// its data.
func TestArchiveBeginsAfterTheCutover(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]bool{"": false, v1alpha1.RoleFollower: false, v1alpha1.RoleIndependent: true} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
		c.Spec.ReplicaOf, c.Spec.Cutover = &v1alpha1.ReplicaOf{}, &v1alpha1.CutoverSpec{GTID: "0-1-7"}
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		if c.Status.ClusterUUID = "u"; role != "" {
			c.Status.Replication = &v1alpha1.ReplicationStatus{Role: role}
		}
		r := Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithStatusSubresource(c).Build(),
			Today: time.Now, Calls: &calls.Calls[string, deployed.Question, task.Archived]{},
			Aligning: &calls.Calls[observe.Target, agentapi.Alignment, agentapi.AlignmentResult]{}}
		key := client.ObjectKeyFromObject(c)
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		have := &v1alpha1.GaleraCluster{}
		if err := r.Get(t.Context(), key, have); err != nil {
			t.Fatal(err)
		}
		if begun := have.Status.Backup != nil && have.Status.Backup.Session != ""; begun != want {
			t.Errorf("as %q a session has begun: %v", role, begun)
		}
	}
}
