package job

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	volumeTmp = "tmp"
	// graceSeconds is for what was read to be stored when the pod is asked to stop.
	graceSeconds = int64(30)
)

// lasting is the Deployment of one pod that does a task with a store until it is asked to stop. The old pod goes before
// the new one comes.
func lasting(meta metav1.ObjectMeta, selector map[string]string, command string, c *v1alpha1.GaleraCluster,
	s *v1alpha1.GaleraBackupStore, t task.Task, o Options) (*appsv1.Deployment, error) {
	t.Store = Store(s)
	env, err := environment(t, o)
	if err != nil {
		return nil, err
	}
	user := uid
	if s.Spec.Volume != nil {
		user = mysqlID
	}
	pod := corev1.PodSpec{
		AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), ServiceAccountName: AccountName(s),
		SecurityContext: podSecurity(user, o), TerminationGracePeriodSeconds: new(graceSeconds),
		Containers: []corev1.Container{{
			Name: meta.Labels[component], Image: o.Image, ImagePullPolicy: corev1.PullIfNotPresent,
			Command: []string{program, command}, Env: env,
			SecurityContext: containerSecurity(), Resources: memory("512Mi"),
			VolumeMounts: []corev1.VolumeMount{{Name: volumeTmp, MountPath: "/tmp"}},
		}},
		Volumes: []corev1.Volume{{Name: volumeTmp,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}
	schedule(&pod, c, s)
	addStore(&pod, s)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), RevisionHistoryLimit: new(int32(1)),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: withIdentity(meta.Labels, s)}, Spec: pod},
		},
	}, nil
}
