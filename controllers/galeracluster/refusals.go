package galeracluster

import (
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// refusals remember since when the API server refuses writes for a cluster that may still succeed: such a write is
// tried again all the time, and it is reported when it has not helped for reportDelay. The zero value is ready for use.
type refusals struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// note takes what came of a pass's writes, and returns the problem to report, nil when there is none.
func (r *refusals) note(key types.NamespacedName, err error, now time.Time) *validate.Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	refused := refusedWrite(err)
	if refused == nil {
		delete(r.since, key)
		return nil
	}
	if r.since == nil {
		r.since = map[types.NamespacedName]time.Time{}
	}
	since, known := r.since[key]
	if !known {
		since, r.since[key] = now, now
	}
	if now.Sub(since) < reportDelay {
		return nil
	}
	return &validate.Problem{Reason: v1alpha1.ReasonAdmissionRefused, Blocked: true, Message: fmt.Sprintf(
		"for more than %.0f seconds the API server has refused a change for this cluster: %s. Correct what it names: a "+
			"quota, a range of addresses that is used up, a policy, "+
			"or a webhook that does not answer; the change is tried again meanwhile", reportDelay.Seconds(), refused)}
}

func (r *refusals) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.since, key)
}

// refusedWrite finds the first answer of the API server that is neither a lost race nor a word about its own load.
func refusedWrite(err error) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			if refused := refusedWrite(e); refused != nil {
				return refused
			}
		}
		return nil
	}
	var answer apierrors.APIStatus
	switch {
	case !errors.As(err, &answer):
		return nil // it was not reached
	case apierrors.IsConflict(err), apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err),
		apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err):
		return nil
	}
	return err
}
