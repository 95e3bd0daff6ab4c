package retry

import (
	"time"

	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/galera-operator/galera-operator/controllers/calls"
)

// OnlyConflicts reports whether err is not nil and holds nothing but lost races.
func OnlyConflicts(err error) bool {
	if err == nil {
		return false
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return apierrors.IsConflict(err)
	}
	return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !OnlyConflicts(e) })
}

// afterConflict is how long a change needs to come back through the cache.
const afterConflict = 100 * time.Millisecond

// Pass returns the result of a pass that is repeated after some time: a lost race is no error, and neither is an answer
// that has not arrived yet.
func Pass(again time.Duration, err error) (reconcile.Result, error) {
	switch {
	case OnlyConflicts(err):
		return reconcile.Result{RequeueAfter: afterConflict}, nil
	case calls.Quiet(err):
		return reconcile.Result{RequeueAfter: calls.Slow}, nil // the answer itself ends the wait
	case err != nil:
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, nil
}
