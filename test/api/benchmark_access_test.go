package api

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	benchjob "github.com/galera-operator/galera-operator/internal/bench/job"
)

// fakeNodes are the agents of a cluster that is measured.
type fakeNodes struct {
	mu       sync.Mutex
	accounts map[string]string
	refusal  string
}

func (f *fakeNodes) TrustClients(context.Context, *v1alpha1.GaleraCluster) (string, error) {
	return "", nil
}

func (f *fakeNodes) KeepAccount(_ context.Context, _ types.NamespacedName, _ *v1alpha1.GaleraCluster,
	a agentapi.BenchAccount) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusal != "" {
		return errors.New(f.refusal)
	}
	delete(f.accounts, a.Name())
	if a.Present {
		f.accounts[a.Name()] = a.Hash
	}
	return a.Check()
}

// hash of an account's password, "" when there is no such account.
func (f *fakeNodes) hash(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accounts[name]
}

func (f *fakeNodes) refuse(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusal = why
}

func stalledFor(reason, text string) func(*v1alpha1.GaleraBenchmark) bool {
	return func(b *v1alpha1.GaleraBenchmark) bool {
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == reason && strings.Contains(c.Message, text)
	}
}

// TestBenchmarkChangesNoForeignObjects: an object of another owner that has a name the Jobs need is neither changed nor
// deleted; the benchmark reports it, and goes on when it is gone.
func TestBenchmarkChangesNoForeignObjects(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, stranger := range map[string]func(b *v1alpha1.GaleraBenchmark, at metav1.ObjectMeta) client.Object{
		"account": func(b *v1alpha1.GaleraBenchmark, at metav1.ObjectMeta) client.Object {
			at.Name = benchjob.RunnerName(b)
			return &corev1.ServiceAccount{ObjectMeta: at}
		},
		"role": func(b *v1alpha1.GaleraBenchmark, at metav1.ObjectMeta) client.Object {
			at.Name = benchjob.RunnerName(b)
			return &rbacv1.Role{ObjectMeta: at, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"},
				Verbs: []string{"list"}}}}
		},
		"secret": func(b *v1alpha1.GaleraBenchmark, at metav1.ObjectMeta) client.Object {
			at.Name = benchjob.AccountName(b)
			return &corev1.Secret{ObjectMeta: at, Data: map[string][]byte{"password": []byte("known")}}
		},
		"result": func(b *v1alpha1.GaleraBenchmark, at metav1.ObjectMeta) client.Object {
			at.Name = b.Name + "-prepare-1"
			return &corev1.ConfigMap{ObjectMeta: at, Data: map[string]string{"of": "others"}}
		},
		"job": func(b *v1alpha1.GaleraBenchmark, at metav1.ObjectMeta) client.Object {
			at.Name = b.Name + "-prepare-1"
			pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
			return &batchv1.Job{ObjectMeta: at, Spec: batchv1.JobSpec{Template: pod}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := perform(t, benchmark(t, "takes-"+name, map[string]string{"cluster": onePrivate, "rounds": "1",
				"workloads": oneWrite}))
			b := s.waitFor("a suffix", func(b *v1alpha1.GaleraBenchmark) bool { return b.Status.Resources != nil })
			o := stranger(b, metav1.ObjectMeta{Namespace: home(t)})
			must(t, kube.Create(ctx, o))
			t.Cleanup(func() { _ = kube.Delete(ctx, o) })
			before := o.DeepCopyObject().(client.Object)
			s.prove("takes-" + name + "-db")
			s.waitFor("the complaint", stalledFor(v1alpha1.ReasonNameConflict, o.GetName()))
			must(t, kube.Get(ctx, client.ObjectKeyFromObject(o), o))
			if !equality.Semantic.DeepEqual(before, o) {
				t.Errorf("changed from %+v to %+v", before, o)
			}
			must(t, kube.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)))
			if name != "job" { // its finalizers are the Job controller's
				s.job("takes-" + name + "-prepare-1")
			}
		})
	}
}

// TestBenchmarkDeletesNothingOfOthers: what has the name of a part of an attempt, and is another owner's, outlives the
// attempt.
func TestBenchmarkDeletesNothingOfOthers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := onProxy(t, "spares")
	job := s.job("spares-run-001-1")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: benchjob.ProxyName(job.Name)}}
	must(t, kube.Delete(ctx, secret))
	must(t, kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: secret.Name}}))
	t.Cleanup(func() { _ = kube.Delete(ctx, secret) })
	s.finish(job, `{"kind": "connect", "error": "x", "lastLines": []}`)
	s.job("spares-run-001-2")
	if gone(secret) {
		t.Error("another owner's Secret was deleted")
	}
}

