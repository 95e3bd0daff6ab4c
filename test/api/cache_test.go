package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/galera-operator/galera-operator/internal/cached"
)

// cacheOf keeps operators of different tests apart. Their caches hold no more of objects than the operator's does.
func cacheOf(namespace string) cache.Options {
	return cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}, ByObject: cached.ByObject()}
}

func quantity(s string) resource.Quantity { return resource.MustParse(s) }
