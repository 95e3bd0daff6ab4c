// Package job renders the Jobs of backups, stores and restores, and what they need. It is pure.
package job

import (
	"encoding/json"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/logs"
	"github.com/galera-operator/galera-operator/internal/resources"
)

const (
	component = "app.kubernetes.io/component"
	// componentStore is the value of that label on the Jobs that check a store.
	componentStore = "backup-store"
	// ComponentBackup is that of Jobs that read a node, or remove a backup: agents are reached by them alone.
	ComponentBackup = resources.ComponentBackup
	// ComponentVerify is that of Jobs that test a backup.
	ComponentVerify = resources.ComponentVerify
	// ComponentRestore is that of Jobs that fill volumes.
	ComponentRestore = resources.ComponentRestore

	// Container is the name of the Job's container. In a restore it has the cluster's image.
	Container = "backup"
	// ContainerFetch is the sidecar of a restore that holds the private key and the store's credentials, and has the
	// operator's image.
	ContainerFetch = "fetch"
	// ContainerOpen tries both before, and puts the program where Container has it.
	ContainerOpen = "open"
	// ContainerInstall puts the program where Container has it, in a Job without a store.
	ContainerInstall = "install"

	program = "/backup"
	uid     = int64(65532)

	volumeStore = "store"
	volumeAgent = "agent"
	volumeKeys  = "keys"
	volumePipe  = "pipe"
	volumeData  = "data-keys"
	volumeBin   = "bin"

	// keepSeconds is how long a Job that has ended is kept for people to look at.
	keepSeconds = 24 * 3600
	// checkSeconds and longSeconds are when a Job is given up: one that looks, and one that copies.
	checkSeconds = 10 * 60
	longSeconds  = 7 * 24 * 3600
)

// Options of the operator.
type Options struct {
	// Image is the operator's, which has the program.
	Image string
	// AssignedUsers reports whether pods name no user: resources.Options.
	AssignedUsers bool
	// LogFormat is how it writes its log: text or json; "" is text.
	LogFormat string
	// ServiceAccounts are those that a store may name in addition to those whose names end in resources.AccountSuffix.
	ServiceAccounts []string
}

// owned is the metadata of a Job of an owner. cluster is "" where there is none: the operator sees only what has the
// label.
func owned(o client.Object, kind, name, cluster, of string, extra ...string) metav1.ObjectMeta {
	labels := map[string]string{v1alpha1.LabelCluster: cluster, component: of,
		"app.kubernetes.io/managed-by": "galera-operator"}
	for i := 0; i+1 < len(extra); i += 2 {
		labels[extra[i]] = extra[i+1]
	}
	return metav1.ObjectMeta{Name: name, Namespace: o.GetNamespace(), Labels: labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o, gvk(kind))}}
}

func gvk(kind string) schema.GroupVersionKind { return v1alpha1.GroupVersion.WithKind(kind) }

// Check is the Job that shows whether a store can be used.
func Check(s *v1alpha1.GaleraBackupStore, o Options) (*batchv1.Job, error) {
	meta := owned(s, "GaleraBackupStore", CheckName(s), "", componentStore, v1alpha1.LabelStore, s.Name)
	return render(meta, nil, s, task.Task{Check: &task.Check{Recipients: s.Spec.Encryption.Recipients,
		SingleWriter: s.Spec.SingleWriter}}, checkSeconds, o, nil)
}

// CheckName is the name of the check that was begun last.
func CheckName(s *v1alpha1.GaleraBackupStore) string {
	return s.Name + "-store-check-" + strconv.FormatInt(s.Status.Checks, 10)
}

// Backup is the Job of one attempt at a backup.
func Backup(b *v1alpha1.GaleraBackup, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, t task.Backup,
	attempt int32, o Options) (*batchv1.Job, error) {
	meta := owned(b, "GaleraBackup", Name(b, attempt), b.Spec.ClusterRef.Name, ComponentBackup, v1alpha1.LabelBackup,
		b.Name, v1alpha1.LabelStore, s.Name)
	t.SingleWriter, t.Attempt = s.Spec.SingleWriter, attempt
	return render(meta, c, s, task.Task{Backup: &t}, longSeconds, o, func(p *corev1.PodSpec) {
		mount(p, volumeAgent, task.AgentDir, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: KeyName(b),
			DefaultMode: new(int32(0o440))}})
	})
}

// Describe is the Job of one attempt at reading what a backup is that the store has already. The cluster is nil when it
// is gone.
func Describe(b *v1alpha1.GaleraBackup, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, o Options) (
	*batchv1.Job, error) {
	meta := owned(b, "GaleraBackup", Name(b, b.Status.Attempts), b.Spec.ClusterRef.Name, ComponentVerify,
		v1alpha1.LabelBackup, b.Name, v1alpha1.LabelStore, s.Name)
	t := task.Task{Describe: &task.Describe{Dir: b.Spec.Import.Directory, ID: b.Spec.Import.ID}}
	return render(meta, c, s, t, checkSeconds, o, nil)
}

