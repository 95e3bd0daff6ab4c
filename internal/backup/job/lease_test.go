package job

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestLease: two pods renew a lease, on different hosts if there are, of which an update leaves two there. They have
// the archiver's certificate and the store's credentials, and nothing else.
func TestLease(t *testing.T) {
	c := shop()
	c.Status.Replicas = 5
	s := &v1alpha1.GaleraBackupStore{Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "backups",
		Credentials: &v1alpha1.S3Credentials{SecretName: "s3", AccessKeyIDKey: "a", SecretAccessKeyKey: "b"}}}}
	d, err := Lease(c, s, resources.Options{}, Options{Image: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	p := d.Spec.Template.Spec
	at := map[string]bool{}
	for _, m := range p.Containers[0].VolumeMounts {
		at[m.MountPath] = true
	}
	if len(p.Volumes) != 3 || !at[task.ClientDir] || !at[task.StoreDir] || p.Containers[0].Command[1] != "lease" ||
		len(p.TopologySpreadConstraints) != 1 || *p.AutomountServiceAccountToken {
		t.Errorf("%+v", p)
	}
	update := d.Spec.Strategy.RollingUpdate
	if *d.Spec.Replicas != 2 || update == nil || update.MaxUnavailable.IntVal != 0 || update.MaxSurge.IntVal != 1 {
		t.Errorf("%+v", d.Spec)
	}
	probe := p.Containers[0].StartupProbe
	if probe == nil || !slices.Equal(probe.Exec.Command, []string{p.Containers[0].Command[0], "renewed"}) ||
		probe.FailureThreshold < math.MaxInt32 || p.Containers[0].ReadinessProbe != nil {
		t.Errorf("an update does not wait for a renewal: %+v", probe)
	}
	budget := LeaseBudget(c)
	selects, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil || !selects.Matches(labels.Set(d.Spec.Template.Labels)) || budget.Spec.MaxUnavailable.IntVal != 1 ||
		budget.Name != d.Name || !metav1.IsControlledBy(budget, c) {
		t.Errorf("%+v: %v", budget, err)
	}
	var reported task.Task
	if err := json.Unmarshal([]byte(p.Containers[0].Env[0].Value), &reported); err != nil || reported.Lease == nil ||
		reported.Lease.Dir != "demo/shop/a54080f9" || len(reported.Lease.Nodes) != 5 {
		t.Errorf("%s: %v", p.Containers[0].Env[0].Value, err)
	}
}