// TestWhatBenchmarkJobsHold: of the cluster nothing but its CA's certificate, one right in the API, and a certificate
// with which none of them can join the group.
func TestWhatBenchmarkJobsHold(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := onProxy(t, "holds")
	job := s.job("holds-run-001-1")
	b, pod := s.get(), job.Spec.Template.Spec
	text, err := json.Marshal(job)
	must(t, err)
	for _, secret := range []string{"holds-db-root", "holds-db-tls", "holds-db-issued", "holds-db-ca-pair",
		"holds-db-client-ca-pair"} {
		if strings.Contains(string(text), `"`+secret+`"`) {
			t.Errorf("the Job has the Secret %s", secret)
		}
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken ||
		pod.ServiceAccountName != benchjob.RunnerName(b) {
		t.Errorf("every container has the token of %q", pod.ServiceAccountName)
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		holds := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "token" })
		if holds != (c.Name == benchjob.ClientContainer) {
			t.Errorf("%s has a token: %t", c.Name, holds)
		}
	}
	key := client.ObjectKey{Namespace: home(t), Name: benchjob.RunnerName(b)}
	role, certificate := &rbacv1.Role{}, &cmv1.Certificate{}
	must(t, kube.Get(ctx, key, role))
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"},
		ResourceNames: []string{job.Name}, Verbs: []string{"patch"}}}
	if !equality.Semantic.DeepEqual(role.Rules, want) {
		t.Errorf("rights: %+v", role.Rules)
	}
	must(t, kube.Get(ctx, key, certificate))
	if certificate.Spec.IssuerRef.Name != "holds-db-client-ca" || !slices.Equal(certificate.Spec.Usages,
		[]cmv1.KeyUsage{cmv1.UsageDigitalSignature, cmv1.UsageClientAuth}) {
		t.Errorf("certificate: %+v", certificate.Spec)
	}
	for _, o := range []client.Object{role, certificate, &corev1.ServiceAccount{}, &rbacv1.RoleBinding{}} {
		must(t, kube.Get(ctx, key, o))
		if !metav1.IsControlledBy(o, b) {
			t.Errorf("%T outlives the benchmark", o)
		}
	}
}

// TestBenchmarkDropsItsAccount on a cluster that is not its own: the operator is killed, the nodes refuse for a while,
// and in the end it is gone.
func TestBenchmarkDropsItsAccount(t *testing.T) {
	t.Parallel()
	existingCluster(t, "account")
	s := perform(t, benchmark(t, "leaver", map[string]string{"cluster": `{ref: {name: account, allowPolicyChanges: true}}`,
		"rounds": "1", "order": "Sequential", "workloads": oneWrite}))
	s.waitFor("the first arm's policy", func(b *v1alpha1.GaleraBenchmark) bool {
		return b.Status.Override != nil && b.Status.Override.Replication == v1alpha1.TLSDisabled
	})
	s.nodes.refuse("shop-0: this member is not Primary")
	s.prove("account")
	b := s.waitFor("the reason", func(b *v1alpha1.GaleraBenchmark) bool {
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling)
		return c != nil && c.Reason == v1alpha1.ReasonPreparingAccess && strings.Contains(c.Message,
			"this member is not Primary")
	})
	if !b.Status.Resources.Account {
		t.Error("made before it was written down")
	}
	s.nodes.refuse("")
	name := benchjob.Account(b, "").Name()
	s.job("leaver-prepare-1")
	if s.nodes.hash(name) == "" {
		t.Error("a Job without an account")
	}
	s.stop()
	must(t, kube.Delete(context.Background(), s.get()))
	s.begin()
	eventually(t, "the cluster's own policy", func() bool {
		s.collect()
		return s.get().Status.Override == nil
	})
	s.prove("account")
	cleanup := s.job("leaver-cleanup-1")
	s.nodes.refuse("account-0: this member is not Primary")
	s.finish(cleanup, cleaned)
	s.waitFor("the reason", func(b *v1alpha1.GaleraBenchmark) bool {
		s.collect()
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling)
		return c != nil && strings.Contains(c.Message, "could not be dropped yet: account-0: this member is not Primary")
	})
	s.restart()
	s.nodes.refuse("")
	eventually(t, "the end of the benchmark", func() bool { s.collect(); return s.get() == nil })
	if s.nodes.hash(name) != "" {
		t.Error("the account is left")
	}
}

func (f *fakeNodes) EndPass(types.NamespacedName) {}

func (f *fakeNodes) Source() source.Source {
	return source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error { return nil })
}
