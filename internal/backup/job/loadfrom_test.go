package job

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestLoadFromJobs: the Jobs that copy tables of another server have the operator's image alone, no volume, and of the
// Secrets what they need: only the one that loads has the account of the cluster.
func TestLoadFromJobs(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "demo"}}
	c.Spec.Scheduling.NodeSelector = map[string]string{"zone": "a"}
	r := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("r", 40), Namespace: "demo"}}
	r.Spec.ClusterRef.Name = "shop"
	r.Spec.Database = &v1alpha1.RestoreDatabase{Name: "crm", As: "sales"}
	r.Spec.From.External = &v1alpha1.RestoreExternal{Host: "db", Port: 3307, Connections: 2,
		RateLimit: new(resource.MustParse("2Mi")), Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("3000Mi")}},
		CredentialsSecretRef: v1alpha1.LocalName{Name: "old"},
		TLS:                  &v1alpha1.ExternalTLS{CASecretRef: v1alpha1.LocalName{Name: "ca"}}}
	r.Status.Attempts = 999
	inspect, err := InspectFor(r, c, Options{Image: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	load, err := LoadFrom(r, c, task.Load{Through: "through", Database: "crm", Into: "sales"}, "binding",
		Options{Image: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	pod := load.Spec.Template
	if pod.Labels[component] != resources.ComponentLoad || pod.Labels[v1alpha1.LabelCluster] != "shop" ||
		pod.Labels[v1alpha1.LabelRestoreTarget] != TargetName(r) || load.Labels[v1alpha1.LabelRestoreTarget] == "" {
		t.Errorf("the cluster does not admit it, or another restore does not wait for it: %v", pod.Labels)
	}
	if inspect.Labels[v1alpha1.LabelRestoreTarget] != "" {
		t.Error("another restore waits for a check")
	}
	mounted := map[string]string{"old": "username password", "ca": "ca.crt", "binding": "host username password ca.crt",
		ProgressName(r): "tls.crt tls.key"}
	for i, j := range []*task.Task{{}, {}} {
		p := inspect.Spec.Template.Spec
		want := []string{"old", "ca"}
		if i == 1 {
			p, want = pod.Spec, append(want, "binding", ProgressName(r))
		}
		if len(load.Name) > 63 || *p.AutomountServiceAccountToken || !*p.SecurityContext.RunAsNonRoot ||
			len(p.Containers) != 1 || len(p.InitContainers) > 0 || p.Containers[0].Image != "operator" ||
			p.NodeSelector["zone"] != "a" || p.ServiceAccountName != resources.ServiceAccountName(c) {
			t.Errorf("%+v", p)
		}
		limits := p.Containers[0].Resources.Limits
		if limits.Memory().Value() != 3000<<20 || limits.Cpu().IsZero() || !slices.ContainsFunc(p.Containers[0].Env,
			func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" && e.Value == "2831155200" }) {
			t.Errorf("%v, %v", limits, p.Containers[0].Env)
		}
		if sc := p.Containers[0].SecurityContext; *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem {
			t.Errorf("%+v", sc)
		}
		var have []string
		for _, v := range p.Volumes {
			if v.Secret == nil {
				t.Errorf("a volume that is no Secret: %+v", v)
				continue
			}
			var keys []string
			for _, item := range v.Secret.Items {
				keys = append(keys, item.Key)
			}
			have = append(have, v.Secret.SecretName)
			optional := v.Secret.Optional != nil && *v.Secret.Optional // it copies without the pair, too
			if strings.Join(keys, " ") != mounted[v.Secret.SecretName] || optional != (v.Secret.SecretName == ProgressName(r)) {
				t.Errorf("it mounts %v of %s", keys, v.Secret.SecretName)
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("it mounts %v, want %v", have, want)
		}
		if err := json.Unmarshal([]byte(p.Containers[0].Env[0].Value), j); err != nil {
			t.Fatal(err)
		}
		x := j.Inspect
		if i == 1 {
			x = j.Load.From
		}
		if x == nil || x.Plain || !x.Identity || !x.Only || x.Port != 3307 || x.Rate != 2<<20 || x.Connections != 2 ||
			x.MemoryBytes != 3000<<20 ||
			!slices.Equal(x.Databases, []string{"crm"}) || x.Table != "" {
			t.Errorf("%+v", x)
		}
	}
	policy := ProgressPolicy(r, c, resources.Options{OperatorNamespace: "galera"})
	for k, v := range policy.Spec.PodSelector.MatchLabels {
		if pod.Labels[k] != v {
			t.Errorf("the policy is not about the pod: %v, %v", policy.Spec.PodSelector, pod.Labels)
		}
	}
	if port := pod.Spec.Containers[0].Ports[0].ContainerPort; len(policy.Spec.PodSelector.MatchLabels) != 3 ||
		port != task.CopiedPort || policy.Spec.Ingress[0].Ports[0].Port.IntVal != port {
		t.Errorf("the operator cannot ask how far it is: %+v, %+v", policy.Spec, pod.Spec.Containers[0].Ports)
	}
	if c.Spec.NetworkPolicy.Enabled = new(false); ProgressPolicy(r, c, resources.Options{}) != nil {
		t.Error("a policy, though the cluster wants none")
	}
	r.Spec.Database, r.Spec.Table = nil, &v1alpha1.RestoreTable{Database: "crm", Name: "people", As: "people"}
	if x := serverOf(r); x.Table != "people" || x.Databases[0] != "crm" || TargetName(r) != "" {
		t.Errorf("%+v", x)
	}
}
