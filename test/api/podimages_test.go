package api

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// The tests here are the lines of docs/security.md: what can be reached by a user who may create GaleraClusters in one
// namespace, and nothing else. Those of GaleraBenchmarks are in benchmark_reach_test.go.

// TestReachOfSpecs: what a pod could be given in addition to its image is no field, and what is one has no dangerous
// value.
func TestReachOfSpecs(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct{ spec, want string }{
		"a Service that is a name elsewhere": {`{storage: {size: 1Gi}, service: {type: ExternalName}}`, "Unsupported value"},
		"an issuer of another kind": {`{storage: {size: 1Gi}, tls: {issuerRef: {name: x, kind: Secret}}}`,
			"Unsupported value"},
		"another node's name as donor": {`{storage: {size: 1Gi}, stateTransfer: {donors: [kube-system]}}`,
			"must be names of this cluster's nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			mustSay(t, kube.Create(ctx, fromYAML(t, "reach", tc.spec), client.DryRunAll), tc.want)
		})
	}
	refuseFields(t, func(field string) map[string]*unstructured.Unstructured {
		return map[string]*unstructured.Unstructured{
			"GaleraCluster": fromYAML(t, "reach", `{storage: {size: 1Gi}, `+field+`}`)}
	})
}

// dangerousFields are what a pod could be given in addition to its image.
var dangerousFields = []string{"serviceAccountName: admin", "hostNetwork: true", "hostPID: true",
	"podTemplate: {spec: {hostNetwork: true}}",
	"podTemplate: {serviceAccountName: admin}", "podTemplate: {volumes: [{name: x, secret: {secretName: y}}]}",
	"podTemplate: {volumes: [{name: x, hostPath: {path: /}}]}",
	"podTemplate: {sidecars: [{name: x, image: y, securityContext: {privileged: true}}]}",
	"podTemplate: {sidecars: [{name: x, image: y, envFrom: [{secretRef: {name: z}}]}]}",
	"podTemplate: {env: [{name: A, valueFrom: {secretKeyRef: {name: x, key: y}}}]}", "volumes: [{hostPath: {path: /}}]",
	"securityContext: {privileged: true}", "env: [{name: A}]", "namespace: kube-system", "rootPassword: {secretName: x}",
	"tls: {certificate: {commonName: x}}", "imagePullSecrets: [{name: x, namespace: y}]", "command: [sh]"}

// refuseFields creates resources with each of the fields.
func refuseFields(t *testing.T, with func(field string) map[string]*unstructured.Unstructured) {
	t.Helper()
	strict := client.WithFieldValidation(kube, metav1.FieldValidationStrict)
	for _, field := range dangerousFields {
		for kind, u := range with(field) {
			err := strict.Create(context.Background(), u, client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "unknown field") {
				t.Errorf("%s takes %s: %v", kind, field, err)
			}
		}
	}
}

// TestReachOfStatus: what the operator has written down is not the writer's of a spec: neither names nor positions.
func TestReachOfStatus(t *testing.T) {
	c := fromYAML(t, "presets", `storage: {size: 1Gi}`)
	must(t, unstructured.SetNestedField(c.Object, history, "status", "clusterUUID"))
	expectNoStatus(t, c)
}

// expectNoStatus creates a resource that has a status, and reads what is left of it.
func expectNoStatus(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	ctx := context.Background()
	must(t, kube.Create(ctx, u))
	t.Cleanup(func() { _ = kube.Delete(ctx, u) })
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(u), u))
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	if want := map[string]any{"observedGeneration": int64(-1)}; !reflect.DeepEqual(status, want) {
		t.Errorf("%s begins with %v, want the default alone: %v", u.GetKind(), status, want)
	}
}

// TestReachOfNames: objects of others that have the names of a cluster's children are neither changed nor taken.
func TestReachOfNames(t *testing.T) {
	ctx := context.Background()
	const namespace = "reach-names"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	theirs := []client.Object{
		&corev1.ServiceAccount{ObjectMeta: at("shop-galera"),
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "theirs"}}},
		&corev1.ConfigMap{ObjectMeta: at("shop-config"), Data: map[string]string{"of": "others"}},
		&corev1.Service{ObjectMeta: at("shop-nodes"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&corev1.Secret{ObjectMeta: at("shop-tls"), Data: map[string][]byte{"of": []byte("others")}},
	}
	before := map[client.Object]client.Object{}
	for _, o := range theirs {
		must(t, kube.Create(ctx, o))
		before[o] = o.DeepCopyObject().(client.Object)
	}
	w := &world{WithT: NewWithT(t), t: t, agents: newFakeAgents()}
	w.SetDefaultEventuallyTimeout(time.Minute)
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: at("shop"), Spec: spec()}
	startOperator(t, namespace, w.agents)
	must(t, kube.Create(ctx, w.cluster))
	w.Eventually(w.condition("Stalled")).Should(Equal("True NameConflict"))
	must(t, kube.Delete(ctx, w.cluster))
	w.Eventually(func() bool { return gone(w.cluster) }).Should(BeTrue())
	for _, o := range theirs {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(o), o))
		if !equality.Semantic.DeepEqual(before[o], o) {
			t.Errorf("changed from %+v to %+v", before[o], o)
		}
	}
}

