package validate

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

func TestImage(t *testing.T) {
	const older, later = "10.11.18-MariaDB", "11.8.6-MariaDB"
	for name, c := range map[string]struct {
		have, wanted string
		versions     [3]string
		refused      bool
	}{
		"back to an older series": {"mariadb:11.8", "mariadb:10.11", [3]string{later, later, later}, true},
		"with all that a name can have": {"reg:5000/a/mariadb:11.8.6-noble", "reg:5000/a/mariadb:10.11-jammy@sha256:1234",
			[3]string{later, later, later}, true},
		"an upgrade":                       {"mariadb:10.11", "mariadb:11.8", [3]string{older, older, older}, false},
		"another build of the series":      {"mariadb:11.8.6", "mariadb:11.8.5", [3]string{later, later, later}, false},
		"back in the middle of an upgrade": {"mariadb:11.8", "mariadb:10.11", [3]string{older, older, later}, false},
		"while a node is not known":        {"mariadb:11.8", "mariadb:10.11", [3]string{later, later, ""}, false},
		"tags that mean something else":    {"acme/db:7.3", "acme/db:7.2", [3]string{later, later, later}, false},
		"a tag that reports nothing":       {"mariadb:11.8", "mariadb:lts", [3]string{later, later, later}, false},
		"no tag":                           {"mariadb:11.8", "reg:5000/mariadb", [3]string{later, later, later}, false},
		"nothing has been published":       {"", "mariadb:10.11", [3]string{}, false},
		"two steps at once": {"mariadb:10.6", "mariadb:11.8", [3]string{"10.6.22-MariaDB", "10.6.22-MariaDB",
			"10.6.22-MariaDB"}, true},
		"two steps, one node is behind": {"mariadb:11.8", "mariadb:11.8.7", [3]string{later, later, "10.6.22-MariaDB"},
			true},
		"the first step": {"mariadb:10.6", "mariadb:10.11", [3]string{"10.6.22-MariaDB", "10.6.22-MariaDB",
			"10.6.22-MariaDB"}, false},
		"a step without new collations": {"mariadb:10.6", "mariadb:11.4", [3]string{"10.6.22-MariaDB", "10.6.22-MariaDB",
			"10.6.22-MariaDB"}, false},
		"the second step, and not known": {"mariadb:10.11", "mariadb:11.8", [3]string{older, older, ""}, false},
		"a port is no tag": {"mariadb:11.8", "reg:5/mariadb@sha256:1234", [3]string{later, later, later},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			f := observe.Facts{Cluster: &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
			f.Cluster.Spec.Replicas, f.Cluster.Status.Replicas = 3, 3
			if c.have != "" {
				f.StatefulSet = &appsv1.StatefulSet{}
				f.StatefulSet.Spec.Template.Spec.Containers = []corev1.Container{{Name: resources.ContainerName, Image: c.have}}
			}
			seen := map[string]observe.Seen{}
			for i, v := range c.versions {
				pod := resources.PodName(f.Cluster, i)
				if i == 0 { // its agent does not answer any more
					f.Cluster.Status.Members = []v1alpha1.MemberStatus{{Name: pod, Version: v}}
					continue
				}
				seen[pod] = observe.Seen{Report: agentapi.Report{Image: agentapi.ImageReport{ServerVersion: v}}}
			}
			if why := Image(c.wanted, f, seen); (why != nil) != c.refused {
				t.Error(why)
			}
		})
	}
}

func TestTooOld(t *testing.T) {
	for image, want := range map[string]bool{"mariadb:11.4": true, "r:5000/mariadb:10.11.8@sha256:0": true,
		"mariadb:11.8.1": false, "mariadb:12.0": false, "mariadb:lts": false, "mariadb": false} {
		if got := TooOld(image, "11.8.9-MariaDB"); got != want {
			t.Errorf("%s: %v", image, got)
		}
	}
	if TooOld("mariadb:10.11", "") {
		t.Error("than a version that is not known")
	}
}
