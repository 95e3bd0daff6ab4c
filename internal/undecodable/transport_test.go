package undecodable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const tooLong = `{"replicas":4294967296}`

func object(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"galera-operator.io/v1alpha1","kind":"GaleraCluster",`+
		`"metadata":{"namespace":"demo","name":%q,"resourceVersion":"7"},"spec":%s}`, name, spec)
}

func list(items ...string) string {
	return `{"apiVersion":"galera-operator.io/v1alpha1","kind":"GaleraClusterList","metadata":{"resourceVersion":"9"},` +
		`"items":[` + strings.Join(items, ",") + `]}`
}

func event(kind watch.EventType, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object)
}

// world is an API server that answers with what a test says.
func world(t *testing.T, answer func() string) (*Objects, *rest.RESTClient) {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(s), scheme.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write([]byte(answer())); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	objects, config := &Objects{}, &rest.Config{Host: server.URL}
	http, err := objects.HTTPClient(config, s)
	if err != nil {
		t.Fatal(err)
	}
	gvk := v1alpha1.GroupVersion.WithKind("GaleraCluster")
	c, err := apiutil.RESTClientForGVK(gvk, false, false, config, serializer.NewCodecFactory(s), http)
	if err != nil {
		t.Fatal(err)
	}
	return objects, c.(*rest.RESTClient)
}

func named(o *Objects) (out []string) {
	for _, e := range o.List() {
		out = append(out, e.Name)
	}
	return out
}

func TestAListLeavesOutWhatCannotBeDecoded(t *testing.T) {
	body := list(object("a", `{}`), object("b", tooLong), object("c", `{}`))
	objects, c := world(t, func() string { return body })
	read := func() (names []string) {
		var got struct {
			metav1.ListMeta `json:"metadata"`
			Items           []v1alpha1.GaleraCluster `json:"items"`
		}
		raw, err := c.Get().Resource("galeraclusters").DoRaw(t.Context())
		if err := errors.Join(err, json.Unmarshal(raw, &got)); err != nil {
			t.Fatal(err)
		}
		if got.ResourceVersion != "9" {
			t.Errorf("the list has the version %q", got.ResourceVersion)
		}
		for _, i := range got.Items {
			names = append(names, i.Name)
		}
		return names
	}
	if got := read(); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("the list holds %q", got)
	}
	if got := named(objects); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q are named", got)
	}
	kind := v1alpha1.GroupVersion.WithKind("GaleraCluster")
	var undecodable *Error
	err := objects.check(kind, types.NamespacedName{Namespace: "demo", Name: "b"})
	if !errors.As(err, &undecodable) || !strings.Contains(err.Error(), "replicas") {
		t.Errorf("a read of it says %v", err)
	}
	for _, other := range []types.NamespacedName{{Namespace: "demo", Name: "a"}, {Namespace: "other"}} {
		if err := objects.check(kind, other); err != nil {
			t.Errorf("%s: %v", other, err)
		}
	}
	if objects.check(kind, types.NamespacedName{Namespace: "demo"}) == nil {
		t.Error("a list of its namespace seems to be whole")
	}
	body = list(object("a", `{}`)) // it was deleted while nothing watched
	if read(); len(objects.List()) != 0 {
		t.Errorf("%q are still named", named(objects))
	}
}

func TestAWatchGoesOn(t *testing.T) {
	objects, c := world(t, func() string {
		return strings.Join([]string{event(watch.Added, object("a", `{}`)), event(watch.Modified, object("b", tooLong)),
			event(watch.Deleted, object("a", tooLong)), event(watch.Added, object("c", `{"replicas":3}`))}, "\n")
	})
	w, err := c.Get().Resource("galeraclusters").Param("watch", "true").Watch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range w.ResultChan() {
		o, is := e.Object.(*v1alpha1.GaleraCluster)
		if !is {
			t.Fatalf("%s %v", e.Type, e.Object)
		}
		got = append(got, string(e.Type)+" "+o.Name+" "+o.ResourceVersion)
	}
	if want := []string{"ADDED a 7", "BOOKMARK  7", "DELETED a 7", "ADDED c 7"}; !slices.Equal(got, want) {
		t.Errorf("the watch gives %q", got)
	}
	if got := named(objects); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q are named", got)
	}
}

// TestOthersPass: what is no list of a CRD's resources is not touched.
func TestOthersPass(t *testing.T) {
	for _, body := range []string{`{`, `[]`, `{"kind":"Status","apiVersion":"v1"}`,
		`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		`{"kind":"OddList","apiVersion":"other.io/v1","items":[{"spec":1}]}`, list(object("a", `{}`))} {
		objects, c := world(t, func() string { return body })
		raw, err := c.Get().Resource("galeraclusters").DoRaw(t.Context())
		if err != nil || string(raw) != body || len(objects.List()) != 0 {
			t.Errorf("%s became %s, %v", body, raw, err)
		}
	}
}
