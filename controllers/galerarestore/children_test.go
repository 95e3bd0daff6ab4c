package galerarestore

import (
	"context"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy/loading"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// restore returns the restore of a database.
func restore(name, cluster, as string) *v1alpha1.GaleraRestore {
	o := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name,
		UID: types.UID(name + "-0a1b2c3d")}}
	o.Spec.ClusterRef.Name = cluster
	o.Spec.Database = &v1alpha1.RestoreDatabase{Name: "shop", As: v1alpha1.DatabaseName(as)}
	return o
}

// target returns the GaleraDatabase of the new database of a restore, nil for none.
func target(t *testing.T, o *v1alpha1.GaleraRestore) *v1alpha1.GaleraDatabase {
	t.Helper()
	for _, child := range children(o) {
		if d, is := child.(*v1alpha1.GaleraDatabase); is && d.Spec.Name == o.TargetDatabase() {
			return d
		}
	}
	return nil
}

// TestTargetOfAnotherRestore: a failed restore leaves its new database with the mark NAMESPACE/NAME of the
// GaleraDatabase. The next restore into that database has one of the same name, and so is not refused.
func TestTargetOfAnotherRestore(t *testing.T) {
	failed := target(t, restore("shop-1", "shop", "before"))
	if failed == nil || failed.Spec.DeletionPolicy != v1alpha1.AccountRetain {
		t.Fatalf("%+v", failed)
	}
	for name, c := range map[string]struct {
		o    *v1alpha1.GaleraRestore
		same bool
	}{
		"another restore":  {restore("shop-2", "shop", "before"), true},
		"another database": {restore("shop-1", "shop", "Before"), false},
		"another cluster":  {restore("shop-1", "other", "before"), false},
	} {
		if d := target(t, c.o); d == nil || (d.Name == failed.Name) != c.same || len(d.Name) > 63 {
			t.Errorf("%s: %+v, %s before", name, d, failed.Name)
		}
	}
	table := restore("shop-1", "shop", "")
	table.Spec.Database, table.Spec.Table = nil, &v1alpha1.RestoreTable{Database: "shop", Name: "t", As: "x"}
	if d := target(t, table); d != nil {
		t.Errorf("a database is made for a table: %+v", d)
	}
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, batchv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// TestPodLeft: the pod of an earlier restore into the database may be about to give tables their names, though its
// GaleraRestore, its Job and its GaleraDatabase are gone.
func TestPodLeft(t *testing.T) {
	second := restore("shop-2", "shop", "before")
	of := func(name string) *corev1.Pod {
		j, err := job.Load(restore("shop-1", "shop", name), &v1alpha1.GaleraCluster{}, &v1alpha1.GaleraBackupStore{},
			task.Load{}, "binding", resources.Options{}, job.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "left", Labels: j.Spec.Template.Labels}}
	}
	for name, c := range map[string]struct {
		as     string
		exists bool
		waits  bool
	}{
		"into the database":     {"before", false, true},
		"into another database": {"other", false, false},
		"its own Job runs":      {"before", true, false},
	} {
		kube := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(of(c.as)).Build()
		f := loading.Facts{Restore: second}
		f.Job.Exists = c.exists
		err := (&Reconciler{Client: kube, Live: kube}).access(t.Context(), &f)
		if waits := strings.Contains(f.Access.Message, "waiting for the pod left of an earlier restore"); err != nil ||
			waits != c.waits {
			t.Errorf("%s: %+v, %v", name, f.Access, err)
		}
	}
}

// TestJobsStay: a Job that is removed stays to be seen until its pods are gone.
func TestJobsStay(t *testing.T) {
	o := restore("shop-1", "shop", "before")
	j := &batchv1.Job{ObjectMeta: owned(o, "shop-1-load-1")}
	var how []metav1.DeletionPropagation
	kube := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(j).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.DeleteOption) error {
			how = append(how, *(&client.DeleteOptions{}).ApplyOptions(opts).PropagationPolicy)
			return nil
		}}).Build()
	r := Reconciler{Client: kube, Live: kube}
	if err := r.tidyJobs(t.Context(), o, ""); err != nil || len(how) != 1 || how[0] != metav1.DeletePropagationForeground {
		t.Errorf("%v, %v", how, err)
	}
}

// TestTargetInUse: a restore waits for another one into the same database, and takes nothing from it.
func TestTargetInUse(t *testing.T) {
	scheme := testScheme(t)
	first, second := restore("shop-1", "shop", "before"), restore("shop-2", "shop", "before")
	theirs := target(t, first).DeepCopy()
	theirs.OwnerReferences[0].Kind = "Other"
	for name, c := range map[string]struct {
		target *v1alpha1.GaleraDatabase
		stuck  bool
		want   string
	}{
		"another restore's": {target(t, first), false, "waiting for the GaleraRestore shop-1"},
		"another owner's":   {theirs, true, "belongs to another owner"},
		"its own":           {target(t, second), false, "waiting for the account of the load"},
	} {
		through := children(second)[0]
		through.(*v1alpha1.GaleraDatabase).Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady,
			Status: metav1.ConditionTrue}}
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(through, c.target).Build()
		r := Reconciler{Client: kube, Live: kube}
		f := loading.Facts{Restore: second}
		err := r.access(t.Context(), &f)
		if err != nil || f.Taken || f.Stuck != c.stuck || !strings.Contains(f.Access.Message, c.want) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}
