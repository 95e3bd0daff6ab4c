package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// clusters is the CRD of GaleraClusters.
const clusters = "galeraclusters.galera-operator.io"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// helmOn runs Helm for the release on the API server; kinds that are new to it are awaited by Helm itself.
func helmOn(t *testing.T, values string, args ...string) {
	t.Helper()
	if _, err := helm(values, append(args, "--namespace", namespace)...); err != nil {
		t.Fatal(err)
	}
}

// uninstall leaves nothing of a release behind but what stays by design.
func uninstall(t *testing.T, name, ns string) {
	t.Helper()
	if _, err := helm("", "uninstall", name, "--namespace", ns, "--ignore-not-found"); err != nil {
		t.Error(err)
	}
}

func operator(t *testing.T, name string) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	must(t, kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, d))
	return d
}

// shop is a GaleraCluster that a user has created; it is deleted with the test.
func shop(t *testing.T) *v1alpha1.GaleraCluster {
	t.Helper()
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"}}
	c.Spec.Replicas = 3
	c.Spec.Storage.Size = resource.MustParse("1Gi")
	// A new kind is served a moment after its CRD was created.
	must(t, wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) {
			err := kube.Create(ctx, c)
			if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
				return false, nil
			}
			return true, err
		}))
	t.Cleanup(func() { must(t, kube.Delete(context.Background(), c)) })
	return c
}

// earlier is a copy of the chart as it might have been before: another version, and a CRD without the short name.
func earlier(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "galera-operator")
	must(t, os.CopyFS(dir, os.DirFS(folder)))
	for file, change := range map[string][2]string{
		"Chart.yaml":                        {"version: 0.1.0", "version: 0.0.9"},
		"templates/crd-galeraclusters.yaml": {"    shortNames:\n    - galera\n", ""},
		"templates/disruption-budget.yaml":  {"maxUnavailable: {{", "minAvailable: {{"},
	} {
		name := filepath.Join(dir, file)
		text, err := os.ReadFile(name)
		must(t, err)
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s has no %q", file, change[0])
		}
		must(t, os.WriteFile(name, []byte(changed), 0o600))
	}
	return dir
}

// TestUpgradeAndUninstall: an upgrade upgrades CRDs, an uninstalled release leaves them, and neither touches a
// GaleraCluster.
func TestUpgradeAndUninstall(t *testing.T) {
	t.Cleanup(func() { uninstall(t, release, namespace) })
	helmOn(t, "", "install", release, earlier(t), "--create-namespace", "--values", "-")
	crd := func() *apiextensionsv1.CustomResourceDefinition {
		c := &apiextensionsv1.CustomResourceDefinition{}
		must(t, kube.Get(t.Context(), client.ObjectKey{Name: clusters}, c))
		return c
	}
	before := crd()
	if len(before.Spec.Names.ShortNames) != 0 {
		t.Fatalf("the earlier chart has the short names %v", before.Spec.Names.ShortNames)
	}
	cluster, deployed := shop(t), operator(t, manager)

	helmOn(t, "{log: {level: debug}}", "upgrade", release, folder, "--values", "-")
	if after := crd(); len(after.Spec.Names.ShortNames) == 0 || after.UID != before.UID {
		t.Errorf("the CRD was not upgraded in place: short names %v, %s → %s", after.Spec.Names.ShortNames, before.UID,
			after.UID)
	}
	if d := operator(t, manager); d.UID != deployed.UID {
		t.Error("the Deployment was replaced")
	}
	smallRelease(t)

	helmOn(t, "", "rollback", release, "1")
	helmOn(t, "", "upgrade", release, folder, "--values", "-")
	uninstall(t, release, namespace)
	err := kube.Get(t.Context(), client.ObjectKeyFromObject(deployed), &appsv1.Deployment{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the operator is still there: %v", err)
	}
	if after := crd(); after.UID != before.UID || after.DeletionTimestamp != nil {
		t.Error("the CRD went with the release")
	}
	left := &v1alpha1.GaleraCluster{}
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(cluster), left))
	if left.UID != cluster.UID || left.DeletionTimestamp != nil {
		t.Error("the GaleraCluster went with the release")
	}
	must(t, kube.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}))

	helmOn(t, "", "install", release, folder, "--values", "-") // and it comes back to what was left
	operator(t, manager)
}

// smallRelease: Helm keeps the chart and what it rendered in one Secret, which may have 1 MiB.
func smallRelease(t *testing.T) {
	t.Helper()
	var list corev1.SecretList
	must(t, kube.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm"}))
	if len(list.Items) < 2 {
		t.Errorf("%d Secrets of the release", len(list.Items))
	}
	for _, s := range list.Items {
		size := len(s.Data["release"])
		t.Logf("%s has %d KiB", s.Name, size>>10)
		if size > 640<<10 {
			t.Errorf(
				"%s has %d KiB; more than 1 MiB cannot be installed: move the CRDs into a chart of their own, or shorten them",
				s.Name, size>>10)
		}
	}
}

// TestCRDsAreSmall: `kubectl apply` without --server-side keeps the whole object in an annotation, and an object's
// annotations may have 256 KiB together.
func TestCRDsAreSmall(t *testing.T) {
	crds := render(t, "").of("CustomResourceDefinition")
	if len(crds) != 9 {
		t.Errorf("%d CRDs", len(crds))
	}
	for _, o := range crds {
		text, err := json.Marshal(o)
		must(t, err)
		if t.Logf("%s has %d KiB", o.id(), len(text)>>10); len(text) > 240<<10 {
			t.Errorf("%s has %d KiB", o.id(), len(text)>>10)
		}
	}
}

// TestTakesOver: a release takes over what `kubectl apply -k config/default` has installed, in place.
func TestTakesOver(t *testing.T) {
	t.Cleanup(func() { uninstall(t, release, namespace) })
	kubectl := func(stdin []byte, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		cmd.Stdin = bytes.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}
	kubectl(nil, "apply", "--server-side", "--force-conflicts", "-f", "../../config/crd/bases")
	kubectl(nil, "wait", "--for=condition=Established", "crd/"+clusters)
	kubectl(nil, "apply", "--server-side", "--force-conflicts", "-k", "../../config/default")
	cluster, before := shop(t), operator(t, manager)
	if _, err := helm("", "upgrade", "--install", release, folder, "--namespace", namespace); err == nil ||
		!strings.Contains(err.Error(), "cannot be imported") {
		t.Errorf("it takes over without being asked: %v", err)
	}
	helmOn(t, "{replicas: 3}", "upgrade", "--install", "--take-ownership", release, folder, "--values", "-")
	after := operator(t, manager)
	if after.UID != before.UID || *after.Spec.Replicas != 3 {
		t.Errorf("not taken over in place: %s with %d replicas is now %s with %d", before.UID, *before.Spec.Replicas,
			after.UID, *after.Spec.Replicas)
	}
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster))
	uninstall(t, release, namespace)
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster))
	if cluster.DeletionTimestamp != nil {
		t.Error("the GaleraCluster went with the release")
	}
}

