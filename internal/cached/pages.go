package cached

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

const (
	// pageSize bounds what of a list is in memory before Bounded has seen it: an object may have 1 MiB.
	pageSize = 10
	// maxLists is how often a list is begun anew whose version the API server has forgotten in the middle.
	maxLists = 3
)

// NewInformer makes the informers of the cache. An API server that streams no lists sends all Secrets at once: those
// and ConfigMaps are listed in pages, and of each page only what Bounded keeps is kept.
func NewInformer(lw toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	switch of.(type) {
	case *corev1.Secret, *corev1.ConfigMap:
		lw = paged(lw)
	}
	return toolscache.NewSharedIndexInformer(lw, of, resync, indexers)
}

func paged(of toolscache.ListerWatcher) *toolscache.ListWatch {
	lw := toolscache.ToListerWatcherWithContext(of)
	return &toolscache.ListWatch{
		WatchFuncWithContext: lw.WatchWithContext,
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (list runtime.Object, err error) {
			for range maxLists {
				if list, err = whole(ctx, lw, options); !apierrors.IsResourceExpired(err) {
					break
				}
			}
			return list, err
		},
	}
}

// whole returns all pages of a list as one. The API server divides only a list of the latest version into pages.
func whole(ctx context.Context, lw toolscache.ListerWithContext, o metav1.ListOptions) (all runtime.Object, err error) {
	o.Limit, o.ResourceVersion, o.ResourceVersionMatch, o.Continue = pageSize, "", "", ""
	var secrets *corev1.SecretList
	var maps *corev1.ConfigMapList
	for {
		page, err := lw.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		switch l := page.(type) {
		case *corev1.SecretList:
			bound(l.Items)
			if secrets != nil {
				l.Items = append(secrets.Items, l.Items...)
			}
			secrets, all, o.Continue = l, l, l.Continue
		case *corev1.ConfigMapList:
			bound(l.Items)
			if maps != nil {
				l.Items = append(maps.Items, l.Items...)
			}
			maps, all, o.Continue = l, l, l.Continue
		default:
			return nil, fmt.Errorf("a list of Secrets or ConfigMaps arrived as %T", page)
		}
		if o.Continue == "" {
			return all, nil
		}
	}
}

var bounded = Bounded(cache.TransformStripManagedFields())

func bound[T any](items []T) {
	for i := range items {
		_, _ = bounded(&items[i]) // in place
	}
}
