package harness

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// failing fails as it is asked to, once for each error, and then succeeds.
type failing struct {
	client.Client
	errs  []error
	calls int
}

func (f *failing) next() error {
	f.calls++
	if f.calls > len(f.errs) {
		return nil
	}
	return f.errs[f.calls-1]
}

func (f *failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.next()
}

func (f *failing) Create(context.Context, client.Object, ...client.CreateOption) error {
	return f.next()
}

func TestPatientClient(t *testing.T) {
	slow := apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	webhook := apierrors.NewInternalError(errors.New(`failed calling webhook "cert-manager": deadline exceeded`))
	full := apierrors.NewTooManyRequests("busy", 0)
	down := fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "shop-0")
	get := func(c client.Client) error { return c.Get(t.Context(), client.ObjectKey{}, &corev1.Pod{}) }
	create := func(c client.Client) error { return c.Create(t.Context(), &corev1.Pod{}) }
	for name, c := range map[string]struct {
		do    func(client.Client) error
		errs  []error
		calls int
		want  error
	}{
		"a read is repeated":                       {get, []error{slow, full, down}, 4, nil},
		"what is not there is reported at once":    {get, []error{gone}, 1, gone},
		"a creation that was refused is repeated":  {create, []error{webhook, full, down}, 4, nil},
		"one that may have happened is not":        {create, []error{slow}, 1, slow},
		"a read is repeated until it is not there": {get, []error{slow, gone}, 2, gone},
	} {
		f := &failing{errs: c.errs}
		if err := c.do(patientClient{f}); !errors.Is(err, c.want) || f.calls != c.calls {
			t.Errorf("%s: %d calls, %v", name, f.calls, err)
		}
	}
}
