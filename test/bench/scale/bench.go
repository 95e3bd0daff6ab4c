package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

const (
	// operatorNamespace is where the lease is.
	operatorNamespace = "operators"
	// perNamespace is how many clusters share a namespace.
	perNamespace = 25
	// slowClusters have agents that answer after slowness, while one cluster recovers.
	slowClusters = 20
	slowness     = 10 * time.Second
	// settleTime follows what was changed, before the idle operator is watched.
	settleTime = 20 * time.Second
)

// bench is the API server, the simulated part of Kubernetes, and the operator.
type bench struct {
	options
	env     *envtest.Environment
	kube    client.Client
	world   *world
	dir     string
	control pkitest.CA
	leader  *operator
	stop    context.CancelFunc // the simulated Kubernetes
	started int
}

func begin(ctx context.Context, o options) (*bench, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS must name a directory with kube-apiserver and etcd; run: make bench-scale")
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, certmanagerv1.AddToScheme,
		v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager").
		Output()
	if err != nil {
		return nil, fmt.Errorf("finding cert-manager's CRDs: %w", err)
	}
	b := &bench{options: o, control: pkitest.NewCAUntil("control", time.Now().Add(12*time.Hour))}
	b.env = &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join("config", "crd", "bases"), filepath.Join(strings.TrimSpace(string(out)),
			"deploy", "crds")},
		ErrorIfCRDPathMissing: true, ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: 2 * time.Minute,
	}
	// Of the range that envtest takes by itself, 254 addresses, 50 clusters use up all.
	b.env.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.0.0.0/16")
	progress("starting kube-apiserver and etcd")
	config, err := b.env.Start()
	if err != nil {
		return nil, fmt.Errorf("starting kube-apiserver and etcd: %w", err)
	}
	config.QPS = -1 // only the operator's requests are to wait
	if b.dir, err = os.MkdirTemp("", "bench-scale-"); err != nil {
		return nil, errors.Join(err, b.end())
	}
	if err := b.prepare(ctx, scheme); err != nil {
		return nil, errors.Join(err, b.end())
	}
	return b, nil
}

func (b *bench) prepare(ctx context.Context, scheme *runtime.Scheme) (err error) {
	if b.kube, err = client.New(b.env.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if err := b.kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}}); err != nil {
		return err
	}
	if err := writeFiles(b.dir, b.env, b.control); err != nil {
		return err
	}
	ctx, b.stop = context.WithCancel(ctx)
	if b.world, err = startWorld(ctx, b.env.Config, scheme); err != nil {
		return err
	}
	b.leader, err = b.startOperator()
	return err
}