// TestTwoReleases: each with its own namespaces, the second without CRDs; neither may reach into the other's.
func TestTwoReleases(t *testing.T) {
	for _, ns := range []string{"one", "two"} {
		must(t, kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	}
	for ns, values := range map[string]string{
		"one": "{watchNamespaces: [one]}",
		"two": "{watchNamespaces: [two], crds: {install: false}, benchmarks: {enabled: false}}",
	} {
		name := "galera-operator-" + ns
		args := []string{"install", name, folder, "--namespace", name, "--create-namespace", "--values", "-"}
		if ns == "one" {
			args = append(args, "--take-ownership") // of the CRDs that other tests have left
		}
		if _, err := helm(values, args...); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { uninstall(t, name, name) })
	}
	for _, test := range []struct {
		release, verb, group, resource, in string
		allowed                            bool
	}{
		{"one", "list", "", "secrets", "one", true},
		{"one", "list", "", "secrets", "two", false},
		{"one", "list", "", "secrets", "default", false},
		{"one", "list", "", "secrets", "", false},
		{"one", "get", "", "secrets", "galera-operator-one", false},
		{"one", "update", "coordination.k8s.io", "leases", "galera-operator-one", true},
		{"one", "list", "storage.k8s.io", "storageclasses", "", true},
		{"one", "patch", "galera-operator.io", "galeraclusters/status", "one", true},
		{"one", "watch", "galera-operator.io", "galeraclusters", "", false},
		{"one", "delete", "", "persistentvolumeclaims", "one", false},
		{"two", "delete", "", "persistentvolumeclaims", "two", false},
		{"two", "create", "rbac.authorization.k8s.io", "roles", "two", false},
		{"two", "list", "", "secrets", "two", true},
		{"two", "list", "", "secrets", "one", false},
	} {
		name := "galera-operator-" + test.release
		resource, sub, _ := strings.Cut(test.resource, "/")
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + name + ":" + name + "-controller-manager",
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + name, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: test.in, Verb: test.verb, Group: test.group, Resource: resource, Subresource: sub,
			},
		}}
		must(t, kube.Create(t.Context(), review))
		if review.Status.Allowed != test.allowed {
			t.Errorf("%s may %s %s in %q: %v", name, test.verb, test.resource, test.in, review.Status.Allowed)
		}
	}
	// The benchmarks' program has the rights that the operator has not, in the namespaces of its release alone.
	for in, allowed := range map[string]bool{"one": true, "two": false} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:galera-operator-one:galera-operator-one-benchmarks",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: in, Verb: "delete",
				Resource: "persistentvolumeclaims"},
		}}
		must(t, kube.Create(t.Context(), review))
		if review.Status.Allowed != allowed {
			t.Errorf("the benchmarks' program of one may delete claims in %s: %t", in, review.Status.Allowed)
		}
	}
}

// TestTheServerAdmitsEveryValue: what the values make is valid for Kubernetes, not for the schema alone.
func TestTheServerAdmitsEveryValue(t *testing.T) {
	const name = "everything"
	t.Cleanup(func() { uninstall(t, name, namespace) })
	helmOn(t, `
crds: {install: false}
imageRegistry: mirror.example/x
imagePullSecrets: [{name: pull}]
clusterDomain: k8s.example
podUsers: assigned
log: {format: json, level: 2}
extraEnv: [{name: A, value: b}]
serviceAccount: {annotations: {a: b}}
podSecurityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}
podLabels: {a: b}
podAnnotations: {a: b}
nodeSelector: {a: b}
affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname}]}}
tolerations: [{operator: Exists}]
topologySpreadConstraints: []
priorityClassName: system-cluster-critical
podDisruptionBudget: {maxUnavailable: 50%}
networkPolicy: {metricsFrom: []}
metrics: {service: {annotations: {a: b}}}
`, "install", name, folder, "--create-namespace", "--values", "-")
	d := operator(t, name+"-galera-operator-controller-manager")
	if got := d.Spec.Template.Spec; got.PriorityClassName != "system-cluster-critical" ||
		got.SecurityContext.RunAsUser != nil || len(got.ImagePullSecrets) != 1 {
		t.Errorf("values are lost: %+v", got)
	}
	role := &rbacv1.ClusterRole{}
	must(t, kube.Get(t.Context(), client.ObjectKey{Name: name + "-galera-operator-manager"}, role))
}
