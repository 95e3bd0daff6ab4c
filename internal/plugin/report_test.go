package plugin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/bundle"
	"github.com/galera-operator/galera-operator/internal/plugin/redact"
)

const privateKey = "-----BEGIN PRIVATE " +
	"KEY-----\nMHcCAQEEIOv0qkQ1v0PVy7kq1Vh0v3P0s9mQG0mA0vVn3qU5oAoGCCqGSM49\n-----END PRIVATE KEY-----\n"

// leaks are what must be nowhere in a bundle.
var leaks = []string{"Tr0ub4dor&3", "hunter22", "MHcCAQEEIOv0qkQ1v0PVy7kq1Vh0v3P0s9mQG0mA0vVn3qU5oAoGCCqGSM49",
	"another-cluster-of-others"}

// objectsOf are a cluster's, with secrets wherever people and programs leave them.
func objectsOf() []client.Object {
	in := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: map[string]string{v1alpha1.LabelCluster: "shop"}}
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop",
		Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"spec":{"x":"Tr0ub4dor&3"}}`}}}
	pod := &corev1.Pod{ObjectMeta: in("shop-0")}
	pod.Labels[v1alpha1.LabelRole] = v1alpha1.RolePrimary
	pod.Spec.NodeName = "host-1"
	pod.Spec.Containers = []corev1.Container{{Name: "mariadb",
		Env: []corev1.EnvVar{{Name: "APP_PASSWORD", Value: "hunter22"}}}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mariadb", RestartCount: 1}}
	operator := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "manager",
		Labels: map[string]string{"app.kubernetes.io/name": "galera-operator", "app.kubernetes.io/component": "manager"}}}
	operator.Spec.Containers = []corev1.Container{{Name: "manager"}}
	user := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "app"}}
	user.Spec.ClusterRef.Name = "shop"
	foreign := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "foreign"}}
	foreign.Spec.ClusterRef.Name = "other"
	pool := &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "pool"}}
	pool.Spec.ClusterRef.Name = "shop"
	return []client.Object{
		c, pod, operator, user, foreign, pool,
		&corev1.Secret{ObjectMeta: in("shop-root"), Data: map[string][]byte{"password": []byte("Tr0ub4dor&3")}},
		&corev1.Secret{ObjectMeta: in("shop-tls"), Data: map[string][]byte{"tls.key": []byte(privateKey),
			"tls.pem": []byte("-----BEGIN CERTIFICATE-----\nMIIBpublicpublicpublicpublic\n-----END CERTIFICATE-----\n" +
				privateKey)}},
		&corev1.ConfigMap{ObjectMeta: in("shop-ca"),
			Data: map[string]string{"ca.crt": "-----BEGIN CERTIFICATE-----\nMIIBpublicpublicpublicpublic\n-----END " +
				"CERTIFICATE-----\n"}},
		&corev1.ConfigMap{ObjectMeta: in("shop-config"), Data: map[string]string{"my.cnf": "password=hunter22\nkey: |\n    " +
			strings.ReplaceAll(privateKey, "\n", "\n    ")}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host-1"}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "e1"},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "shop-0"}, Reason: "Failed",
			Message: "login with Tr0ub4dor&3 failed"},
	}
}

func fakeLogs(_ context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	switch {
	case pod == "manager":
		return io.NopCloser(strings.NewReader(`{"msg":"acting","namespace":"demo","name":"shop"}` + "\n" +
			`{"msg":"acting","namespace":"another-cluster-of-others"}` + "\n" + `{"msg":"leader"}` + "\n")), nil
	case o.Previous:
		return nil, errors.New("previous terminated container not found")
	}
	return io.NopCloser(strings.NewReader(strings.Repeat("2026-03-01T12:00:00Z a line of the server's log\n", 60000) +
		"SET PASSWORD FOR a = PASSWORD('hunter22')\n")), nil
}

// fakeKube holds objects; those that are asked for by name in all namespaces are found.
func fakeKube(t *testing.T, objects ...client.Object) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&corev1.Pod{}, "metadata.name", byName).WithIndex(&coordinationv1.Lease{}, "metadata.name", byName)
}

// made collects a bundle, and returns its files by name. fail makes reading a kind fail.
func made(t *testing.T, fail func(kind string) error) map[string]string {
	t.Helper()
	kube := fakeKube(t, objectsOf()...).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
			o ...client.ListOption) error {
			gvk, _ := c.GroupVersionKindFor(list)
			if fail != nil {
				if err := fail(strings.TrimSuffix(gvk.Kind, "List")); err != nil {
					return err
				}
			}
			return c.List(ctx, list, o...)
		}}).Build()
	e := &env{kube: kube, namespace: "demo", err: io.Discard}
	c, err := e.cluster(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	b := bundle.New("shop-report", "a bundle", redact.New())
	from := sources{logs: fakeLogs, version: func() (string, error) { return "v1.36.3", nil },
		agent: func(_ context.Context, _, _, path string) ([]byte, error) { return []byte("an answer to " + path), nil }}
	r := &reporter{env: e, from: from, cluster: c, bundle: b, since: time.Hour}
	for _, part := range r.parts() {
		part(t.Context())
	}
	var out bytes.Buffer
	if err := b.Write(&out, noon); err != nil {
		t.Fatal(err)
	}
	return unpack(t, &out)
}

func unpack(t *testing.T, from io.Reader) map[string]string {
	t.Helper()
	packed, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(packed); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		text, err2 := io.ReadAll(archive)
		if err != nil || err2 != nil || h.Mode != 0o600 {
			t.Fatal(err, err2, h.Mode)
		}
		files[strings.TrimPrefix(h.Name, "shop-report/")] = string(text)
	}
}

// TestReport: what support needs is there, and no secret anywhere.
func TestReport(t *testing.T) {
	files := made(t, nil)
	for file, text := range files {
		for _, leak := range leaks {
			if strings.Contains(text, leak) {
				t.Errorf("%s is in %s", leak, file)
			}
		}
	}
	for file, want := range map[string]string{
		"README.txt":                         "Secret shop-root/password",
		"cluster.yaml":                       "kind: GaleraCluster",
		"secrets.txt":                        "shop-root    password (11 bytes)",
		"events.txt":                         "Pod/shop-0",
		"agents/shop-0/metrics.txt":          "an answer to metrics",
		"versions.txt":                       "plugin: ",
		"hosts/host-1.yaml":                  "kind: Node",
		"objects/pod/shop-0.yaml":            "APP_PASSWORD",
		"objects/galerauser/app.yaml":        "name: shop",
		"objects/galeraproxy/pool.yaml":      "name: shop",
		"objects/configmap/shop-ca.yaml":     "MIIBpublicpublicpublicpublic",
		"logs/shop-0/mariadb.log":            "bytes are left out]\n2026-03-01T12:00:00Z a line",
		"operator/manager/manager.log":       `{"msg":"leader"}`,
		"operator/manager/pod.yaml":          "kind: Pod",
		"objects/configmap/shop-config.yaml": "my.cnf",
	} {
		if !strings.Contains(files[file], want) {
			t.Errorf("%s has not %q:\n%.300s", file, want, files[file])
		}
	}
	if n := len(files["logs/shop-0/mariadb.log"]); n > logBytes+200 {
		t.Errorf("a log of %d bytes", n)
	}
	if _, is := files["objects/galerauser/foreign.yaml"]; is {
		t.Error("another cluster's user")
	}
	if !strings.Contains(files["README.txt"], "previous terminated container not found") {
		t.Errorf("it does not describe what is missing:\n%s", files["README.txt"])
	}
}

// TestReportWithoutRights: what may not be read is reported, and the rest goes on; what looks like a secret goes
// without knowing it.
func TestReportWithoutRights(t *testing.T) {
	files := made(t, func(kind string) error {
		if kind == "Secret" || kind == "Event" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: strings.ToLower(kind) + "s"}, "", errors.New("may not"))
		}
		return nil
	})
	for _, want := range []string{"Secrets (their values are not known", "events: ", "may not"} {
		if !strings.Contains(files["README.txt"], want) {
			t.Errorf("%s is not in\n%s", want, files["README.txt"])
		}
	}
	if files["cluster.yaml"] == "" || files["logs/shop-0/mariadb.log"] == "" || files["events.txt"] != "" {
		t.Errorf("%d files", len(files))
	}
	for file, text := range files {
		for _, leak := range leaks {
			if strings.Contains(text, leak) {
				t.Errorf("%s is in %s", leak, file)
			}
		}
	}
}

func TestSkew(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	for _, v := range []string{"v0.3.1", "v0.4.0-2-gabc", "dev"} {
		c.Status.Members = append(c.Status.Members, v1alpha1.MemberStatus{Agent: &v1alpha1.AgentStatus{Version: v}})
	}
	for plugin, want := range map[string]string{"v0.4.7": "", "v0.3.9": "older than the operator (v0.4.0-2-gabc)",
		"v0.5.0": "newer", "dev": ""} {
		if got := skew(plugin, c); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q", plugin, got)
		}
	}
}

func TestRequestLine(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Name = "shop"
	for _, tc := range []struct {
		state, message string
		waited         time.Duration
		line           string
		done           bool
		refused        string
	}{
		{"", "", time.Second, "waiting for the operator", false, ""},
		{"", "", time.Minute, "", false, "no operator has recorded the request"},
		{v1alpha1.RequestPending, "shop-2 is not Synced", time.Hour, "shop-2 is not Synced", false, ""},
		{v1alpha1.RequestDone, "shop-2 is the primary", time.Second, "shop-2 is the primary", true, ""},
		{v1alpha1.RequestExpired, "could not", time.Second, "", true, "expired: could not"},
		{v1alpha1.RequestCancelled, "replaced", time.Second, "", true, "cancelled: replaced"},
		{"Deferred", "waits for the night", time.Second, "Deferred: waits for the night", false, ""},
	} {
		c.Status.Requests = nil
		if tc.state != "" {
			c.Status.Requests = []v1alpha1.RequestStatus{{Kind: "Promote", Token: "x", State: tc.state, Message: tc.message}}
		}
		line, done, err := requestLine(c, "Promote", "x", tc.waited)
		if !strings.Contains(line, tc.line) || done != tc.done || (err != nil) != (tc.refused != "") || err != nil &&
			!strings.Contains(err.Error(), tc.refused) {
			t.Errorf("%+v: %q %t %v", tc, line, done, err)
		}
	}
}

func TestNodeOf(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Name = "shop"
	c.Status.Members = []v1alpha1.MemberStatus{{Name: "shop-0"}, {Name: "shop-1"}}
	for named, want := range map[string]string{"shop-1": "shop-1", "1": "shop-1", "shop-7": "", "7": ""} {
		if got, err := nodeOf(c, named); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q %v", named, got, err)
		}
	}
}
