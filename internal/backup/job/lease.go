package job

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// leasePods is how many renew a lease: one is enough, and a host, or an update, takes one away for longer than a lease
// lasts.
const leasePods = 2

// Lease is the Deployment of the pods that renew the lease by which a cluster's nodes accept writes. They have the
// archiver's certificate.
func Lease(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, ro resources.Options, o Options) (
	*appsv1.Deployment, error) {
	t := task.Lease{Dir: manifest.Dir(c.Namespace, c.Name, string(c.UID))}
	for i := range int(max(c.Spec.Replicas, c.Status.Replicas)) {
		t.Nodes = append(t.Nodes, resources.PodHost(c, i, ro))
	}
	labels := leaseLabels(c)
	meta := owned(c, "GaleraCluster", resources.LeaseName(c), c.Name, resources.ComponentLease)
	d, err := lasting(meta, labels, "lease", c, s, task.Task{Lease: &t}, o)
	if err != nil {
		return nil, err
	}
	d.Spec.Replicas = new(int32(leasePods))
	one, none := intstr.FromInt32(1), intstr.FromInt32(0)
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &none, MaxSurge: &one}}
	pod := &d.Spec.Template.Spec
	// An update replaces no pod until the new one has renewed the lease.
	pod.Containers[0].StartupProbe = &corev1.Probe{PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: math.MaxInt32,
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{program, "renewed"}}}}
	pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname,
		WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}
	mountClient(pod, c)
	return d, nil
}

func leaseLabels(c *v1alpha1.GaleraCluster) map[string]string {
	return map[string]string{v1alpha1.LabelCluster: c.Name, component: resources.ComponentLease}
}

// LeaseBudget keeps a drain from taking both pods at once: they are on one host after the other one was away. One that
// has not renewed yet may go.
func LeaseBudget(c *v1alpha1.GaleraCluster) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "PodDisruptionBudget"},
		ObjectMeta: owned(c, "GaleraCluster", resources.LeaseName(c), c.Name, resources.ComponentLease),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             new(intstr.FromInt32(1)),
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
			Selector:                   &metav1.LabelSelector{MatchLabels: leaseLabels(c)},
		},
	}
}

// mountClient mounts what the archiver proves to nodes and their agents.
func mountClient(pod *corev1.PodSpec, c *v1alpha1.GaleraCluster) {
	mount(pod, volumeClient, task.ClientDir, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: ArchiverUser(c).BindingName(), DefaultMode: new(int32(0o440)),
		Items: []corev1.KeyToPath{{Key: "tls.crt", Path: "tls.crt"}, {Key: "tls.key", Path: "tls.key"},
			{Key: "ca.crt", Path: "ca.crt"}}}})
}
