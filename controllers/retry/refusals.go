package retry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/conditions"
)

const (
	// refusedInterval is how often a change that was refused is tried again: a policy or a quota that was changed sends
	// no event.
	refusedInterval = 30 * time.Second
	// maxRefusal bounds the part of a message that policies and webhooks write.
	maxRefusal = 1024
)

// Refusals are the changes of one controller that the API server, a quota or an admission policy refuses, by resource.
// Safe for concurrent use.
type Refusals struct {
	mu sync.Mutex
	of map[types.NamespacedName]refused
}

// refused is why a change is refused, and since when: conditions that a pass sets anew are the same in every pass. A
// reason that differs each time, as with the number of the request, was noted at a time: it is written as rarely as
// the change is tried.
type refused struct {
	why          string
	since, noted metav1.Time
}

// Report ends a pass: a refused change is reported by conditions of the resource, and is tried again at an interval. o
// is a copy of the resource as the pass has read it, with its conditions. kinds are conditions that are False while a
// change is refused.
func (r *Refusals) Report(ctx context.Context, c client.StatusClient, key types.NamespacedName, o client.Object,
	to *[]metav1.Condition, result reconcile.Result, err error, kinds ...string) (reconcile.Result, error) {
	why := refusal(err)
	ended := r.note(key, why)
	switch {
	case why == "" && ended && err == nil && o.GetUID() != "":
		result.RequeueAfter = time.Millisecond // the next pass removes the conditions
		return result, nil
	case why == "" || o.GetUID() == "":
		return result, err
	}
	before := append([]metav1.Condition(nil), *to...)
	r.Apply(o, to, kinds...)
	if !equality.Semantic.DeepEqual(before, *to) {
		if updateErr := c.Status().Update(ctx, o); updateErr != nil {
			return reconcile.Result{}, errors.Join(err, updateErr)
		}
	}
	return reconcile.Result{RequeueAfter: refusedInterval}, nil
}

// Apply sets the conditions of a resource of which a change is refused, and removes Stalled and Reconciling when none
// is any more and nothing has set them since. A pass calls it for what it is about to write, so that it does not report
// progress meanwhile.
func (r *Refusals) Apply(o client.Object, to *[]metav1.Condition, kinds ...string) {
	r.mu.Lock()
	now := r.of[client.ObjectKeyFromObject(o)]
	r.mu.Unlock()
	if now.why == "" {
		for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling} {
			if c := meta.FindStatusCondition(*to, kind); c != nil && c.Reason == v1alpha1.ReasonAdmissionRefused {
				meta.RemoveStatusCondition(to, kind)
			}
		}
		return
	}
	set := func(kind string, status metav1.ConditionStatus) {
		conditions.Set(to, metav1.Condition{Type: kind, Status: status, LastTransitionTime: now.since,
			Reason: v1alpha1.ReasonAdmissionRefused, Message: now.why, ObservedGeneration: o.GetGeneration()})
	}
	set(v1alpha1.ConditionStalled, metav1.ConditionTrue)
	for _, kind := range kinds {
		set(kind, metav1.ConditionFalse)
	}
	if meta.FindStatusCondition(*to, v1alpha1.ConditionReconciling) != nil {
		set(v1alpha1.ConditionReconciling, metav1.ConditionFalse)
	}
}

// note remembers why a change is refused, "" for not, and reports whether a refusal has ended.
func (r *Refusals) note(key types.NamespacedName, why string) (ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.of[key]
	if why == "" {
		delete(r.of, key)
		return known
	}
	if r.of == nil {
		r.of = map[types.NamespacedName]refused{}
	}
	now := metav1.Now().Rfc3339Copy()
	switch {
	case !known:
		r.of[key] = refused{why, now, now}
	case now.Sub(before.noted.Time) >= refusedInterval:
		r.of[key] = refused{why, before.since, now}
	}
	return false
}

// refusal explains an error that another attempt does not cure, "" for any other.
func refusal(err error) string {
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		return ""
	}
	text := err.Error()
	if len(text) > maxRefusal {
		text = strings.ToValidUTF8(text[:maxRefusal], "") + "…"
	}
	return fmt.Sprintf("the API server refuses a change for this resource: %s. Correct what it names: a policy, a quota "+
		"or a webhook; the change is tried again every %.0f seconds", text, refusedInterval.Seconds())
}
