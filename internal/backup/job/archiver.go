package job

import (
	"encoding/json"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/logs"
	"github.com/galera-operator/galera-operator/internal/resources"
)

const (
	volumeClient = "client"
	volumeTmp    = "tmp"
	// volumeEvents has the large events of a binary log that is replayed.
	volumeEvents = "events"
	// archiverGraceSeconds is for what was read to be stored when the pod is asked to stop.
	archiverGraceSeconds = int64(30)
	defaultInterval      = 10 * time.Second
	defaultWindow        = 720 * time.Hour
)

// ArchiverUser is the account of the archiver: it reads the binary log, with a certificate of its own and without a
// password. Its name in the database is of this very cluster: a restored one has those of others.
func ArchiverUser(c *v1alpha1.GaleraCluster) *v1alpha1.GaleraUser {
	return &v1alpha1.GaleraUser{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GaleraUser"},
		ObjectMeta: owned(c, "GaleraCluster", resources.ArchiverName(c), c.Name, resources.ComponentArchiver),
		Spec: v1alpha1.GaleraUserSpec{
			ClusterRef: v1alpha1.ClusterReference{Name: c.Name}, Name: archiverAccount(c), Require: v1alpha1.RequireX509,
			Authentication: v1alpha1.AuthenticationSpec{None: true}, Endpoint: v1alpha1.EndpointReadOnly,
			DeletionPolicy: v1alpha1.AccountDelete,
			Grants:         []v1alpha1.GrantSpec{{Privileges: []string{"REPLICATION SLAVE"}}},
		},
	}
}

func archiverAccount(c *v1alpha1.GaleraCluster) string {
	uid := string(c.UID)
	return "archiver-" + uid[:min(len(uid), 8)]
}

// window is for how long every point in time is kept: what the store's retention promises for backups holds for the
// archive, too.
func window(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore) time.Duration {
	out := defaultWindow
	if w := c.Spec.Backup.PointInTime.Window; w != nil {
		out = w.Duration
	}
	if r := s.Spec.Retention; r != nil && r.KeepWithin != nil {
		out = max(out, r.KeepWithin.Duration)
	}
	return out
}

// ArchiverLabels select the archiver's pod.
func ArchiverLabels(c *v1alpha1.GaleraCluster) map[string]string {
	return map[string]string{v1alpha1.LabelCluster: c.Name, component: resources.ComponentArchiver}
}

// Damaged are the IDs of backups that were found damaged. More reports whether there are others.
type Damaged struct {
	IDs  []string
	More bool
}

// Archiver is the Deployment of the one pod that follows the binary log. The old pod goes before the new one comes.
func Archiver(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, bad Damaged, ro resources.Options, o Options) (
	*appsv1.Deployment, error) {
	t := task.Archive{Dir: manifest.Dir(c.Namespace, c.Name, string(c.UID)), Recipients: s.Spec.Encryption.Recipients,
		User:            archiverAccount(c),
		ReadOnly:        resources.ReadOnlyServiceName(c) + "." + c.Namespace + ".svc",
		IntervalSeconds: int(defaultInterval / time.Second),
		Damaged:         bad.IDs, KeepAll: bad.More, SingleWriter: s.Spec.SingleWriter}
	for i := range int(max(c.Spec.Replicas, c.Status.Replicas)) {
		t.Nodes = append(t.Nodes, resources.PodHost(c, i, ro))
	}
	t.WindowSeconds = int64(window(c, s) / time.Second)
	if c.Status.Backup != nil {
		t.Session = c.Status.Backup.Session
	}
	if i := c.Spec.Backup.PointInTime.Interval; i != nil {
		t.IntervalSeconds = max(1, int(i.Duration/time.Second))
	}
	text, err := json.Marshal(task.Task{Store: Store(s), Archive: &t})
	if err != nil {
		return nil, err
	}
	user := uid
	if s.Spec.Volume != nil {
		user = mysqlID
	}
	pod := corev1.PodSpec{
		AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), ServiceAccountName: AccountName(s),
		SecurityContext: podSecurity(user, o), TerminationGracePeriodSeconds: new(archiverGraceSeconds),
		Containers: []corev1.Container{{
			Name: resources.ComponentArchiver, Image: o.Image, ImagePullPolicy: corev1.PullIfNotPresent,
			Command: []string{program, "archive"},
			Env: []corev1.EnvVar{{Name: task.EnvTask, Value: string(text)},
				{Name: logs.EnvFormat, Value: o.LogFormat}},
			SecurityContext: containerSecurity(), Resources: memory("512Mi"),
			Ports: []corev1.ContainerPort{{Name: "archived", ContainerPort: task.ArchiverPort,
				Protocol: corev1.ProtocolTCP}},
			VolumeMounts: []corev1.VolumeMount{{Name: volumeTmp, MountPath: "/tmp"}},
		}},
		Volumes: []corev1.Volume{{Name: volumeTmp,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}
	schedule(&pod, c, s)
	addStore(&pod, s)
	mount(&pod, volumeClient, task.ClientDir, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: ArchiverUser(c).BindingName(), DefaultMode: new(int32(0o440)),
		Items: []corev1.KeyToPath{{Key: "tls.crt", Path: "tls.crt"}, {Key: "tls.key", Path: "tls.key"},
			{Key: "ca.crt", Path: "ca.crt"}}}})
	meta := owned(c, "GaleraCluster", resources.ArchiverName(c), c.Name, resources.ComponentArchiver)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), RevisionHistoryLimit: new(int32(1)),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: ArchiverLabels(c)},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: withIdentity(meta.Labels, s)}, Spec: pod},
		},
	}, nil
}
