// Package undecodable keeps one object that the operator cannot decode, because it was written under a wider schema,
// from failing the list or the watch that it is a part of. The object is left out of the cache and named: reads of it
// fail with the reason, so that it is never taken for one that does not exist.
package undecodable

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Key names an object.
type Key struct {
	Kind schema.GroupVersionKind
	types.NamespacedName
}

// Error is the answer to a read of an object that cannot be decoded.
type Error struct {
	Key
	Cause error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %s cannot be decoded: %v", e.Kind.Kind, e.NamespacedName, e.Cause)
}

func (e *Error) Unwrap() error { return e.Cause }

// Objects are those that could not be decoded when they were last seen. The zero value is ready for use.
type Objects struct {
	mu   sync.Mutex
	all  map[Key]error
	news chan struct{}
}

var total = prometheus.NewDesc("galera_operator_undecodable_objects",
	"Objects that the operator cannot decode and leaves alone, by kind; its log and their conditions name them.",
	[]string{"kind"}, nil)

// Describe implements prometheus.Collector.
func (o *Objects) Describe(ch chan<- *prometheus.Desc) { ch <- total }

// Collect implements prometheus.Collector.
func (o *Objects) Collect(ch chan<- prometheus.Metric) {
	kinds := map[string]int{}
	for _, e := range o.List() {
		kinds[e.Kind.Kind]++
	}
	for kind, n := range kinds {
		ch <- prometheus.MustNewConstMetric(total, prometheus.GaugeValue, float64(n), kind)
	}
}

// List returns all of them, in order.
func (o *Objects) List() []*Error {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]*Error, 0, len(o.all))
	for k, cause := range o.all {
		out = append(out, &Error{Key: k, Cause: cause})
	}
	slices.SortFunc(out, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), cmp.Compare(a.String(), b.String()))
	})
	return out
}

// check returns the error of one object, of any in a namespace if the name is empty, or of any at all if both are.
func (o *Objects) check(kind schema.GroupVersionKind, key types.NamespacedName) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 {
		return nil
	}
	for k, cause := range o.all {
		if k.Kind == kind && (key.Namespace == "" || k.Namespace == key.Namespace) && (key.Name == "" || k.Name == key.Name) {
			return &Error{Key: k, Cause: cause}
		}
	}
	return nil
}

// seen records whether an object could be decoded.
func (o *Objects) seen(k Key, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if cause == nil {
		delete(o.all, k)
		return
	}
	if o.all == nil {
		o.all = map[Key]error{}
	}
	before := o.all[k]
	o.all[k] = cause
	if before == nil || before.Error() != cause.Error() {
		o.wake()
	}
}

// only forgets the objects of a kind, in one namespace or in all, that are not in a whole list.
func (o *Objects) only(kind schema.GroupVersionKind, namespace string, bad map[Key]error) {
	o.mu.Lock()
	maps.DeleteFunc(o.all, func(k Key, _ error) bool {
		return k.Kind == kind && (namespace == "" || k.Namespace == namespace) && bad[k] == nil
	})
	o.mu.Unlock()
}

// changed is signalled when there is another one.
func (o *Objects) changed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.channel()
	return o.news
}

func (o *Objects) channel() {
	if o.news == nil {
		o.news = make(chan struct{}, 1)
	}
}

func (o *Objects) wake() {
	o.channel()
	select {
	case o.news <- struct{}{}:
	default:
	}
}
