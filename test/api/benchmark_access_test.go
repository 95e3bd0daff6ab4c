package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	benchobjects "github.com/galera-operator/galera-operator/internal/bench/objects"
)

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
			at.Name = benchobjects.RunnerName(b)
			return &corev1.ServiceAccount{ObjectMeta: at}
		},
		"role": func(b *v1alpha1.GaleraBenchmark, at metav1.ObjectMeta) client.Object {
			at.Name = benchobjects.RunnerName(b)
			return &rbacv1.Role{ObjectMeta: at, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"},
				Verbs: []string{"list"}}}}
		},
		"user": func(b *v1alpha1.GaleraBenchmark, at metav1.ObjectMeta) client.Object {
			at.Name = benchobjects.AccountName(b)
			return &v1alpha1.GaleraUser{ObjectMeta: at, Spec: v1alpha1.GaleraUserSpec{
				ClusterRef: v1alpha1.ClusterReference{Name: "others"}}}
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
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: benchobjects.ProxyName(job.Name)}}
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
		pod.ServiceAccountName != benchobjects.RunnerName(b) {
		t.Errorf("every container has the token of %q", pod.ServiceAccountName)
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		holds := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "token" })
		if holds != (c.Name == benchobjects.ClientContainer) {
			t.Errorf("%s has a token: %t", c.Name, holds)
		}
	}
	key := client.ObjectKey{Namespace: home(t), Name: benchobjects.RunnerName(b)}
	role, account, certificate := &rbacv1.Role{}, &v1alpha1.GaleraUser{}, &v1alpha1.GaleraUser{}
	must(t, kube.Get(ctx, key, role))
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"},
		ResourceNames: []string{job.Name}, Verbs: []string{"patch"}}}
	if !equality.Semantic.DeepEqual(role.Rules, want) {
		t.Errorf("rights: %+v", role.Rules)
	}
	of := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: home(t), Name: name} }
	must(t, kube.Get(ctx, of(benchobjects.AccountName(b)), account))
	for _, g := range account.Spec.Grants {
		if !strings.HasSuffix(g.Database, benchobjects.Suffix(b)) || g.WithGrantOption {
			t.Errorf("rights on what is not the benchmark's: %+v", g)
		}
	}
	must(t, kube.Get(ctx, of(benchobjects.CertificateName(b)), certificate))
	if s := certificate.Spec; s.Require != v1alpha1.RequireX509 || !s.Authentication.None || len(s.Grants) != 0 {
		t.Errorf("the certificate has an account with rights: %+v", s)
	}
	for _, o := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.RoleBinding{}} {
		must(t, kube.Get(ctx, key, o))
		if !metav1.IsControlledBy(o, b) {
			t.Errorf("%T outlives the benchmark", o)
		}
	}
	for _, o := range []client.Object{role, account, certificate} {
		if !metav1.IsControlledBy(o, b) {
			t.Errorf("%T outlives the benchmark", o)
		}
	}
}

// TestBenchmarkDropsItsAccount on a cluster that is not its own: the cluster takes no changes for a while, the operator
// is killed, and in the end it is gone.
func TestBenchmarkDropsItsAccount(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	existingCluster(t, "account")
	s := perform(t, benchmark(t, "leaver", map[string]string{"cluster": `{ref: {name: account}}`, "rounds": "1",
		"workloads": oneWrite}))
	s.refusal = "the cluster takes no changes"
	s.prove("account")
	waits := func(reason, text string) func(*v1alpha1.GaleraBenchmark) bool {
		return func(b *v1alpha1.GaleraBenchmark) bool {
			s.collect()
			c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling)
			return c != nil && c.Reason == reason && strings.Contains(c.Message, text)
		}
	}
	b := s.waitFor("the reason", waits(v1alpha1.ReasonPreparingAccess, "cluster takes no changes"))
	s.refusal = ""
	s.job("leaver-prepare-1")
	account, database := &v1alpha1.GaleraUser{}, &v1alpha1.GaleraDatabase{}
	must(t, kube.Get(ctx, client.ObjectKey{Namespace: home(t), Name: benchobjects.AccountName(b)}, account))
	must(t, kube.Get(ctx, client.ObjectKey{Namespace: home(t), Name: "bench-1x10-" + benchobjects.Suffix(b)}, database))
	if len(account.Spec.Grants) != 1 || account.Spec.Grants[0].Database != database.DatabaseName() ||
		database.Spec.DeletionPolicy != v1alpha1.AccountDelete || account.Spec.DeletionPolicy != v1alpha1.AccountDelete {
		t.Errorf("got %+v, %+v", account.Spec, database.Spec)
	}
	account.Finalizers = append(account.Finalizers, "test/held")
	must(t, kube.Update(ctx, account))
	s.stop()
	must(t, kube.Delete(ctx, s.get()))
	s.begin()
	s.waitFor("the account", waits(v1alpha1.ReasonCleaningUp, "GaleraUser "+account.Name))
	s.restart()
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(account), account))
	account.Finalizers = nil
	must(t, kube.Update(ctx, account))
	eventually(t, "the end of the benchmark", func() bool { s.collect(); return s.get() == nil })
	if !gone(account) || !gone(database) {
		t.Error("the account or its database is left")
	}
}
