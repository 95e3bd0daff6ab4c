package galerabenchmark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

var errKilled = errors.New("the operator was killed")

// simulation is a benchmark with objects in memory. Every pass is another operator's; it plays all others.
type simulation struct {
	*testing.T
	kube client.WithWatch
	now  time.Time
	// writes counts those of the operator; it is killed before the one with the number kill.
	writes, kill int
	// inside are the numbers of writes that were not the first of their pass.
	inside []int
	began  int
	// users are the GaleraUsers that were ever made.
	users map[string]bool
	// started are the Jobs, in their order.
	started []string
}

func newPlay(t *testing.T, kill int) *simulation {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme, rbacv1.AddToScheme,
		v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	workload := v1alpha1.OLTPWorkload{Profile: "WriteOnly", Tables: 1, TableSize: 10, Threads: []int32{1},
		Target: "AllNodes", Distribution: "Uniform"}
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns", UID: "u", Generation: 1},
		Spec: v1alpha1.GaleraBenchmarkSpec{
			Cluster: v1alpha1.BenchmarkCluster{Template: &v1alpha1.GaleraClusterSpec{Replicas: 1,
				Storage: v1alpha1.StorageSpec{Size: resource.MustParse("1Gi")}}},
			Arms: []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Replication: "Disabled"}},
				{Name: "encrypted", TLS: v1alpha1.BenchmarkTLS{Replication: "Required"}}},
			Rounds: 2, Seed: 1, Workloads: []v1alpha1.BenchmarkWorkload{{Name: "write", OLTP: &workload}},
		}}
	p := &simulation{T: t, now: time.Unix(1e9, 0), kill: kill, users: map[string]bool{}}
	p.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(b).WithStatusSubresource(&v1alpha1.GaleraBenchmark{},
		&v1alpha1.GaleraCluster{}, &v1alpha1.GaleraUser{}, &v1alpha1.GaleraDatabase{}, &batchv1.Job{}).Build()
	return p
}

// write carries a write of the operator out, unless that is killed.
func (p *simulation) write(do func() error) error {
	if p.writes++; p.writes == p.kill {
		return errKilled
	}
	if p.writes > p.began+1 {
		p.inside = append(p.inside, p.writes)
	}
	return do()
}

