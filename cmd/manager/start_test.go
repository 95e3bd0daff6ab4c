package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/scrape"
)

// TestMetricsOfAnEmptyCache: an operator that may not list its resources does nothing, and its metrics show that.
func TestMetricsOfAnEmptyCache(t *testing.T) {
	var allowed atomic.Bool
	api := httptest.NewServer(apiServer(&allowed))
	defer api.Close()
	opts := &options{metricsAddress: free(t)}
	mgr, err := ctrl.NewManager(&rest.Config{Host: api.URL}, ctrl.Options{Scheme: scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mgr.GetCache().GetInformer(t.Context(), &v1alpha1.GaleraCluster{},
		cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- start(ctx, mgr, opts) }()
	await(ctx, t, opts.metricsAddress, "galera_operator_caches_synced 0\n", `rest_client_requests_total{code="403"`)
	allowed.Store(true)
	await(ctx, t, opts.metricsAddress, "galera_operator_caches_synced 1\n")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// apiServer describes GaleraClusters, and lists them, none, once that is allowed.
func apiServer(allowed *atomic.Bool) http.HandlerFunc {
	group := v1alpha1.GroupVersion
	version := metav1.GroupVersionForDiscovery{GroupVersion: group.String(), Version: group.Version}
	is := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: kind} }
	return func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusOK
		var answer any
		switch path, query := r.URL.Path, r.URL.Query(); {
		case path == "/api":
			answer = &metav1.APIVersions{TypeMeta: is("APIVersions")}
		case path == "/apis":
			answer = &metav1.APIGroupList{TypeMeta: is("APIGroupList"), Groups: []metav1.APIGroup{{Name: group.Group,
				Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}}}
		case path == "/apis/"+group.String():
			answer = &metav1.APIResourceList{TypeMeta: is("APIResourceList"), GroupVersion: group.String(),
				APIResources: []metav1.APIResource{{Name: "galeraclusters", SingularName: "galeracluster", Namespaced: true,
					Kind: "GaleraCluster", Verbs: metav1.Verbs{"list", "watch"}}}}
		case !allowed.Load() || query.Has("sendInitialEvents"):
			code = http.StatusForbidden
			answer = &metav1.Status{TypeMeta: is("Status"), Status: metav1.StatusFailure, Code: http.StatusForbidden,
				Reason: metav1.StatusReasonForbidden, Message: "not allowed"}
		case query.Has("watch"):
			<-r.Context().Done()
			return
		default:
			answer = &v1alpha1.GaleraClusterList{TypeMeta: metav1.TypeMeta{APIVersion: group.String(),
				Kind: "GaleraClusterList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// free returns an address that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// await returns when the metrics have all these words.
func await(ctx context.Context, t *testing.T, address string, words ...string) {
	t.Helper()
	for {
		text := scraped(ctx, address)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the metrics lack some of %q: %s", words, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func scraped(ctx context.Context, address string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+scrape.Path, http.NoBody)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
