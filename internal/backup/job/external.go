package job

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

const (
	volumeSource   = "source"
	volumeSourceCA = "source-ca"
	volumeCopied   = "copied"
	// reseed is in the names of what is done before a cluster is emptied.
	reseed = "-reseed-"
)

// Inspect is the Job that checks the server that spec.bootstrapFrom.external names.
func Inspect(c *v1alpha1.GaleraCluster, ro resources.Options, o Options) (*batchv1.Job, error) {
	t := External(c)
	meta := owned(c, "GaleraCluster", FindName(c), c.Name, ComponentRestore)
	return reading(meta, c, task.Task{Inspect: &t}, checkSeconds, ro, o,
		corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
}

// Recheck is the Job that does so before a follower is emptied: it needs as little as possible besides the nodes, which
// run.
func Recheck(c *v1alpha1.GaleraCluster, ro resources.Options, o Options) (*batchv1.Job, error) {
	j, err := Inspect(c, ro, o)
	if err != nil {
		return nil, err
	}
	j.Name = RecheckName(c)
	p := &j.Spec.Template.Spec
	p.TopologySpreadConstraints = nil
	if p.Affinity != nil {
		p.Affinity = &corev1.Affinity{NodeAffinity: p.Affinity.NodeAffinity}
	}
	for _, containers := range [][]corev1.Container{p.InitContainers, p.Containers} {
		for i := range containers {
			containers[i].Resources = memory("1Gi")
			containers[i].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("500m")
		}
	}
	return j, nil
}

// RecheckName is the name of the Job of the check that is made now, or was last.
func RecheckName(c *v1alpha1.GaleraCluster) string {
	r := c.Status.Reseed
	return fmt.Sprintf("%s%d-%d", c.Name+reseed, r.StartedAt.Unix(), r.Attempts)
}

// Import is the Job that copies that server to the first member's volume.
func Import(c *v1alpha1.GaleraCluster, ro resources.Options, o Options) (*batchv1.Job, error) {
	t := External(c)
	t.ID, t.History = c.Status.Restore.ID, c.Status.Restore.History
	meta := owned(c, "GaleraCluster", RestoreName(c, 0), c.Name, ComponentRestore, v1alpha1.LabelMember,
		resources.PodName(c, 0))
	j, err := reading(meta, c, task.Task{Import: &t}, longSeconds, ro, o, corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: resources.ClaimName(c, 0)}})
	if err != nil {
		return nil, err
	}
	showProgress(&j.Spec.Template.Spec, CopiedName(c))
	return j, nil
}

// InspectBackup is the Job that looks for the backup of another server, and checks the server that is to be followed.
func InspectBackup(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, ro resources.Options, o Options) (
	*batchv1.Job, error) {
	t := External(c)
	meta := owned(c, "GaleraCluster", FindName(c), c.Name, ComponentRestore)
	return adopting(meta, c, s, task.Task{Inspect: &t}, checkSeconds, ro, o,
		corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
}

// ImportBackup is the Job that fills the first member's volume with that backup.
func ImportBackup(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, ro resources.Options, o Options) (
	*batchv1.Job, error) {
	t := External(c)
	t.ID, t.History = c.Status.Restore.ID, c.Status.Restore.History
	if checked := c.Status.Restore.External; t.Follow && checked != nil {
		t.Live = checked.GTID
	}
	meta := owned(c, "GaleraCluster", RestoreName(c, 0), c.Name, ComponentRestore, v1alpha1.LabelMember,
		resources.PodName(c, 0))
	return adopting(meta, c, s, task.Task{Import: &t}, longSeconds, ro, o, corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: resources.ClaimName(c, 0)}})
}

// adopting is a Job like that of a restore: the store is read by containers of the operator's image.
func adopting(meta metav1.ObjectMeta, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, t task.Task,
	seconds int64, ro resources.Options, o Options, data corev1.VolumeSource) (*batchv1.Job, error) {
	j, err := render(meta, c, s, t, seconds, o, nil)
	if err != nil {
		return nil, err
	}
	if err := fill(&j.Spec.Template, c, s, t, ro, o, data); err != nil {
		return nil, err
	}
	if from := c.Spec.BootstrapFrom.External; from.Follow { // it is asked
		mountSource(&j.Spec.Template.Spec, from.CredentialsSecretRef, from.TLS)
	}
	return j, nil
}

