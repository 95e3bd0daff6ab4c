// Package apply carries out actions: each function is one side effect, idempotent, and safe to
// repeat after a restart of the operator.
package apply

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/ownership"
)

// ErrNameTaken is returned by Objects.Apply when an object of that name exists and belongs to
// another owner, or has another purpose in the same cluster: it is never taken over.
type ErrNameTaken struct {
	Kind, Name string
	// Purpose is the object's, when it is one of the cluster.
	Purpose string
}

// Error names the object that has the name.
func (e ErrNameTaken) Error() string {
	if e.Purpose != "" {
		return fmt.Sprintf("the %s %q has another purpose in this cluster (%s=%s); choose another name in the spec", e.Kind,
			e.Name, v1alpha1.LabelPurpose, e.Purpose)
	}
	return fmt.Sprintf(
		"the %s %q exists and does not belong to this cluster; remove it, or choose another name for the cluster", e.Kind,
		e.Name)
}

// memory is how long an object is remembered at least that is not applied any more: the owner of every other one is
// reconciled far more often. Applying a forgotten object costs one request.
const memory = time.Hour

// Objects applies child objects by server-side apply, and remembers what it applied: an unchanged desired state of an
// unchanged object costs no request.
type Objects struct {
	Client client.Client
	// Live reads past the cache, which holds only labelled objects.
	Live client.Reader

	mu sync.Mutex
	// recent holds what was applied, or found unchanged, since turned; older holds the same of the period before.
	recent, older map[string]applied
	turned        time.Time
	now           func() time.Time
}

// applied is the desired state that was applied last, and the object it led to.
type applied struct{ desired, object string }

// Apply makes an object as wanted for a cluster. A desired state with a resource version is applied only while the
// object has it; otherwise the error is a conflict.
func (o *Objects) Apply(ctx context.Context, owner types.UID, want client.Object) error {
	return o.apply(ctx, owner, want, func() error { return nil })
}

// ApplyUnlessStale is Apply for what does harm when it was made from an old state of the cluster: before a change the
// cluster is read past the cache, and if it is another one by now the error is a conflict.
func (o *Objects) ApplyUnlessStale(ctx context.Context, c *v1alpha1.GaleraCluster, want client.Object) error {
	return o.apply(ctx, c.UID, want, func() error { return Unchanged(ctx, o.Live, c) })
}

// Unchanged returns a conflict unless the API server has the cluster as it was read. A cache may be of any age: after a
// start it is filled by an API server that may be behind.
func Unchanged(ctx context.Context, live client.Reader, read *v1alpha1.GaleraCluster) error {
	now := &v1alpha1.GaleraCluster{}
	err := live.Get(ctx, client.ObjectKeyFromObject(read), now)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the cluster %s past the cache: %w", read.Name, err)
	}
	if err != nil || now.UID != read.UID || now.ResourceVersion != read.ResourceVersion {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("galeraclusters").GroupResource(), read.Name,
			errors.New("it has changed since it was read"))
	}
	return nil
}

// apply asks mayChange before the request that changes the object.
func (o *Objects) apply(ctx context.Context, owner types.UID, want client.Object, mayChange func() error) error {
	u, err := ownership.Desired(want)
	if err != nil {
		return err
	}
	version := u.GetResourceVersion() // what was made from that version holds for no other
	u.SetResourceVersion("")
	desired, err := fingerprint(u.Object)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%s/%s/%s", u.GroupVersionKind(), u.GetNamespace(), u.GetName())
	have := want.DeepCopyObject().(client.Object)
	err = o.Client.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		err = o.refuseForeign(ctx, owner, want)
	case err != nil:
		err = fmt.Errorf("reading %s: %w", key, err)
	case o.unchanged(key, applied{desired, state(have)}):
		return nil
	default:
		err = o.mayTake(ctx, owner, want, have)
	}
	if err != nil {
		return err
	}
	if err := mayChange(); err != nil {
		return err
	}
	u.SetResourceVersion(version)
	if err := o.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(ownership.FieldOwner),
		client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s: %w", key, err)
	}
	o.remember(key, applied{desired, state(u)})
	return nil
}

// mayTake accepts an object that is ours. One that the owner does not control, or no longer, is taken over only while
// the owner lives.
func (o *Objects) mayTake(ctx context.Context, owner types.UID, want, have client.Object) error {
	if err := mustBeOurs(owner, want, have); err != nil {
		return err
	}
	for _, r := range want.GetOwnerReferences() {
		if !slices.ContainsFunc(have.GetOwnerReferences(), func(h metav1.OwnerReference) bool { return h.UID == r.UID }) {
			if err := ownership.Living(ctx, o.Live, want.GetNamespace(), r); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuseForeign looks past the cache for an object that is not ours.
func (o *Objects) refuseForeign(ctx context.Context, owner types.UID, want client.Object) error {
	have := &metav1.PartialObjectMetadata{}
	have.SetGroupVersionKind(want.GetObjectKind().GroupVersionKind())
	err := o.Live.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return o.mayTake(ctx, owner, want, have)
}

// mustBeOurs accepts what the cluster controls, and what was kept from an earlier cluster of its name, when it is
// there for the same purpose.
func mustBeOurs(owner types.UID, want, have client.Object) error {
	taken := ErrNameTaken{Kind: want.GetObjectKind().GroupVersionKind().Kind, Name: want.GetName()}
	controller := metav1.GetControllerOf(have)
	ours := controller != nil && controller.UID == owner
	kept := controller == nil && have.GetLabels()[v1alpha1.LabelCluster] == want.GetLabels()[v1alpha1.LabelCluster]
	if taken.Kind == "ServiceAccount" { // others may have given it rights: only one that was made for this very purpose
		kept = kept && have.GetLabels()[v1alpha1.LabelPurpose] != ""
	}
	if !ours && !kept {
		return taken
	}
	if purpose := have.GetLabels()[v1alpha1.LabelPurpose]; purpose != "" &&
		purpose != want.GetLabels()[v1alpha1.LabelPurpose] {
		taken.Purpose = purpose
		return taken
	}
	return nil
}

// unchanged reports whether this was applied last, and remembers that it is still in use.
func (o *Objects) unchanged(key string, now applied) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	last, ok := o.recent[key]
	if !ok {
		last = o.older[key]
	}
	if last != now {
		return false
	}
	o.keep(key, now)
	return true
}

func (o *Objects) remember(key string, a applied) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep(key, a)
}

// keep notes an object, and forgets those that were not in use for a whole period.
func (o *Objects) keep(key string, a applied) {
	now := time.Now
	if o.now != nil {
		now = o.now
	}
	if o.recent == nil || now().Sub(o.turned) > memory {
		o.recent, o.older, o.turned = map[string]applied{}, o.recent, now()
	}
	o.recent[key] = a
}

// state identifies what others could have changed of an object: the generation where the
// API server counts one, so that status updates do not matter, else the resource version.
func state(o client.Object) string {
	if g := o.GetGeneration(); g > 0 {
		meta, _ := fingerprint(map[string]any{"l": o.GetLabels(), "a": o.GetAnnotations(), "o": o.GetOwnerReferences(),
			"u": o.GetUID()})
		return fmt.Sprintf("%d/%s", g, meta)
	}
	return o.GetResourceVersion()
}

func fingerprint(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(b)), nil
}
