package api

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestUserAdmission: bad input is refused where it is written, with a message that describes what to do.
func TestUserAdmission(t *testing.T) {
	for spec, want := range map[string]string{
		`{clusterRef: {name: shop}}`: "",
		`{clusterRef: {name: shop}, name: "o'neil` + "`" +
			`日本"}`: "",
		`{clusterRef: {name: shop}, name: Root}`:     "the server's or the operator's own",
		`{clusterRef: {name: shop}, name: "a\nb"}`:   "control characters",
		`{clusterRef: {name: shop}, name: "smile😀"}`: "beyond U+FFFF",
		`{clusterRef: {name: shop}, name: "space "}`: "begin or end with a space",
		`{clusterRef: {name: shop}, name: "` + strings.Repeat("n", 81) +
			`"}`: "80",
		`{clusterRef: {name: shop}, host: localhost}`:                                                                                      "own pod",
		`{clusterRef: {name: shop}, host: LocalHost}`:                                                                                      "own pod",
		`{clusterRef: {name: shop}, host: DB.example.org}`:                                                                                 "in lower case",
		`{clusterRef: {name: shop}, host: 10.1.0.0/16}`:                                                                                    "255.255.0.0",
		`{clusterRef: {name: shop}, name: "System user"}`:                                                                                  "the server's or the operator's own",
		`{clusterRef: {name: shop}, secretName: shop-ca-pair}`:                                                                             "the cluster needs itself",
		`{clusterRef: {name: shop}, secretName: shop-root}`:                                                                                "the cluster needs itself",
		`{clusterRef: {name: shop}, secretName: shop-app}`:                                                                                 "",
		`{clusterRef: {name: shop}, secretName: shop}`:                                                                                     "",
		`{clusterRef: {name: shop}, host: "a'b"}`:                                                                                          "spec.host",
		`{clusterRef: {name: shop}, authentication: {none: true}}`:                                                                         "set require: X509",
		`{clusterRef: {name: shop}, authentication: {none: true}, require: X509}`:                                                          "",
		`{clusterRef: {name: shop}, authentication: {generated: true, passwordSecretRef: {name: x}}}`:                                      "set at most one of",
		`{clusterRef: {name: shop}, authentication: {passwordSecretRef: {name: app-password}}}`:                                            "must not be a Secret that the operator writes",
		`{clusterRef: {name: shop}, authentication: {passwordSecretRef: {name: app-binding}}}`:                                             "must not be a Secret that the operator writes",
		`{clusterRef: {name: shop}, secretName: app-password}`:                                                                             "must not be NAME-password",
		`{clusterRef: {name: shop}, authentication: {overlap: 0s}}`:                                                                        "from 1s to 720h",
		`{clusterRef: {name: shop}, certificate: {duration: 24h}}`:                                                                         "certificate works with require: X509 only",
		`{clusterRef: {name: shop}, require: X509, certificate: {duration: 10m}}`:                                                          "at least 1h",
		`{clusterRef: {name: shop}, endpoint: Proxy}`:                                                                                      "",
		`{clusterRef: {name: shop}, endpoint: Proxy, require: None}`:                                                                       "",
		`{clusterRef: {name: shop}, endpoint: Proxy, require: X509}`:                                                                       "no certificate of the user's",
		`{clusterRef: {name: shop}, endpoint: Proxy, plugin: ed25519}`:                                                                     "mysql_native_password alone",
		`{clusterRef: {name: shop}, endpoint: Proxy, plugin: parsec}`:                                                                      "mysql_native_password alone",
		`{clusterRef: {name: shop}, endpoint: Proxy, host: 10.%}`:                                                                          "set host to %",
		`{clusterRef: {name: shop}, endpoint: Proxy, authentication: {none: true}}`:                                                        "set require: X509",
		`{clusterRef: {name: shop}, endpoint: proxy}`:                                                                                      "Unsupported value",
		`{clusterRef: {name: shop}, plugin: sha256_password}`:                                                                              "spec.plugin",
		`{clusterRef: {name: shop}, grants: [{privileges: ["SELECT ON *.* TO root; --"], database: a}]}`:                                   "privileges",
		`{clusterRef: {name: shop}, grants: [{privileges: [SELECT], table: t}]}`:                                                           "a table needs the name of its database",
		`{clusterRef: {name: shop}, grants: [{privileges: [SELECT], database: a, columns: [c]}]}`:                                          "columns need the name of their table",
		`{clusterRef: {name: shop}, grants: [{privileges: [delete], database: a, table: t, columns: [c]}]}`:                                "only SELECT, INSERT, UPDATE and REFERENCES",
		`{clusterRef: {name: shop}, grants: [{privileges: [], database: a}]}`:                                                              "privileges",
		`{clusterRef: {name: shop}, mountPath: "relative"}`:                                                                                "mountPath",
		`{clusterRef: {name: shop}, limits: {maxUserConnections: -1}}`:                                                                     "maxUserConnections",
		`{clusterRef: {name: shop, namespace: other}, grants: [{privileges: [SELECT], database: a, table: "it's", columns: [c, "d\"e"]}]}`: "",
	} {
		u := object(t, "GaleraUser", "app", spec)
		check(t, spec, kube.Create(t.Context(), u, client.DryRunAll), want)
	}
	for spec, want := range map[string]string{
		`{clusterRef: {name: shop}}`:                                           "",
		`{clusterRef: {name: shop}, name: "my-shop %_` + "`" + `"}`:            "",
		`{clusterRef: {name: shop}, name: "#mysql50#mysql"}`:                   "the server's or the operator's own",
		`{clusterRef: {name: shop}, name: MySQL}`:                              "the server's or the operator's own",
		`{clusterRef: {name: shop}, name: galera_operator}`:                    "the server's or the operator's own",
		`{clusterRef: {name: shop}, name: "x "}`:                               "end with a space",
		`{clusterRef: {name: shop}, name: "` + strings.Repeat("n", 65) + `"}`:  "64",
		`{clusterRef: {name: shop}, characterSet: "utf8mb4; DROP DATABASE x"}`: "characterSet",
		`{clusterRef: {name: shop}, collation: "utf8mb4_bin' --"}`:             "collation",
		`{clusterRef: {name: shop}, deletionPolicy: Keep}`:                     "deletionPolicy",
		`{clusterRef: {}}`: "clusterRef.name",
	} {
		check(t, spec, kube.Create(t.Context(), object(t, "GaleraDatabase", "app", spec), client.DryRunAll), want)
	}
	check(t, "a database called mysql", kube.Create(t.Context(),
		object(t, "GaleraDatabase", "mysql", `{clusterRef: {name: shop}}`), client.DryRunAll), "the server's own")
	check(t, "a user called root", kube.Create(t.Context(), object(t, "GaleraUser", "root", `{clusterRef: {name: shop}}`),
		client.DryRunAll), "the server's or the operator's own")
}