// Name of the Job of an attempt.
func Name(b *v1alpha1.GaleraBackup, attempt int32) string {
	return b.Name + "-backup-" + strconv.Itoa(int(attempt))
}

// KeyName is the Secret with the key that the Job shows to the node's agent.
func KeyName(b *v1alpha1.GaleraBackup) string { return b.Name + "-backup-key" }

// Key is that Secret. ca is what the agent's certificate is verified by.
func Key(b *v1alpha1.GaleraBackup, cert, key, ca []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: owned(b, "GaleraBackup", KeyName(b), b.Spec.ClusterRef.Name, ComponentBackup, v1alpha1.LabelBackup,
			b.Name),
		Data: map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": ca},
	}
}

// Remove is the Job that deletes a backup from its store. The cluster is nil when it is gone. others are the IDs of
// backups that are known not to add to it.
func Remove(b *v1alpha1.GaleraBackup, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, o Options,
	others ...string) (*batchv1.Job, error) {
	meta := owned(b, "GaleraBackup", RemoveName(b), b.Spec.ClusterRef.Name, ComponentBackup, v1alpha1.LabelBackup, b.Name,
		v1alpha1.LabelStore, s.Name)
	t := task.Task{Remove: &task.Remove{Dir: b.Status.Directory, ID: b.Status.ID, Others: others}}
	if b.Spec.Import != nil { // it was made by another object, or elsewhere
		t.Remove.Checksum = b.Status.Checksum
	}
	return render(meta, c, s, t, longSeconds, o, nil)
}

// RemoveName is the name of the attempt that was begun last.
func RemoveName(b *v1alpha1.GaleraBackup) string {
	return b.Name + "-remove-" + strconv.Itoa(int(b.Status.Removals))
}

// render is a Job that does a task with a store, for a cluster, nil for none.
func render(meta metav1.ObjectMeta, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, t task.Task,
	seconds int64, o Options, more func(*corev1.PodSpec)) (*batchv1.Job, error) {
	t.Store = Store(s)
	meta.Annotations = map[string]string{v1alpha1.AnnotationStoreLocation: location.Annotation(s)}
	env, err := environment(t, o)
	if err != nil {
		return nil, err
	}
	user := uid
	if s.Spec.Volume != nil {
		user = mysqlID // who restores reads what others have written there; many volumes know no groups
	}
	pod := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		ServiceAccountName: AccountName(s), SecurityContext: podSecurity(user, o),
		Containers: []corev1.Container{{
			Name: Container, Image: o.Image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{program, "run"},
			Env: env, SecurityContext: containerSecurity(), Resources: memory("512Mi"),
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
	}
	schedule(&pod, c, s)
	addStore(&pod, s)
	if more != nil {
		more(&pod)
	}
	return once(meta, withIdentity(meta.Labels, s), pod, seconds), nil
}

// once returns the Job that runs a pod once: an attempt that failed is judged, and made again as another Job.
func once(meta metav1.ObjectMeta, labels map[string]string, pod corev1.PodSpec, seconds int64) *batchv1.Job {
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			BackoffLimit:            new(int32(0)),
			ActiveDeadlineSeconds:   new(seconds),
			TTLSecondsAfterFinished: new(int32(keepSeconds)),
			Template:                corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}

// environment returns what a container's program is given.
func environment(t task.Task, o Options) ([]corev1.EnvVar, error) {
	text, err := json.Marshal(t)
	return []corev1.EnvVar{{Name: task.EnvTask, Value: string(text)}, {Name: logs.EnvFormat, Value: o.LogFormat}}, err
}

// mount adds a volume that the container reads.
func mount(p *corev1.PodSpec, name, path string, source corev1.VolumeSource) {
	p.Volumes = append(p.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	c := &p.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: true})
}

func memory(limit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"),
			corev1.ResourceMemory: resource.MustParse("64Mi")},
		// a ResourceQuota may ask for both
		Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"),
			corev1.ResourceMemory: resource.MustParse(limit)},
	}
}

// podSecurity is that of the level "restricted".
func podSecurity(user int64, o Options) *corev1.PodSecurityContext {
	s := &corev1.PodSecurityContext{RunAsNonRoot: new(true),
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch)}
	if !o.AssignedUsers {
		s.RunAsUser, s.RunAsGroup, s.FSGroup = new(user), new(user), new(user)
	}
	return s
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
