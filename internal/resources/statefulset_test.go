package resources

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestTemplateIsUntouched: a pod template that changes is a cluster that restarts.
func TestTemplateIsUntouched(t *testing.T) {
	base := StatefulSet(shop(), testOptions, pods(shop(), 3)).Spec.Template
	for name, change := range map[string]func(*v1alpha1.GaleraCluster){
		"scaling": func(c *v1alpha1.GaleraCluster) { c.Spec.Replicas = 7 },
		"settings": func(c *v1alpha1.GaleraCluster) {
			c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"max_connections": {Text: "7", Number: true}}
		},
		"encryption": func(c *v1alpha1.GaleraCluster) { c.Spec.TLS = everyTLS() },
		"hibernate":  func(c *v1alpha1.GaleraCluster) { c.Spec.Hibernate = true },
		"services":   func(c *v1alpha1.GaleraCluster) { c.Spec.Service.Type = "NodePort" },
		"retain": func(c *v1alpha1.GaleraCluster) {
			c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenDeleted = v1alpha1.ClaimDelete
		},
	} {
		c := shop()
		change(c)
		if !reflect.DeepEqual(base, StatefulSet(c, testOptions, pods(c, c.Spec.Replicas)).Spec.Template) {
			t.Errorf("%s changes the pod template", name)
		}
	}
	c := shop()
	c.Spec.Image = "other"
	if reflect.DeepEqual(base, StatefulSet(c, testOptions, pods(c, 3)).Spec.Template) {
		t.Error("a new image does not change the pod template")
	}
}

// TestRestricted checks what Pod Security's level "restricted" demands of every container.
func TestRestricted(t *testing.T) {
	pod := StatefulSet(everything(), testOptions, pods(everything(), 3)).Spec.Template.Spec
	if pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
		!*pod.SecurityContext.RunAsNonRoot {
		t.Errorf("pod: %+v", pod.SecurityContext)
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC || *pod.AutomountServiceAccountToken {
		t.Error("the pod has more than it needs")
	}
	for _, container := range append(pod.InitContainers, pod.Containers...) {
		s := container.SecurityContext
		if *s.AllowPrivilegeEscalation || !*s.RunAsNonRoot || !*s.ReadOnlyRootFilesystem ||
			len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" || len(s.Capabilities.Add) > 0 {
			t.Errorf("%s: %+v", container.Name, s)
		}
	}
	for _, v := range pod.Volumes {
		if v.EmptyDir == nil && v.ConfigMap == nil && v.Secret == nil && v.Ephemeral == nil {
			t.Errorf("volume %s is of a kind that is not allowed", v.Name)
		}
	}
}

// TestMounts: every place the agent checks is mounted, and what it must be able to read follows
// the object (a subPath does not).
func TestMounts(t *testing.T) {
	pod := StatefulSet(shop(), testOptions, pods(shop(), 3)).Spec.Template.Spec
	database := pod.Containers[0]
	volumes := map[string]bool{DataVolume: true}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	places := map[string]bool{}
	for _, m := range database.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s is mounted from %s, which is no volume", m.MountPath, m.Name)
		}
		if m.SubPath != "" {
			t.Errorf("%s is a subPath", m.MountPath)
		}
		places[m.MountPath] = true
	}
	for _, place := range []string{
		agentapi.VolumeDir, agentapi.BinDir, agentapi.RunDir, agentapi.TmpDir,
		agentapi.ConfigDir, agentapi.TLSDir, agentapi.RootDir,
	} {
		if !places[place] {
			t.Errorf("nothing is mounted at %s", place)
		}
	}
}

