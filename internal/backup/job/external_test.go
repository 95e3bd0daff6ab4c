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

// TestExternalJobs: the Jobs that copy another server are restricted, have no token, and mount of the Secrets what they
// need; the password is in no environment.
func TestExternalJobs(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("c", 40), Namespace: "demo"}}
	c.Spec.Storage.Size = resource.MustParse("10Gi")
	c.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Port: 3306,
		Users:                true,
		RateLimit:            new(resource.MustParse("2Mi")),
		CredentialsSecretRef: v1alpha1.LocalName{Name: "old"},
		TLS:                  &v1alpha1.ExternalTLS{CASecretRef: v1alpha1.LocalName{Name: "ca"}}}}
	c.Status.Restore = &v1alpha1.RestoreStatus{Attempts: 999, ID: "external-1", History: "new"}
	ro := resources.Options{DefaultImage: "mariadb"}
	inspect, err := Inspect(c, ro, Options{Image: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	copying, err := Import(c, ro, Options{Image: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	c.Status.Reseed = &v1alpha1.ReseedStatus{StartedAt: metav1.Unix(1700000000, 0), Attempts: 99}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Gi")}
	c.Spec.Scheduling.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}}}}
	check, err := Recheck(c, ro, Options{Image: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	if p := check.Spec.Template.Spec; p.Affinity.PodAntiAffinity != nil || p.Containers[0].Resources.Requests.Memory().
		Cmp(resource.MustParse("1Gi")) > 0 || p.InitContainers[0].Resources.Requests.Memory().
		Cmp(resource.MustParse("1Gi")) > 0 {
		t.Errorf("the nodes run, and it needs as much as one: %+v", p)
	}
	for name, p := range map[string]corev1.PodSpec{inspect.Name: inspect.Spec.Template.Spec,
		check.Name:   check.Spec.Template.Spec,
		copying.Name: copying.Spec.Template.Spec} {
		if len(name) > 63 || *p.AutomountServiceAccountToken || !*p.SecurityContext.RunAsNonRoot || len(p.Containers) != 1 ||
			p.ServiceAccountName != resources.ServiceAccountName(c) {
			t.Errorf("%s: %+v", name, p)
		}
		main := p.Containers[0]
		for _, own := range append(slices.Clone(p.InitContainers), main) {
			if sc := own.SecurityContext; *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem ||
				sc.Capabilities.Drop[0] != "ALL" {
				t.Errorf("%s/%s: %+v", name, own.Name, sc)
			}
			for _, m := range own.VolumeMounts {
				secret := slices.Contains([]string{volumeSource, volumeSourceCA, volumeCopied}, m.Name)
				if secret && (own.Name != Container || !m.ReadOnly) {
					t.Errorf("%s/%s mounts %s", name, own.Name, m.Name)
				}
			}
		}
		for _, v := range p.Volumes {
			if v.Secret == nil {
				continue
			}
			var keys []string
			for _, i := range v.Secret.Items {
				keys = append(keys, i.Key)
			}
			mounted := map[string]string{"old": "username password", "ca": "ca.crt", CopiedName(c): "tls.crt tls.key"}
			if strings.Join(keys, " ") != mounted[v.Secret.SecretName] {
				t.Errorf("%s mounts %v of %s", name, keys, v.Secret.SecretName)
			}
		}
		var asked task.Task
		if err := json.Unmarshal([]byte(main.Env[0].Value), &asked); err != nil {
			t.Fatal(err)
		}
		if x := asked.Import; x != nil && (x.ID != "external-1" || x.History != "new" || x.Rate != 2<<20) {
			t.Errorf("%+v", x)
		}
		if x := asked.Import; x != nil && x.MemoryBytes != 2<<30 {
			t.Errorf("a container of 2Gi is taken for one of %d bytes", x.MemoryBytes)
		}
		if x := asked.Inspect; x != nil && (x.Plain || !x.Identity || x.VolumeBytes != 10<<30 ||
			!slices.Contains(x.Skip, resources.ArchiverName(c))) {
			t.Errorf("%+v", x)
		}
	}
	if p := copying.Spec.Template.Spec; p.Containers[0].Ports[0].ContainerPort != task.CopiedPort ||
		!slices.ContainsFunc(p.Volumes, func(v corev1.Volume) bool { return v.Name == volumeCopied }) {
		t.Errorf("how far it is cannot be asked for: %+v", p)
	}
	if got := copying.Spec.Template.Spec.Volumes; !slices.ContainsFunc(got, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == resources.ClaimName(c, 0)
	}) {
		t.Errorf("it fills no volume: %+v", got)
	}
	if id := External(c).ServerID; id != 0 {
		t.Errorf("a cluster that follows nothing has the server_id %d", id)
	}
	c.UID, c.Spec.BootstrapFrom.External.Follow = "u1", true
	if x := External(c); x.ServerID < 1<<31 || x.ServerID != resources.ServerID(c) || x.Domain != x.ServerID {
		t.Errorf("a cluster that follows has the server_id %d, and the domain %d", x.ServerID, x.Domain)
	}
}