// showProgress has a pod show how far it is, with the pair in a Secret.
func showProgress(pod *corev1.PodSpec, name string) {
	pod.Containers[0].Ports = []corev1.ContainerPort{
		{Name: "copied", ContainerPort: task.CopiedPort, Protocol: corev1.ProtocolTCP}}
	secret := &corev1.SecretVolumeSource{SecretName: name, DefaultMode: new(int32(0o440)),
		Optional: new(true)} // it copies without the pair, too
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		secret.Items = append(secret.Items, corev1.KeyToPath{Key: key, Path: key})
	}
	mount(pod, volumeCopied, task.CopiedDir, corev1.VolumeSource{Secret: secret})
}

// CopiedName is the Secret with the pair that this Job shows when it is asked how far it is.
func CopiedName(c *v1alpha1.GaleraCluster) string { return c.Name + "-copied" }

// Copied is that Secret, without the pair.
func Copied(c *v1alpha1.GaleraCluster) *corev1.Secret {
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: owned(c, "GaleraCluster", CopiedName(c), c.Name, ComponentRestore)}
}

// External is what both are given. Accounts that the operator makes are not copied.
func External(c *v1alpha1.GaleraCluster) task.External {
	from := c.Spec.BootstrapFrom.External
	t := task.External{Host: from.Host, Port: int(from.Port), Plain: from.TLS == nil, Databases: from.Databases,
		Follow:   from.Follow,
		Identity: from.TLS != nil && from.TLS.Verify != v1alpha1.VerifyCA, Users: from.Users,
		Skip: []string{resources.ArchiverName(c)}, Connections: int(from.Connections),
		VolumeBytes: c.Spec.Storage.Size.Value(), MemoryBytes: c.Spec.Resources.Limits.Memory().Value(),
		Settings: map[string]string{}}
	t.ServerID, t.Domain = resources.Identifiers(c)
	if from.RateLimit != nil {
		t.Rate = from.RateLimit.Value()
	}
	if from.Backup != nil {
		t.Backup = from.Backup.Path
	}
	for name, value := range c.Spec.MariaDB.Config {
		t.Settings[name] = value.String()
	}
	return t
}

// reading is a Job that connects to the source, with the cluster's image and user, and with the source's credentials.
func reading(meta metav1.ObjectMeta, c *v1alpha1.GaleraCluster, t task.Task, seconds int64, ro resources.Options,
	o Options, data corev1.VolumeSource) (*batchv1.Job, error) {
	env, err := environment(t, o)
	if err != nil {
		return nil, err
	}
	pod := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		ServiceAccountName: resources.ServiceAccountName(c), SecurityContext: podSecurity(mysqlID, o),
		ImagePullSecrets: append([]corev1.LocalObjectReference{}, c.Spec.ImagePullSecrets...),
	}
	place(&pod, c)
	database(&pod, c, env, ro, o, data)
	from := c.Spec.BootstrapFrom.External
	mountSource(&pod, from.CredentialsSecretRef, from.TLS)
	return once(meta, meta.Labels, pod, seconds), nil
}

// mountSource mounts what a Job connects to another server with.
func mountSource(pod *corev1.PodSpec, credentials v1alpha1.LocalName, tls *v1alpha1.ExternalTLS) {
	secret := func(volume, path, name string, keys ...string) {
		source := &corev1.SecretVolumeSource{SecretName: name, DefaultMode: new(int32(0o440))}
		for _, k := range keys {
			source.Items = append(source.Items, corev1.KeyToPath{Key: k, Path: k})
		}
		mount(pod, volume, path, corev1.VolumeSource{Secret: source})
	}
	secret(volumeSource, task.SourceDir, credentials.Name, task.SourceUser, task.SourcePassword)
	if tls != nil {
		secret(volumeSourceCA, task.SourceCADir, tls.CASecretRef.Name, task.CA)
	}
}