// TestTemporaryStorage: temporary files are on a volume of the size that the spec names, and on the host's disk
// otherwise.
func TestTemporaryStorage(t *testing.T) {
	source := func(c *v1alpha1.GaleraCluster) corev1.VolumeSource {
		for _, v := range StatefulSet(c, testOptions, pods(c, 3)).Spec.Template.Spec.Volumes {
			if v.Name == volumeTmp {
				return v.VolumeSource
			}
		}
		t.Fatal("no volume")
		return corev1.VolumeSource{}
	}
	c := shop()
	if got := source(c); got.EmptyDir == nil || got.EmptyDir.SizeLimit != nil {
		t.Errorf("by default: %+v", got)
	}
	before := PodTemplateHash(c, testOptions)
	c.Spec.Storage.Temporary = &v1alpha1.TemporaryStorage{Size: resource.MustParse("5Gi"), StorageClassName: new("fast")}
	got := source(c)
	if got.Ephemeral == nil {
		t.Fatalf("%+v", got)
	}
	claim := got.Ephemeral.VolumeClaimTemplate.Spec
	if size := claim.Resources.Requests[corev1.ResourceStorage]; size.String() != "5Gi" ||
		*claim.StorageClassName != "fast" || claim.AccessModes[0] != corev1.ReadWriteOnce {
		t.Errorf("%+v", claim)
	}
	if PodTemplateHash(c, testOptions) == before {
		t.Error("a change restarts no node")
	}
}

func TestClaimRetention(t *testing.T) {
	c := shop()
	if got := StatefulSet(c, testOptions, pods(c, 3)).
		Spec.PersistentVolumeClaimRetentionPolicy; got.WhenDeleted != "Retain" || got.WhenScaled != "Retain" {
		t.Errorf("got %+v", got)
	}
	c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenDeleted = v1alpha1.ClaimDelete
	if got := StatefulSet(c, testOptions, pods(c, 3)).
		Spec.PersistentVolumeClaimRetentionPolicy; got.WhenDeleted != "Delete" || got.WhenScaled != "Retain" {
		t.Errorf("got %+v", got)
	}
}

// TestClaimsOfWhoIsLeaving: data are deleted with a node that has left, and at no other time a
// StatefulSet has fewer pods.
func TestClaimsOfWhoIsLeaving(t *testing.T) {
	c := shop()
	policy := func(leaving bool) string {
		state := pods(c, 2)
		state.Leaving = leaving
		return string(StatefulSet(c, testOptions, state).Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled)
	}
	if got := policy(true); got != "Retain" {
		t.Errorf("by default: %s", got)
	}
	c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenScaled = v1alpha1.ClaimDelete
	if got := policy(true); got != "Delete" {
		t.Errorf("while one is leaving: %s", got)
	}
	if got := policy(false); got != "Retain" {
		t.Errorf("while no node is leaving: %s", got)
	}
}

// TestClaimTemplate: a StatefulSet's template cannot be changed when the volumes are to grow.
func TestClaimTemplate(t *testing.T) {
	state := StatefulSetState{Replicas: 3, Claim: resource.MustParse("512Mi")}
	got := StatefulSet(shop(), testOptions, state).
		Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
	if got.String() != "512Mi" {
		t.Errorf("got %s", got.String())
	}
}

func TestScheduling(t *testing.T) {
	pod := StatefulSet(shop(), testOptions, pods(shop(), 3)).Spec.Template.Spec
	if pod.Affinity.PodAntiAffinity == nil || len(pod.TopologySpreadConstraints) != 1 {
		t.Error("nodes are not spread by default")
	}
	c := shop()
	c.Spec.Scheduling.Affinity = everyScheduling().Affinity
	pod = StatefulSet(c, testOptions, pods(c, 3)).Spec.Template.Spec
	if pod.Affinity.PodAntiAffinity != nil || len(pod.TopologySpreadConstraints) != 0 {
		t.Error("the user's affinity does not replace the default")
	}
	own := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	c.Spec.Scheduling.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: "rack"},
		{TopologyKey: "row", LabelSelector: own}}
	spread := StatefulSet(c, testOptions, pods(c, 3)).Spec.Template.Spec.TopologySpreadConstraints
	if spread[0].LabelSelector.MatchLabels[v1alpha1.LabelCluster] != "shop" || !reflect.DeepEqual(spread[1].LabelSelector,
		own) {
		t.Errorf("selectors: %v, %v", spread[0].LabelSelector, spread[1].LabelSelector)
	}
	if c.Spec.Scheduling.TopologySpreadConstraints[0].LabelSelector != nil {
		t.Error("the spec was changed")
	}
}

