package galerabenchmark

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/bench/job"
	"github.com/galera-operator/galera-operator/internal/bench/plan"
)

// suffixLength makes names that cannot be guessed: 50 bits.
const suffixLength = 10

// accessRetryInterval is the interval at which what a Job waits for is checked.
const accessRetryInterval = 5 * time.Second

// chooseSuffix writes down, before anything is made, what the names of all that is made for the Jobs end with. A
// benchmark that is over, or being deleted, and has none has made nothing.
func (r *Reconciler) chooseSuffix(ctx context.Context, b *v1alpha1.GaleraBenchmark) (chosen bool, err error) {
	if b.Status.Resources != nil || b.Status.CompletedAt != nil || b.DeletionTimestamp != nil {
		return false, nil
	}
	next := b.DeepCopy()
	next.Status.Resources = &v1alpha1.BenchmarkResources{Suffix: strings.ToLower(rand.Text()[:suffixLength])}
	return true, r.Status().Update(ctx, next)
}

// readied looks, before a Job is begun, whether all it needs is there, and makes its account; and it drops the account
// before that is written down as done. What it waits for takes the place of the decision, and is reported.
func (r *Reconciler) readied(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts, d plan.Decision) (
	plan.Decision, error) {
	switch a := d.Action.(type) {
	case plan.StartJob:
		if b.Status.Resources == nil || !b.Status.Resources.Account {
			return d, nil // is written down first
		}
		err := r.parts().foreignObjects(ctx, b, a)
		if foreign := (apply.ErrForeign{}); errors.As(err, &foreign) {
			return waitFor(d, v1alpha1.ReasonNameConflict, foreign.Error(), true), nil
		}
		if err != nil {
			return d, err
		}
		return r.access(ctx, b, seen, d)
	case plan.DropAccount:
		if err := r.Nodes.KeepAccount(ctx, client.ObjectKeyFromObject(b), seen.Cluster, job.NoAccount(b)); err != nil {
			return notYet(d, v1alpha1.ReasonCleaningUp, "the benchmark's account in the database could not be dropped yet: ", err)
		}
	}
	return d, nil
}

// access is a Job's way into the database: the cluster knows the CA of its certificate, and the account is there.
func (r *Reconciler) access(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts, d plan.Decision) (
	plan.Decision, error) {
	if plan.ClientsUseTLS(plan.InForce(seen.Benchmark, seen.Cluster)) {
		why, err := r.Nodes.TrustClients(ctx, seen.Cluster)
		if err != nil {
			return d, err
		}
		if why != "" {
			return waitFor(d, v1alpha1.ReasonPreparingAccess, "waiting until the nodes trust the clients' CA: "+why, false), nil
		}
	}
	password, err := r.parts().accountPassword(ctx, b)
	if err != nil {
		return d, err
	}
	if err := r.Nodes.KeepAccount(ctx, client.ObjectKeyFromObject(b), seen.Cluster, job.Account(b,
		password)); err != nil {
		return notYet(d, v1alpha1.ReasonPreparingAccess, "the Jobs' account in the database could not be made yet: ", err)
	}
	return d, nil
}

// notYet reports why a request to a node failed, which is made again; a late answer is waited for without a report.
func notYet(d plan.Decision, reason, message string, err error) (plan.Decision, error) {
	if calls.Quiet(err) {
		return d, err
	}
	return waitFor(d, reason, message+err.Error(), false), nil
}

// waitFor takes the place of a decision whose action cannot be carried out yet.
func waitFor(d plan.Decision, reason, message string, stalled bool) plan.Decision {
	d.Action, d.Reason, d.Message, d.Again = nil, reason, message, accessRetryInterval
	d.Stalled = d.Stalled || stalled
	return d
}

// parts are the objects that a benchmark's Jobs need: access, keys, servers and proxies their connections go through.
type parts struct {
	client.Client
	Live client.Reader
}

func (r *Reconciler) parts() parts { return parts{r.Client, r.Live} }

// foreignObjects returns apply.ErrForeign for the first object of those a Job needs that belongs to another owner.
func (own parts) foreignObjects(ctx context.Context, b *v1alpha1.GaleraBenchmark, a plan.StartJob) error {
	name := plan.Name(b.Name, a.Wire)
	at := metav1.ObjectMeta{Namespace: b.Namespace, Name: name}
	wanted := append(job.Access(b, name), &corev1.ConfigMap{ObjectMeta: at}, &batchv1.Job{ObjectMeta: at},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: job.AccountName(b)}})
	for _, o := range append(wanted, job.Parts(b, name)...) {
		if _, err := apply.Theirs(ctx, own.Client, own.Live, b.UID, o); err != nil {
			return err
		}
	}
	return nil
}

// makeAccess makes what lets a Job write its result, and where clients speak TLS their certificate.
func (own parts) makeAccess(ctx context.Context, b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster,
	output string) error {
	objects := job.Access(b, output)
	if plan.ClientsUseTLS(plan.InForce(b, c)) {
		objects = append(objects, job.Certificate(b, c))
	}
	for _, o := range objects {
		if err := apply.Own(ctx, own.Client, own.Live, b.UID, o); err != nil {
			return err
		}
	}
	return nil
}

// accountPassword reads the password of the Jobs' account, which is made once.
func (own parts) accountPassword(ctx context.Context, b *v1alpha1.GaleraBenchmark) (string, error) {
	if err := apply.Keep(ctx, own.Client, own.Live, b.UID, job.AccountSecret(b, rand.Text())); err != nil {
		return "", err
	}
	have := &corev1.Secret{}
	if err := own.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: job.AccountName(b)}, have); err != nil {
		return "", err
	}
	password := string(have.Data[job.PasswordKey])
	if password == "" {
		return "", fmt.Errorf("the Secret %q has no %s; delete it, and it is made anew", have.Name, job.PasswordKey)
	}
	return password, nil
}