// pass is made by an operator that was started just now.
func (p *simulation) pass() {
	p.Helper()
	p.began = p.writes
	seen := interceptor.NewClient(p.kube, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if maps, is := list.(*corev1.ConfigMapList); is {
				for i := range maps.Items {
					maps.Items[i] = *slimmed(p.T, &maps.Items[i])
				}
			}
			return err
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return p.write(func() error {
				err := c.Create(ctx, o, opts...)
				if err != nil {
					return err
				}
				switch o.(type) {
				case *v1alpha1.GaleraUser:
					p.users[o.GetName()] = true
				case *batchv1.Job:
					p.started = append(p.started, o.GetName())
				}
				return nil
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return p.write(func() error { return c.Delete(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			return p.write(func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return p.write(func() error { return nil }) // roles, which are not asked for here
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object,
			opts ...client.SubResourceUpdateOption) error {
			return p.write(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
	r := &Reconciler{Client: seen, Live: seen,
		Images: objects.Images{Operator: "operator", Client: "sysbench"}, Domain: "cluster.local",
		Now: func() time.Time { return p.now }}
	_, err := r.Reconcile(p.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "x"}})
	if err != nil && !errors.Is(err, errKilled) {
		p.Fatal(err)
	}
}

// others do what their operator, the Job controller and the Jobs' program do.
func (p *simulation) others() {
	p.Helper()
	ctx := p.Context()
	var clusters v1alpha1.GaleraClusterList
	p.must(p.kube.List(ctx, &clusters))
	for i := range clusters.Items {
		before := clusters.Items[i].DeepCopy()
		if c := observedAs(&clusters.Items[i]); !equality.Semantic.DeepEqual(before.Status, c.Status) {
			p.must(p.kube.Status().Update(ctx, c))
		}
	}
	p.applied()
	var all batchv1.JobList
	p.must(p.kube.List(ctx, &all))
	for i := range all.Items {
		j := &all.Items[i]
		if len(j.Status.Conditions) > 0 {
			continue
		}
		cm := &corev1.ConfigMap{}
		p.must(p.kube.Get(ctx, client.ObjectKeyFromObject(j), cm))
		text, err := json.Marshal(p.result(j.Name))
		p.must(err)
		cm.Data[result.KeyOutput], cm.Data[result.KeyLog] = string(text), "words"
		p.must(p.kube.Update(ctx, cm))
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		p.must(p.kube.Status().Update(ctx, j))
	}
}

// applied makes users and databases Ready.
func (p *simulation) applied() {
	var users v1alpha1.GaleraUserList
	var databases v1alpha1.GaleraDatabaseList
	p.must(p.kube.List(p.Context(), &users))
	p.must(p.kube.List(p.Context(), &databases))
	ready := []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	for i := range users.Items {
		u := &users.Items[i]
		if len(u.Status.Conditions) > 0 {
			continue
		}
		u.Status.Conditions, u.Status.ObservedGeneration = ready, u.Generation
		p.must(p.kube.Status().Update(p.Context(), u))
	}
	for i := range databases.Items {
		d := &databases.Items[i]
		if len(d.Status.Conditions) > 0 {
			continue
		}
		d.Status.Conditions, d.Status.ObservedGeneration = ready, d.Generation
		p.must(p.kube.Status().Update(p.Context(), d))
	}
}

// result is what a Job finds; of the second run the first attempt is disturbed.
func (p *simulation) result(job string) result.Output {
	if strings.Contains(job, "-prepare-") {
		return result.Output{Kind: result.KindPrepare, Data: &result.DataSet{Database: "bench_1x10", Tables: 1, Rows: 10,
			Checksum: "abc"}}
	}
	at := result.Sample{result.MetricStarted: 1, result.MetricView: 1, result.MetricSynced: 1}
	var run int
	_, err := fmt.Sscanf(job, "x-run-%03d-", &run)
	p.must(err)
	o := result.Output{Kind: result.KindOLTP, OLTP: &result.OLTPResult{Transactions: 1000, TPS: 100 + float64(run)},
		StartedAt: time.Unix(1e9, 0), EndedAt: time.Unix(1e9+9, 0),
		Members: map[string]result.Window{"x-db-0": {Before: at, After: at}}}
	if job == "x-run-002-1" {
		o.Noticed = []string{"x-db-0 was Donor instead of Synced during the run"}
	}
	return o
}

// observedAs makes a cluster Ready, as its spec asks.
func observedAs(c *v1alpha1.GaleraCluster) *v1alpha1.GaleraCluster {
	seen := proved()
	c.Status.ObservedGeneration, c.Status.ClusterUUID, c.Status.Conditions, c.Status.Members = c.Generation, "history",
		seen.Status.Conditions, seen.Status.Members
	c.Status.Conditions[0].Reason, c.Status.Conditions[0].LastTransitionTime = "Ready", metav1.NewTime(time.Unix(1e9, 0))
	if token, all := strings.CutPrefix(c.Annotations[v1alpha1.AnnotationRestart], "all@"); all {
		c.Status.Requests = []v1alpha1.RequestStatus{{Kind: v1alpha1.RequestRestart, Node: v1alpha1.AllNodes, Token: token,
			State: v1alpha1.RequestDone}}
	}
	if c.Spec.TLS.Replication == v1alpha1.TLSDisabled {
		plain := &v1alpha1.ChannelStatus{Observed: "Plaintext"}
		c.Status.Members[0].TLS.Replication, c.Status.Members[0].TLS.StateTransfer = plain, plain
	}
	return c
}

func (p *simulation) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// outcome is everything a user can see of a benchmark that has ended, without its times.
func (p *simulation) outcome() string {
	p.Helper()
	for range 200 {
		p.pass()
		p.others()
		p.now = p.now.Add(time.Second)
		b := &v1alpha1.GaleraBenchmark{}
		p.must(p.kube.Get(p.Context(), client.ObjectKey{Namespace: "ns", Name: "x"}, b))
		if b.Status.CompletedAt == nil {
			continue
		}
		var clusters v1alpha1.GaleraClusterList
		p.must(p.kube.List(p.Context(), &clusters))
		var maps corev1.ConfigMapList
		p.must(p.kube.List(p.Context(), &maps))
		verdicts := []string{}
		for _, cm := range maps.Items {
			verdicts = append(verdicts, cm.Name+" "+cm.Data[result.KeyVerdict])
			if cm.Data[result.KeyLog] == "" || cm.Data[result.KeyProof] == "" {
				p.Errorf("what the cache leaves out of %s is gone", cm.Name)
			}
		}
		slices.Sort(verdicts)
		var users v1alpha1.GaleraUserList
		var databases v1alpha1.GaleraDatabaseList
		p.must(p.kube.List(p.Context(), &users))
		p.must(p.kube.List(p.Context(), &databases))
		s := b.Status
		text, err := json.MarshalIndent(map[string]any{"jobs": p.started, "verdicts": verdicts,
			"clusters": len(clusters.Items), "users": len(users.Items), "databases": len(databases.Items), "results": s.Results,
			"data": s.DataSets, "invalid": s.InvalidRuns, "verdict": s.Verdict, "progress": s.Progress,
			"reason": s.Conditions[0].Reason, "message": s.Conditions[0].Message}, "", " ")
		p.must(err)
		return string(text)
	}
	p.Fatalf("it never ends: %v", p.started)
	return ""
}

// TestResumes kills the operator between any two writes of a pass. The next one has nothing but the objects, and the
// same comes out: each run is made once, with the same results. Every pass is another operator's anyway, so that a kill
// between two passes is none.
func TestResumes(t *testing.T) {
	whole := newPlay(t, 0)
	want := whole.outcome()
	for _, part := range []string{`"x-prepare-1",`, `"x-run-002-1",`, `"x-run-002-2"`, `"progress": "4/4"`,
		`"reason": "Measured"`, `"clusters": 0`, `"users": 0`, `"databases": 0`, `x-run-002-2 {\"valid\":true}`} {
		if !strings.Contains(want, part) {
			t.Fatalf("%s is missing in\n%s", part, want)
		}
	}
	if len(whole.inside) < 20 {
		t.Fatalf("only %d of %d writes have one before them in their pass", len(whole.inside), whole.writes)
	}
	for _, kill := range whole.inside {
		p := newPlay(t, kill)
		if got := p.outcome(); got != want {
			t.Errorf("killed before write %d:\n%s\nwant\n%s", kill, got, want)
		}
		if len(p.users) != 2 { // one has the rights, the other one the certificate
			t.Errorf("killed before write %d: accounts %v", kill, p.users)
		}
		if p.writes < kill {
			t.Errorf("not killed before write %d", kill)
		}
	}
	t.Logf("%d of %d writes", len(whole.inside), whole.writes)
}
