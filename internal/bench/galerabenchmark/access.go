package galerabenchmark

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/ownership"
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

// readied looks, before a Job is begun, whether all it needs is there, and makes its users and databases. What it waits
// for takes the place of the decision, and is reported.
func (r *Reconciler) readied(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts,
	d experiment.Decision) (experiment.Decision, error) {
	a, starts := d.Action.(experiment.StartJob)
	if !starts {
		return d, nil
	}
	err := r.parts().foreignObjects(ctx, b, a)
	for _, o := range objects.Accounts(b, seen.Cluster) {
		if err != nil {
			break
		}
		err = ownership.Keep(ctx, r.Client, r.Live, b.UID, o) // what they are never changes
	}
	if foreign := (ownership.ErrForeign{}); errors.As(err, &foreign) {
		return waitFor(d, v1alpha1.ReasonNameConflict, foreign.Error(), true), nil
	}
	if err != nil {
		return d, err
	}
	why, err := r.parts().unready(ctx, objects.Accounts(b, seen.Cluster))
	if err != nil {
		return d, err
	}
	if why != "" {
		return waitFor(d, v1alpha1.ReasonPreparingAccess, "waiting for the Jobs' access to the database: "+why, false), nil
	}
	_, ref := experiment.Through(a.Run.Cell.Workload)
	if ref == nil || a.Wire.Kind != a.Run.Cell.Kind {
		return d, nil
	}
	p, err := r.parts().proxyProblem(ctx, b, ref.Name)
	if err != nil || p.message == "" {
		return d, err
	}
	return waitFor(d, p.reason, p.message, p.stalled), nil
}

// unready returns which of the users and databases is not Ready, and why; "" when all are.
func (own parts) unready(ctx context.Context, wanted []client.Object) (string, error) {
	for _, o := range wanted {
		if err := own.Live.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return "", err
		}
		if a := account(o); a.Message != "" {
			return a.Name + ": " + a.Message, nil
		}
	}
	return "", nil
}

// accountObjects are the users and databases that there are of a benchmark.
func (own parts) accountObjects(ctx context.Context, b *v1alpha1.GaleraBenchmark) (out []client.Object, err error) {
	users, databases := &v1alpha1.GaleraUserList{}, &v1alpha1.GaleraDatabaseList{}
	of := []client.ListOption{client.InNamespace(b.Namespace), client.MatchingLabels{v1alpha1.LabelBenchmark: b.Name}}
	if err := errors.Join(own.List(ctx, users, of...), own.List(ctx, databases, of...)); err != nil {
		return nil, err
	}
	for i := range users.Items {
		out = append(out, &users.Items[i])
	}
	for i := range databases.Items {
		out = append(out, &databases.Items[i])
	}
	return slices.DeleteFunc(out, func(o client.Object) bool { return !metav1.IsControlledBy(o, b) }), nil
}

// accounts describes them.
func (own parts) accounts(ctx context.Context, b *v1alpha1.GaleraBenchmark) (out []experiment.Account, err error) {
	all, err := own.accountObjects(ctx, b)
	for _, o := range all {
		out = append(out, account(o))
	}
	return out, err
}

// account describes a user or a database.
func account(o client.Object) experiment.Account {
	a := experiment.Account{Name: "GaleraUser " + o.GetName(), Going: o.GetDeletionTimestamp() != nil}
	var conditions []metav1.Condition
	var observed int64
	switch o := o.(type) {
	case *v1alpha1.GaleraUser:
		conditions, observed = o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.GaleraDatabase:
		a.Name = "GaleraDatabase " + o.Name
		conditions, observed = o.Status.Conditions, o.Status.ObservedGeneration
	}
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil || observed != o.GetGeneration():
		a.Message = "the operator has not seen it yet"
	case ready.Status != metav1.ConditionTrue:
		a.Message = ready.Reason + ": " + ready.Message
	}
	return a
}

// dropAccounts deletes the Jobs' users and databases.
func (own parts) dropAccounts(ctx context.Context, b *v1alpha1.GaleraBenchmark) error {
	all, err := own.accountObjects(ctx, b)
	for _, o := range all {
		err = errors.Join(err, ownership.Remove(ctx, own.Client, own.Live, b.UID, o))
	}
	return err
}

// waitFor takes the place of a decision whose action cannot be carried out yet.
func waitFor(d experiment.Decision, reason, message string, stalled bool) experiment.Decision {
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

// foreignObjects returns ownership.ErrForeign for the first object of those a Job needs that belongs to another owner.
func (own parts) foreignObjects(ctx context.Context, b *v1alpha1.GaleraBenchmark, a experiment.StartJob) error {
	name := experiment.Name(b.Name, a.Wire)
	at := metav1.ObjectMeta{Namespace: b.Namespace, Name: name}
	wanted := append(objects.Access(b, name), &corev1.ConfigMap{ObjectMeta: at}, &batchv1.Job{ObjectMeta: at})
	for _, o := range append(wanted, objects.Parts(b, name)...) {
		if _, err := ownership.Theirs(ctx, own.Client, own.Live, b.UID, o); err != nil {
			return err
		}
	}
	return nil
}

// apply makes objects what they are to be.
func (own parts) apply(ctx context.Context, b *v1alpha1.GaleraBenchmark, wanted []client.Object) error {
	for _, o := range wanted {
		if err := ownership.Own(ctx, own.Client, own.Live, b.UID, o); err != nil {
			return err
		}
	}
	return nil
}

// accountPassword reads the password of the Jobs' account.
func (own parts) accountPassword(ctx context.Context, b *v1alpha1.GaleraBenchmark) (string, error) {
	name := objects.BindingName(objects.AccountName(b))
	have := &corev1.Secret{}
	if err := own.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, have); err != nil {
		return "", err
	}
	password := string(have.Data[objects.PasswordKey])
	if password == "" {
		return "", fmt.Errorf("the Secret %q has no %s", name, objects.PasswordKey)
	}
	return password, nil
}
