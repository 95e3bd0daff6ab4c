package controllers

import (
	"math/rand/v2"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// firstRetry after an error, which doubles up to mostRetry. Beside an error no other time can be asked for, so that
	// mostRetry is no longer than the shortest wait a pass asks for without one.
	firstRetry = 50 * time.Millisecond
	mostRetry  = whileWaiting
)

// backOff is when what failed is tried again: soon, however long it has been failing, because the error of one part says
// nothing about the others, and a database may wait for them.
type backOff struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

func newBackOff() workqueue.TypedRateLimiter[reconcile.Request] {
	return backOff{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, mostRetry)}
}

// When implements workqueue.TypedRateLimiter. Clusters that fail for one reason are not tried all at once.
func (b backOff) When(item reconcile.Request) time.Duration {
	d := b.TypedRateLimiter.When(item)
	return d - rand.N(d/5+1)
}
