package clusterref

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// labelsHold is how long the labels of a namespace are taken for what they are: consent that is given or withdrawn by
// them has effect later by this time at most.
const labelsHold = time.Minute

// Labels are those of namespaces. They are read past the cache, which would watch all namespaces, once a minute at
// most. Safe for concurrent use.
type Labels struct {
	// Now is the clock.
	Now func() time.Time

	mu    sync.Mutex
	known map[string]labelled
}

type labelled struct {
	labels map[string]string
	found  bool
	until  time.Time
}

// get returns the labels of a namespace, and whether it exists.
func (l *Labels) get(ctx context.Context, live client.Reader, namespace string) (map[string]string, bool, error) {
	if l == nil {
		return read(ctx, live, namespace)
	}
	now := l.Now()
	if have, held := l.held(namespace, now); held {
		return have.labels, have.found, nil
	}
	labels, found, err := read(ctx, live, namespace)
	if err == nil {
		l.hold(namespace, labelled{labels, found, now.Add(labelsHold)})
	}
	return labels, found, err
}

func (l *Labels) held(namespace string, now time.Time) (labelled, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	have, ok := l.known[namespace]
	return have, ok && now.Before(have.until)
}

// hold keeps the labels of a namespace, and drops those that no longer hold.
func (l *Labels) hold(namespace string, have labelled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]labelled{}
	}
	for n, old := range l.known {
		if have.until.Sub(old.until) > labelsHold {
			delete(l.known, n)
		}
	}
	l.known[namespace] = have
}

func read(ctx context.Context, live client.Reader, namespace string) (map[string]string, bool, error) {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := live.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
		return nil, false, client.IgnoreNotFound(err)
	}
	return ns.Labels, true, nil
}