// TestAgentResources: with requests equal to limits in one container only, the pod would lose its
// quality of service.
func TestAgentResources(t *testing.T) {
	pod := StatefulSet(everything(), testOptions, pods(everything(), 3)).Spec.Template.Spec
	if !reflect.DeepEqual(pod.InitContainers[0].Resources, pod.Containers[0].Resources) {
		t.Error("the init container has other resources than the database")
	}
}

// TestDatabaseRequests: a database pod always has a request for processor and memory, unless the user gave a request or
// a limit for that resource.
func TestDatabaseRequests(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		for name, text := range map[corev1.ResourceName]string{"cpu": cpu, "memory": memory} {
			if text != "" {
				l[name] = resource.MustParse(text)
			}
		}
		return l
	}
	for name, c := range map[string]struct{ requests, limits, want corev1.ResourceList }{
		"no resources get both defaults":                {nil, nil, list("250m", "512Mi")},
		"a memory request keeps the default for cpu":    {list("", "4Gi"), nil, list("250m", "4Gi")},
		"a limit counts as a request":                   {nil, list("", "4Gi"), list("250m", "")},
		"a user who wants no request writes zero":       {list("0", "0"), nil, list("0", "0")},
		"requests equal to limits stay as they are":     {list("2", "4Gi"), list("2", "4Gi"), list("2", "4Gi")},
		"limits for both leave Kubernetes' own default": {nil, list("2", "4Gi"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := shop()
			cluster.Spec.Resources = corev1.ResourceRequirements{Requests: c.requests, Limits: c.limits}
			got := databaseContainer(cluster, testOptions).Resources
			if !equality.Semantic.DeepEqual(got.Requests, c.want) || !equality.Semantic.DeepEqual(got.Limits, c.limits) {
				t.Errorf("got %v", got)
			}
			if !equality.Semantic.DeepEqual(cluster.Spec.Resources.Requests, c.requests) {
				t.Error("the spec was changed")
			}
		})
	}
}

func TestReplicasAreTheOperators(t *testing.T) {
	if got := *StatefulSet(shop(), testOptions, pods(shop(), 2)).Spec.Replicas; got != 2 {
		t.Errorf("got %d", got)
	}
}

// TestWithoutAcceleration: each kind of processor has a variable of its own, and it is not known where a pod will run.
func TestWithoutAcceleration(t *testing.T) {
	c := shop()
	for off, want := range map[string]map[string]string{
		"":    {},
		"Off": {"OPENSSL_ia32cap": "~0x200000200000000", "OPENSSL_armcap": "0x1"},
	} {
		c.Annotations = map[string]string{v1alpha1.AnnotationCPUAcceleration: off}
		got := map[string]string{}
		for _, e := range databaseContainer(c, testOptions).Env {
			if strings.HasPrefix(e.Name, "OPENSSL_") {
				got[e.Name] = e.Value
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v", off, got)
		}
	}
}

// TestOperatorImageIsNoNewTemplate: agents are replaced in place, so that another operator restarts no database.
func TestOperatorImageIsNoNewTemplate(t *testing.T) {
	hash := func(c *v1alpha1.GaleraCluster, o Options) string {
		return StatefulSet(c, o, pods(c, 3)).Spec.Template.Annotations[v1alpha1.AnnotationPodTemplate]
	}
	before, other, larger := hash(shop(), testOptions), testOptions, shop()
	other.OperatorImage = "operator:next"
	if got := hash(shop(), other); got != before || before == "" {
		t.Errorf("%q, was %q", got, before)
	}
	larger.Spec.Image = "mariadb:next"
	if hash(larger, testOptions) == before {
		t.Error("another database image is no new template")
	}
}
