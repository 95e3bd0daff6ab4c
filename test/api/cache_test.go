package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// cacheOf keeps operators of different tests apart.
func cacheOf(namespace string) cache.Options {
	return cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}}
}

func quantity(s string) resource.Quantity { return resource.MustParse(s) }