func (b *bench) end() error {
	if b.leader != nil {
		b.leader.kill()
	}
	if b.stop != nil {
		b.stop()
	}
	err := b.env.Stop()
	if b.dir != "" {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return err
}

func name(i int) client.ObjectKey {
	return client.ObjectKey{Namespace: fmt.Sprintf("bench-%d", i/perNamespace), Name: fmt.Sprintf("shop-%d", i)}
}

// measure brings the number of clusters to n, and measures.
func (b *bench) measure(ctx context.Context, n int) (point, error) {
	p := point{clusters: n, crash: min(b.crash, n)}
	before, err := b.count(ctx)
	if err != nil {
		return p, err
	}
	p.added = n - before
	progress("%d clusters: creating %d", n, p.added)
	began := time.Now()
	for i := before; i < n; i++ {
		if err := b.create(ctx, i); err != nil {
			return p, err
		}
	}
	if err := b.until(ctx, n, v1alpha1.ConditionReady, func(int) bool { return true }); err != nil {
		return p, err
	}
	p.created = time.Since(began)
	for _, step := range []func(context.Context, *point) error{b.measureIdle, b.measureCrash, b.measureSlow,
		b.measureTakeOver} {
		if err := step(ctx, &p); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (b *bench) measureIdle(ctx context.Context, p *point) (err error) {
	if err := pause(ctx, settleTime); err != nil {
		return err
	}
	progress("%d clusters: idle", p.clusters)
	w, err := b.leader.watch(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, b.idle); err != nil {
		return err
	}
	p.idle, err = w.end(ctx)
	return err
}

// measureCrash takes every server of some clusters down at once.
func (b *bench) measureCrash(ctx context.Context, p *point) error {
	progress("%d clusters: %d crash", p.clusters, p.crash)
	w, err := b.leader.watch(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	for i := range p.crash {
		b.world.crash(name(i))
	}
	crashed := func(i int) bool { return i < p.crash }
	if err := b.untilRecovered(ctx, p.clusters, crashed); err != nil {
		return err
	}
	p.back = time.Since(began)
	p.crashed, err = w.end(ctx)
	if p.resident, _ = b.leader.resident(); err != nil {
		return err
	}
	return b.until(ctx, p.clusters, v1alpha1.ConditionReady, crashed)
}

// measureSlow takes one cluster down, alongside others whose agents answer slowly.
func (b *bench) measureSlow(ctx context.Context, p *point) error {
	slow := min(slowClusters, p.clusters-1)
	if slow == 0 {
		return nil
	}
	progress("%d clusters: one crashes alongside %d with slow agents", p.clusters, slow)
	for i := range slow {
		b.world.slow(name(i), slowness)
		b.world.crash(name(i))
	}
	last := p.clusters - 1
	began := time.Now()
	b.world.crash(name(last))
	err := b.untilRecovered(ctx, p.clusters, func(i int) bool { return i == last })
	p.slow = time.Since(began)
	for i := range slow {
		b.world.slow(name(i), 0)
	}
	return errors.Join(err, b.until(ctx, p.clusters, v1alpha1.ConditionReady, func(int) bool { return true }))
}

// measureTakeOver kills the leader alongside another operator.
func (b *bench) measureTakeOver(ctx context.Context, p *point) error {
	progress("%d clusters: another operator takes over", p.clusters)
	standby, err := b.startOperator()
	if err != nil {
		return err
	}
	if err := pause(ctx, settleTime); err != nil {
		return err
	}
	began := time.Now()
	b.leader.kill()
	b.leader = standby
	for seen := 0; seen < p.clusters; {
		if seen, err = standby.clusters(ctx); err != nil {
			return err
		}
		if seen > 0 && p.lead == 0 {
			p.lead = time.Since(began)
		}
		if time.Since(began) > b.longest {
			return fmt.Errorf("the other operator has seen %d clusters in %s", seen, b.longest)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	p.seen = time.Since(began)
	if r, err := standby.resident(); err == nil {
		p.resident = max(p.resident, r)
	}
	return nil
}

func (b *bench) count(ctx context.Context) (int, error) {
	var all v1alpha1.GaleraClusterList
	err := b.kube.List(ctx, &all)
	return len(all.Items), err
}

func (b *bench) create(ctx context.Context, i int) error {
	key := name(i)
	if i%perNamespace == 0 {
		if err := b.kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}}); err != nil {
			return err
		}
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	c.Spec.Replicas, c.Spec.Storage.Size = 3, resource.MustParse("1Gi")
	return b.kube.Create(ctx, c)
}

// until waits for a condition of those of the first n clusters that are chosen.
func (b *bench) until(ctx context.Context, n int, condition string, chosen func(int) bool) error {
	return b.wait(ctx, n, condition, func(i int, c *v1alpha1.GaleraCluster) bool {
		return !chosen(i) || meta.IsStatusConditionTrue(c.Status.Conditions, condition)
	})
}

// untilRecovered waits until the simulated servers are Primary again, as the operator has ordered, and it has seen
// that.
func (b *bench) untilRecovered(ctx context.Context, n int, chosen func(int) bool) error {
	return b.wait(ctx, n, "recovered", func(i int, c *v1alpha1.GaleraCluster) bool {
		return !chosen(i) || b.world.primary(name(i)) && meta.IsStatusConditionTrue(c.Status.Conditions,
			v1alpha1.ConditionAvailable)
	})
}

func (b *bench) wait(ctx context.Context, n int, what string, done func(int, *v1alpha1.GaleraCluster) bool) error {
	reported := time.Now()
	for began := time.Now(); ; {
		var all v1alpha1.GaleraClusterList
		if err := b.kube.List(ctx, &all); err != nil {
			return err
		}
		byName := map[client.ObjectKey]*v1alpha1.GaleraCluster{}
		for i := range all.Items {
			byName[client.ObjectKeyFromObject(&all.Items[i])] = &all.Items[i]
		}
		missing, example := 0, ""
		for i := range n {
			c := byName[name(i)]
			if c == nil || !done(i, c) {
				missing++
				example = describe(name(i), c)
			}
		}
		switch {
		case missing == 0:
			return nil
		case time.Since(began) > b.longest:
			return fmt.Errorf("%d clusters are not %s after %s, for instance %s", missing, what, b.longest, example)
		case time.Since(reported) > 30*time.Second:
			progress("%d are not %s yet, for instance %s", missing, what, example)
			reported = time.Now()
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

func describe(key client.ObjectKey, c *v1alpha1.GaleraCluster) string {
	if c == nil {
		return key.String()
	}
	out := key.String()
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionQuorumHealthy} {
		if cond := meta.FindStatusCondition(c.Status.Conditions, kind); cond != nil {
			out += fmt.Sprintf("; %s %s %s: %s", kind, cond.Status, cond.Reason, cond.Message)
		}
	}
	return out
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
