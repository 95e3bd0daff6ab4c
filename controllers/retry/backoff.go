// Package retry decides when a failed reconciliation is repeated.
package retry

import (
	"math/rand/v2"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// initialDelay is the pause after an error, which doubles up to MaxDelay. With an error no other time can be asked
	// for, so that MaxDelay is no longer than the shortest wait a pass asks for without one.
	initialDelay = 50 * time.Millisecond
	// MaxDelay is the longest pause.
	MaxDelay = 5 * time.Second
)

// backOff is when what failed is tried again: shortly, however long it has been failing, because the error of one part
// is no evidence about the others, and a database may wait for them.
type backOff struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

// BackOff returns the rate limiter of every controller.
func BackOff() workqueue.TypedRateLimiter[reconcile.Request] {
	return backOff{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](initialDelay, MaxDelay)}
}

// When implements workqueue.TypedRateLimiter. Clusters that fail for one reason are not tried all at once.
func (b backOff) When(item reconcile.Request) time.Duration {
	d := b.TypedRateLimiter.When(item)
	return d - rand.N(d/5+1)
}
