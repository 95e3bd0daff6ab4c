package clone

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// asking is a cluster in the namespace dev that is to be a clone of prod/shop.
func asking() *v1alpha1.GaleraCluster {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "copy", UID: "u1"}}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{Cluster: &v1alpha1.BootstrapCluster{Name: "shop", Namespace: "prod",
		StoreRef: v1alpha1.LocalName{Name: "own"}}}
	return c
}

func TestAdmits(t *testing.T) {
	for name, tc := range map[string]struct {
		allowed []string
		from    string
		want    bool
	}{
		"its own namespace":            {nil, "prod", true},
		"a namespace that is reported": {[]string{"x", "dev"}, "dev", true},
		"another one":                  {[]string{"dev"}, "dev2", false},
		"nothing is said":              {nil, "dev", false},
		"a star is a name":             {[]string{"*"}, "dev", false},
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}}
		c.Spec.AllowedCloneNamespaces = tc.allowed
		if got := Admits(c, tc.from); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if Admits(nil, "dev") {
		t.Error("a cluster that does not exist admits")
	}
}

// TestFits: nothing but the very backup that the operator makes for a clone reaches into another namespace.
func TestFits(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.GaleraBackup, *v1alpha1.GaleraCluster)
		want   bool
	}{
		"as it is made": {func(*v1alpha1.GaleraBackup, *v1alpha1.GaleraCluster) {}, true},
		"without an owner": {func(b *v1alpha1.GaleraBackup, _ *v1alpha1.GaleraCluster) { b.OwnerReferences = nil },
			false},
		"not controlled": {func(b *v1alpha1.GaleraBackup,
			_ *v1alpha1.GaleraCluster) {
			b.OwnerReferences[0].Controller = nil
		}, false},
		"of another kind": {func(b *v1alpha1.GaleraBackup,
			_ *v1alpha1.GaleraCluster) {
			b.OwnerReferences[0].Kind = "Job"
		}, false},
		"of another group's kind": {func(b *v1alpha1.GaleraBackup, _ *v1alpha1.GaleraCluster) {
			b.OwnerReferences[0].APIVersion = "another.io/v1"
		}, false},
		"of an earlier one": {func(b *v1alpha1.GaleraBackup,
			_ *v1alpha1.GaleraCluster) {
			b.OwnerReferences[0].UID = "u0"
		}, false},
		"of another name":      {func(b *v1alpha1.GaleraBackup, _ *v1alpha1.GaleraCluster) { b.Name = "mine" }, false},
		"of another namespace": {func(b *v1alpha1.GaleraBackup, _ *v1alpha1.GaleraCluster) { b.Namespace = "dev2" }, false},
		"into another store": {func(b *v1alpha1.GaleraBackup, _ *v1alpha1.GaleraCluster) { b.Spec.StoreRef.Name = "mine" },
			false},
		"of another cluster": {func(b *v1alpha1.GaleraBackup,
			_ *v1alpha1.GaleraCluster) {
			b.Spec.ClusterRef.Name = "bank"
		}, false},
		"of one elsewhere": {func(b *v1alpha1.GaleraBackup,
			_ *v1alpha1.GaleraCluster) {
			b.Spec.ClusterRef.Namespace = "bank"
		}, false},
		"of one here": {func(b *v1alpha1.GaleraBackup,
			_ *v1alpha1.GaleraCluster) {
			b.Spec.ClusterRef.Namespace = ""
		}, false},
		"of one that asks for a store": {func(_ *v1alpha1.GaleraBackup, c *v1alpha1.GaleraCluster) {
			c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{Store: &v1alpha1.BootstrapStore{Name: "own"}}
		}, false},
		"of one that asks for nothing": {func(_ *v1alpha1.GaleraBackup,
			c *v1alpha1.GaleraCluster) {
			c.Spec.BootstrapFrom = nil
		}, false},
		"of one that has started": {func(_ *v1alpha1.GaleraBackup,
			c *v1alpha1.GaleraCluster) {
			c.Status.ClusterUUID = "h"
		}, false},
	} {
		c := asking()
		b := Backup(c)
		tc.change(b, c)
		if got := Fits(b, c); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if Fits(Backup(asking()), nil) {
		t.Error("no clone asks")
	}
	own := asking()
	own.Spec.BootstrapFrom.Cluster.Namespace = "" // its own is the default
	b := Backup(own)
	b.Spec.ClusterRef.Namespace = "dev"
	if !Fits(b, own) {
		t.Error("its own namespace, named and not named, is the same")
	}
}

// TestBackup: it goes with the clone, its data go with it, and it is read as slowly as was asked for.
func TestBackup(t *testing.T) {
	c := asking()
	c.Spec.BootstrapFrom.Cluster.RateLimit = new(resource.MustParse("5Mi"))
	b := Backup(c)
	if b.Spec.DeletionPolicy != v1alpha1.BackupDelete || Owner(b).UID != c.UID || b.Namespace != c.Namespace ||
		b.Spec.RateLimit.String() != "5Mi" {
		t.Errorf("%+v", b)
	}
}

// strict is a cache of some namespaces, which fails for others.
type strict struct{ client.Reader }

func (strict) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("unknown namespace for the cache")
}

// TestUnwatched: what the operator does not see is not there, and no error for ever.
func TestUnwatched(t *testing.T) {
	s := Sources{Reader: strict{}, Namespaces: []string{"dev"}}
	if c, err := s.Find(context.Background(), "prod", "shop"); c != nil || err != nil || s.Watches("prod") {
		t.Errorf("%v %v", c, err)
	}
	if _, err := s.Find(context.Background(), "dev", "shop"); err == nil || !s.Watches("dev") {
		t.Error("an error of a namespace that is watched is lost")
	}
}

// answering is a reader that has one cluster, or fails.
type answering struct {
	client.Reader
	of   client.ObjectKey
	fail error
}

func (a answering) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if a.fail == nil && key != a.of {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return a.fail
}

// TestFind: a cluster is there, is not, or is not known to be.
func TestFind(t *testing.T) {
	of, away := client.ObjectKey{Namespace: "prod", Name: "shop"}, errors.New("the API server is away")
	for name, c := range map[string]struct {
		namespace, name string
		fail            error
		found           bool
	}{
		"it is there":           {"prod", "shop", nil, true},
		"in another namespace":  {"dev", "shop", nil, false},
		"another one":           {"prod", "bank", nil, false},
		"nothing can be read":   {"prod", "shop", away, false},
		"nothing, of any other": {"dev", "bank", away, false},
	} {
		s := Sources{Reader: answering{of: of, fail: c.fail}} // of all namespaces
		if got, err := s.Find(t.Context(), c.namespace, c.name); (got != nil) != c.found || !errors.Is(err, c.fail) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}