// nodesWithUserImage are those of a cluster with an image of the writer's choice.
func nodesWithUserImage(t *testing.T) (*v1alpha1.GaleraCluster, corev1.PodTemplateSpec) {
	t.Helper()
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"}}
	must(t, yaml.Unmarshal([]byte(`{replicas: 2, image: evil, storage: {size: 1Gi}, arbitrator: {enabled: true}}`),
		&c.Spec))
	return c, resources.StatefulSet(c, resources.Options{OperatorImage: "operator"},
		resources.StatefulSetState{Replicas: 2, Claim: c.Spec.Storage.Size}).Spec.Template
}

// TestReachOfImages: an image of the writer's choice runs with nothing it could leave its container by, and with no
// token.
func TestReachOfImages(t *testing.T) {
	_, nodes := nodesWithUserImage(t)
	expectConfined(t, "nodes", nodes.Spec, "")
}

// expectConfined checks a pod; one of its containers may have a token.
func expectConfined(t *testing.T, name string, pod corev1.PodSpec, mayHaveToken string) {
	t.Helper()
	if pod.HostNetwork || pod.HostPID || pod.HostIPC || pod.AutomountServiceAccountToken == nil ||
		*pod.AutomountServiceAccountToken ||
		pod.SecurityContext == nil || !*pod.SecurityContext.RunAsNonRoot ||
		pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: %+v", name, pod.SecurityContext)
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		s := c.SecurityContext
		if s == nil || s.Privileged != nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
			!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
			t.Errorf("%s, %s: %+v", name, c.Name, s)
		}
		for _, m := range c.VolumeMounts {
			if m.Name == "token" && c.Name != mayHaveToken {
				t.Errorf("%s, %s has a token", name, c.Name)
			}
		}
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			t.Errorf("%s mounts the host's %s", name, v.HostPath.Path)
		}
	}
}

// TestReachOfSettings: my.cnf's lines are one setting each, and none that moves files, opens ports or weakens TLS.
func TestReachOfSettings(t *testing.T) {
	for name, value := range map[string]string{
		"max_connections": "1\ninit-file=/etc/passwd", "a\n[sst]\nb": "1", "init_file": "/x", "loose-init-file": "/x",
		"wsrep_sst_method": "x", "wsrep_notify_cmd": "sh", "wsrep_provider": "/x.so",
		"plugin_dir": "/x", "datadir": "/x", "require_secure_transport": "OFF", "ssl_ca": "/x", "skip-grant-tables": "1",
		"extra_port": "1", "user": "root",
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{name: {Text: value}}
		if validate.Settings(c, agentapi.NodeConfig{}) == nil {
			t.Errorf("%q: %q reaches my.cnf", name, value)
		}
	}
}

// TestReachOfRoles: the role for users has these kinds and nothing else, and the operator's own lets no user reach more
// through it: it may neither enter pods nor give away rights it has not.
func TestReachOfRoles(t *testing.T) {
	read := func(file string) (r rbacv1.ClusterRole) {
		text, err := os.ReadFile("../../config/rbac/" + file)
		must(t, err)
		must(t, yaml.Unmarshal(text, &r))
		return r
	}
	for _, rule := range read("galeracluster_editor.yaml").Rules {
		for _, r := range rule.Resources {
			if !slices.Equal(rule.APIGroups, []string{v1alpha1.GroupVersion.Group}) || strings.Contains(r, "/") &&
				!slices.Equal(rule.Verbs, []string{"get"}) {
				t.Errorf("people may %v %s of %v", rule.Verbs, r, rule.APIGroups)
			}
		}
	}
	for _, rule := range slices.Concat(read("role.yaml").Rules, read("../benchmarks/role.yaml").Rules) {
		if slices.Contains(rule.Resources, "nodes") && !slices.Equal(rule.Verbs, []string{"get", "list", "watch"}) {
			t.Errorf("the operator may %v hosts", rule.Verbs)
		}
		for _, what := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs) {
			if slices.Contains([]string{"*", "bind", "escalate", "impersonate", "pods/exec", "pods/attach", "pods/portforward",
				"pods/ephemeralcontainers", "serviceaccounts/token", "nodes/proxy",
				"clusterroles", "clusterrolebindings", "certificatesigningrequests"}, what) {
				t.Errorf("the operator may %v %v of %v", rule.Verbs, rule.Resources, rule.APIGroups)
			}
		}
	}
}
