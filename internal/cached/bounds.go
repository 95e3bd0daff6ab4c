package cached

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	// maxData is more than any Secret or ConfigMap of a cluster holds. Anyone who may create one with the label of a
	// cluster could otherwise fill the operator's memory.
	maxData = 64 << 10
	// maxAnnotation is the longest annotation that is kept of those that are not the operator's.
	maxAnnotation = 1 << 10
)

// Bounded is a transform that keeps no data beyond what a cluster needs, and no long annotations of others. An object
// with more data keeps its metadata and the annotation AnnotationTooLarge. next is done before.
func Bounded(next toolscache.TransformFunc) toolscache.TransformFunc {
	return func(o any) (any, error) {
		o, err := next(o)
		if err != nil {
			return nil, err
		}
		object, is := o.(client.Object)
		if !is {
			return o, nil // the mark of a missed deletion
		}
		clip(object.GetAnnotations())
		switch s := o.(type) {
		case *corev1.Secret:
			if sizeOf(s.Data) > maxData {
				s.Data = nil
				mark(s)
			}
		case *corev1.ConfigMap:
			if sizeOf(s.Data)+sizeOf(s.BinaryData) > maxData {
				s.Data, s.BinaryData = nil, nil
				mark(s)
			}
		}
		return o, nil
	}
}

// clip leaves out long annotations, such as kubectl's record of what was applied.
func clip(all map[string]string) {
	for key, value := range all {
		if len(value) > maxAnnotation && !strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/") {
			delete(all, key)
		}
	}
}

func mark(o client.Object) {
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[v1alpha1.AnnotationTooLarge] = "true"
	o.SetAnnotations(all)
}

func sizeOf[T string | []byte](data map[string]T) (n int) {
	for key, value := range data {
		n += len(key) + len(value)
	}
	return n
}