// TestImmutableUserFields: what cannot be changed in the server cannot be changed in the spec.
func TestImmutableUserFields(t *testing.T) {
	u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "fixed"},
		Spec: v1alpha1.GaleraUserSpec{ClusterRef: v1alpha1.ClusterReference{Name: "none"}}}
	must(t, kube.Create(t.Context(), u))
	t.Cleanup(func() {
		u.Finalizers = nil
		_ = kube.Update(t.Context(), u)
		_ = kube.Delete(t.Context(), u)
	})
	for what, edit := range map[string]func(*v1alpha1.GaleraUserSpec){
		"clusterRef cannot be changed":    func(s *v1alpha1.GaleraUserSpec) { s.ClusterRef.Name = "other" },
		"name and host cannot be changed": func(s *v1alpha1.GaleraUserSpec) { s.Host = "10.%" },
		"secretName cannot be changed":    func(s *v1alpha1.GaleraUserSpec) { s.SecretName = "other" },
	} {
		must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(u), u))
		changed := u.DeepCopy()
		edit(&changed.Spec)
		check(t, what, kube.Update(t.Context(), changed, client.DryRunAll), what)
	}
}

func object(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(v1alpha1.GroupVersion.String())
	o.SetKind(kind)
	o.SetNamespace("default")
	o.SetName(name)
	var s map[string]any
	must(t, yaml.Unmarshal([]byte(spec), &s))
	o.Object["spec"] = s
	return o
}

func check(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}
