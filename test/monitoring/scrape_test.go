package monitoring

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	clientgolang "github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/galera-operator/galera-operator/internal/scrape"
)

const (
	operatorNamespace = "galera-operator-system"
	mountedToken      = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

// endpoint is what the operator's ServiceMonitor has Prometheus do.
type endpoint struct {
	Scheme          string `json:"scheme"`
	BearerTokenFile string `json:"bearerTokenFile"`
	HonorLabels     bool   `json:"honorLabels"`
	TLSConfig       struct {
		CA         struct{ Secret struct{ Name, Key string } } `json:"ca"`
		ServerName string                                      `json:"serverName"`
	} `json:"tlsConfig"`
}

// TestPrometheusScrapesTheOperator: a real one, as the ServiceMonitor of config/prometheus has it, with a token of its
// ServiceAccount that a real API server reviews under the roles of config/rbac. Without the role it is refused.
func TestPrometheusScrapesTheOperator(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS must name a directory with kube-apiserver and etcd; run: make test-api")
	}
	env := &envtest.Environment{}
	config, err := env.Start()
	must(t, err)
	t.Cleanup(func() { _ = env.Stop() })
	kube, err := client.New(config, client.Options{})
	must(t, err)
	installRoles(t, kube)

	dir, e := t.TempDir(), operatorEndpoint(t)
	address := serveMetrics(t, dir, config, e.TLSConfig.ServerName)
	for name, admitted := range map[string]bool{"prometheus": true, "stranger": false} {
		t.Run(name, func(t *testing.T) {
			target := scrapedBy(t, kube, dir, name, address, e)
			if up := target.Health == prometheus.HealthGood; up != admitted ||
				!admitted && !strings.Contains(target.LastError, "403") {
				t.Errorf("%s: %s", target.Health, target.LastError)
			}
		})
	}
}

// operatorEndpoint is that of the ServiceMonitor.
func operatorEndpoint(t *testing.T) endpoint {
	t.Helper()
	var monitor struct {
		Spec struct{ Endpoints []endpoint }
	}
	must(t, yaml.Unmarshal(read(t, root, "config", "prometheus", "manager.yaml"), &monitor))
	e := monitor.Spec.Endpoints[0]
	if secret := e.TLSConfig.CA.Secret; e.BearerTokenFile != mountedToken || secret.Name != "galera-operator-metrics" ||
		secret.Key != "ca.crt" {
		t.Fatalf("%+v", e)
	}
	return e
}

// installRoles makes two ServiceAccounts, of which Prometheus' may read the metrics.
func installRoles(t *testing.T, kube client.Client) {
	t.Helper()
	create := func(o client.Object) { must(t, kube.Create(t.Context(), o)) }
	for _, namespace := range []string{operatorNamespace, "monitoring"} {
		create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	for _, name := range []string{"prometheus", "stranger"} {
		create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "monitoring", Name: name}})
	}
	for _, file := range []string{"metrics_auth.yaml", "metrics_reader.yaml"} {
		documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(read(t, root, "config", "rbac", file)), 4096)
		for {
			o := &unstructured.Unstructured{}
			err := documents.Decode(&o.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			must(t, err)
			create(o)
		}
	}
	create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "galera-operator-metrics-reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "monitoring", Name: "prometheus"}}})
}

// serveMetrics serves metrics as the operator's ServiceAccount, with a certificate of that name, and returns where.
func serveMetrics(t *testing.T, dir string, config *rest.Config, name string) string {
	t.Helper()
	certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKey(name, nil, nil) // with the CA that has signed it
	must(t, err)
	for file, text := range map[string][]byte{"ca.crt": certPEM, "tls.crt": certPEM, "tls.key": keyPEM} {
		must(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = "system:serviceaccount:" + operatorNamespace + ":galera-operator-controller-manager"
	registry := clientgolang.NewRegistry()
	registry.MustRegister(clientgolang.NewGauge(clientgolang.GaugeOpts{Name: "galera_clusters"}))
	s := &scrape.Server{Address: freeAddress(t), CertDir: dir, Registry: registry, Config: as, Log: logr.Discard()}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.Address
}

// scrapedBy returns what a Prometheus of this ServiceAccount says of its first scrape.
func scrapedBy(t *testing.T, kube client.Client, dir, account, address string, e endpoint) prometheus.ActiveTarget {
	t.Helper()
	token := &authenticationv1.TokenRequest{}
	must(t, kube.SubResource("token").Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "monitoring", Name: account}}, token))
	tokenFile := filepath.Join(dir, account+".token")
	must(t, os.WriteFile(tokenFile, []byte(token.Status.Token), 0o600))
	from := startPrometheus(t, map[string]any{
		"global": map[string]any{"scrape_interval": "1s", "scrape_timeout": "1s"},
		"scrape_configs": []any{map[string]any{
			"job_name": "operator", "scheme": e.Scheme, "honor_labels": e.HonorLabels,
			"authorization":  map[string]any{"credentials_file": tokenFile},
			"tls_config":     map[string]any{"ca_file": filepath.Join(dir, "ca.crt"), "server_name": e.TLSConfig.ServerName},
			"static_configs": []any{map[string]any{"targets": []string{address}}},
		}},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tries := time.Tick(100 * time.Millisecond); ; <-tries {
		if ctx.Err() != nil {
			t.Fatal("nothing was scraped")
		}
		targets, err := from.Targets(ctx)
		// A scrape that came before the server was ready is made again.
		if err == nil && len(targets.Active) == 1 && targets.Active[0].Health != prometheus.HealthUnknown &&
			!strings.Contains(targets.Active[0].LastError, "connection refused") {
			return targets.Active[0]
		}
	}
}
