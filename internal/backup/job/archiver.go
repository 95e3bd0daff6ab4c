package job

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

const (
	volumeClient = "client"
	// volumeEvents has the large events of a binary log that is replayed.
	volumeEvents    = "events"
	defaultInterval = 10 * time.Second
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
		Damaged:         bad.IDs, KeepAll: bad.More, SingleWriter: s.Spec.SingleWriter,
		Place: location.Annotation(s), Withdraws: withdraws(c, s),
		Overrules: c.Spec.OverrulesPromotion, Replaced: v1alpha1.Replaced(c)}
	for i := range int(max(c.Spec.Replicas, c.Status.Replicas)) {
		t.Nodes = append(t.Nodes, resources.PodHost(c, i, ro))
	}
	t.WindowSeconds = int64(archival.Window(c, s) / time.Second)
	if c.Status.Backup != nil {
		t.Session = c.Status.Backup.Session
	}
	if end := c.Spec.Cutover; end != nil {
		t.Ended = end.GTID
	}
	if i := c.Spec.Backup.PointInTime.Interval; i != nil {
		t.IntervalSeconds = max(1, int(i.Duration/time.Second))
	}
	meta := owned(c, "GaleraCluster", resources.ArchiverName(c), c.Name, resources.ComponentArchiver)
	d, err := lasting(meta, ArchiverLabels(c), "archive", c, s, task.Task{Archive: &t}, o)
	if err != nil {
		return nil, err
	}
	pod := &d.Spec.Template.Spec
	pod.Containers[0].Ports = []corev1.ContainerPort{{Name: "archived", ContainerPort: task.ArchiverPort,
		Protocol: corev1.ProtocolTCP}}
	mountClient(pod, c)
	return d, nil
}

// withdraws is what the archiver is to record to make a token void, nil for nothing. In another store than the token's
// that would keep no one from using it.
func withdraws(c *v1alpha1.GaleraCluster, in *v1alpha1.GaleraBackupStore) *task.Promotion {
	s := c.Status.SwitchSite
	if s == nil || s.Phase != v1alpha1.SwitchWithdrawing || s.Token == nil || s.Location == nil ||
		*s.Location != location.Of(in) {
		return nil
	}
	return &task.Promotion{Number: uint64(s.Token.Number), //nolint:gosec // records are counted from one on
		Namespace: c.Namespace, Name: c.Name, UID: string(c.UID), GTID: s.Token.GTID, Withdrawn: true}
}
