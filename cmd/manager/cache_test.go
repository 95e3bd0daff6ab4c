package main

import (
	"reflect"
	"testing"

	"github.com/galera-operator/galera-operator/internal/cached"
)

// TestTheCacheListsInPages: large Secrets of strangers are in memory only a page at a time.
func TestTheCacheListsInPages(t *testing.T) {
	of := reflect.ValueOf(cacheOptions(&options{}).NewInformer)
	if of.IsNil() || of.Pointer() != reflect.ValueOf(cached.NewInformer).Pointer() {
		t.Error("the cache makes informers that take whole lists")
	}
}
