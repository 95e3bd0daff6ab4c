package harness

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// apiPatience is how long a busy API server is asked again. It is not what is tested.
	apiPatience = 15 * time.Second
	apiPause    = 200 * time.Millisecond
)

// patientClient asks a busy API server again: reads and patches always, a creation only when it was refused.
type patientClient struct{ client.Client }

// Get implements client.Reader.
func (c patientClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return askAgain(ctx, busy, func() error { return c.Client.Get(ctx, key, o, opts...) })
}

// List implements client.Reader.
func (c patientClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return askAgain(ctx, busy, func() error { return c.Client.List(ctx, list, opts...) })
}

// Patch implements client.Writer.
func (c patientClient) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	return askAgain(ctx, busy, func() error { return c.Client.Patch(ctx, o, p, opts...) })
}

// Create implements client.Writer.
func (c patientClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return askAgain(ctx, refused, func() error { return c.Client.Create(ctx, o, opts...) })
}

// askAgain does something until it fails in no way that passes by itself.
func askAgain(ctx context.Context, passes func(error) bool, do func() error) error {
	for end := time.Now().Add(apiPatience); ; pause(ctx, apiPause) {
		err := do()
		if err == nil || !passes(err) || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}

// busy reports whether a request failed only because of the load at that moment; it may have been carried out.
func busy(err error) bool {
	return refused(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err) ||
		utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// refused reports whether a request failed only because of the load at that moment, and was not carried out.
func refused(err error) bool {
	webhook := apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
	return webhook || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		utilnet.IsConnectionRefused(err)
}
