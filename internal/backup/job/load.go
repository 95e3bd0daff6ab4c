package job

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

const (
	// ComponentLoad is the value of the component's label on the Jobs of a GaleraRestore: the cluster admits them as
	// clients.
	ComponentLoad = resources.ComponentLoad

	volumeCluster = "cluster"
)

// FindFor is the Job that looks for the backup of a GaleraRestore, and tries the private key on it.
func FindFor(r *v1alpha1.GaleraRestore, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, t task.Find,
	o Options) (*batchv1.Job, error) {
	return render(ofRestore(r, s), c, s, task.Task{Find: &t}, longSeconds, o,
		func(p *corev1.PodSpec) { addKeys(p, r.Spec.From.IdentitySecretRef) })
}

// Load is the Job that restores a backup on a volume that goes with its pod, and loads tables of it into the cluster.
// binding is the Secret with the account for that.
func Load(r *v1alpha1.GaleraRestore, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, t task.Load,
	binding string, ro resources.Options, o Options) (*batchv1.Job, error) {
	all, meta := task.Task{Load: &t}, ofRestore(r, s)
	if target := TargetName(r); target != "" {
		meta.Labels[v1alpha1.LabelRestoreTarget] = target
	}
	j, err := render(meta, c, s, all, longSeconds, o,
		func(p *corev1.PodSpec) { addKeys(p, r.Spec.From.IdentitySecretRef) })
	if err != nil {
		return nil, err
	}
	template := &j.Spec.Template
	err = fill(template, c, s, all, ro, o, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: resources.Claim(c, 0).Spec}}})
	mountAccount(&template.Spec, binding)
	return j, err
}

// InspectFor is the Job that checks the server that a GaleraRestore names.
func InspectFor(r *v1alpha1.GaleraRestore, c *v1alpha1.GaleraCluster, o Options) (*batchv1.Job, error) {
	return fromServer(r, c, task.Task{Inspect: serverOf(r)}, checkSeconds, o)
}

// LoadFrom is the Job that copies tables of that server into the cluster. It needs no volume, and has the operator's
// image: binding is the Secret with the account for that.
func LoadFrom(r *v1alpha1.GaleraRestore, c *v1alpha1.GaleraCluster, t task.Load, binding string, o Options) (
	*batchv1.Job, error) {
	t.From = serverOf(r)
	j, err := fromServer(r, c, task.Task{Load: &t}, longSeconds, o)
	if err != nil {
		return nil, err
	}
	mountAccount(&j.Spec.Template.Spec, binding)
	showProgress(&j.Spec.Template.Spec, ProgressName(r))
	if target := TargetName(r); target != "" {
		j.Labels[v1alpha1.LabelRestoreTarget] = target // those of the pod are the same
	}
	return j, nil
}

// ProgressName is that of the Secret with the pair that this Job shows when it is asked how far it is, and of the
// NetworkPolicy by which it can be.
func ProgressName(r *v1alpha1.GaleraRestore) string { return r.Name + "-load-progress" }

// Progress is that Secret, without the pair.
func Progress(r *v1alpha1.GaleraRestore) *corev1.Secret {
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: ofProgress(r)}
}

// ProgressPolicy is that NetworkPolicy, nil where the cluster has none.
func ProgressPolicy(r *v1alpha1.GaleraRestore, c *v1alpha1.GaleraCluster,
	ro resources.Options) *networkingv1.NetworkPolicy {
	return resources.ProgressPolicy(c, ofProgress(r), map[string]string{v1alpha1.LabelCluster: r.Spec.ClusterRef.Name,
		component: ComponentLoad, v1alpha1.LabelRestore: r.Name}, ro)
}

func ofProgress(r *v1alpha1.GaleraRestore) metav1.ObjectMeta {
	return owned(r, "GaleraRestore", ProgressName(r), r.Spec.ClusterRef.Name, ComponentLoad, v1alpha1.LabelRestore, r.Name)
}

// serverOf is what both are given.
func serverOf(r *v1alpha1.GaleraRestore) *task.External {
	from, own := r.Spec.From.External, resourcesOf(r)
	t := &task.External{Host: from.Host, Port: int(from.Port), Plain: from.TLS == nil, Only: true,
		MemoryBytes: own.Limits.Memory().Value(),
		Identity:    from.TLS != nil && from.TLS.Verify != v1alpha1.VerifyCA, Connections: int(from.Connections)}
	if from.RateLimit != nil {
		t.Rate = from.RateLimit.Value()
	}
	if d := r.Spec.Database; d != nil {
		t.Databases = []string{string(d.Name)}
	} else {
		t.Databases, t.Table = []string{string(r.Spec.Table.Database)}, string(r.Spec.Table.Name)
	}
	return t
}

// resourcesOf are those of the container of each.
func resourcesOf(r *v1alpha1.GaleraRestore) corev1.ResourceRequirements {
	return merged(memory("1Gi"), r.Spec.From.External.DeepCopy().Resources)
}

// fromServer is a Job that connects to that server, with its credentials.
func fromServer(r *v1alpha1.GaleraRestore, c *v1alpha1.GaleraCluster, t task.Task, seconds int64, o Options) (
	*batchv1.Job, error) {
	env, err := environment(t, o)
	if err != nil {
		return nil, err
	}
	meta := owned(r, "GaleraRestore", LoadName(r), r.Spec.ClusterRef.Name, ComponentLoad, v1alpha1.LabelRestore, r.Name)
	pod := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		ServiceAccountName: resources.ServiceAccountName(c), SecurityContext: podSecurity(uid, o),
		Containers: []corev1.Container{{
			Name: Container, Image: o.Image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{program, "run"},
			Env: env, SecurityContext: containerSecurity(),
			Resources:                resourcesOf(r),
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
	}
	ofCluster(&pod, c)
	limitMemory(&pod.Containers[0])
	from := r.Spec.From.External
	mountSource(&pod, from.CredentialsSecretRef, from.TLS)
	return once(meta, meta.Labels, pod, seconds), nil
}

// mountAccount mounts what a Job logs in to the cluster with.
func mountAccount(p *corev1.PodSpec, binding string) {
	source := &corev1.SecretVolumeSource{SecretName: binding, DefaultMode: new(int32(0o440))}
	for _, key := range []string{task.ClusterHost, task.ClusterUser, task.ClusterPassword, task.CA} {
		source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: key})
	}
	mount(p, volumeCluster, task.ClusterDir, corev1.VolumeSource{Secret: source})
}

// LoadName is the name of the Job of a GaleraRestore that was begun last.
func LoadName(r *v1alpha1.GaleraRestore) string {
	return r.Name + "-load-" + strconv.Itoa(int(r.Status.Attempts))
}

// TargetName is the name of the GaleraDatabase of the new database, "" without one. It is the same for every restore
// into a database of this name: a restore that failed leaves the empty database with the mark of its GaleraDatabase,
// which one of the same name takes over.
func TargetName(r *v1alpha1.GaleraRestore) string {
	if r.Spec.Database == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(r.Spec.Database.As))
	return r.Spec.ClusterRef.Name + "-restored-" + hex.EncodeToString(sum[:6])
}

func ofRestore(r *v1alpha1.GaleraRestore, s *v1alpha1.GaleraBackupStore) metav1.ObjectMeta {
	return owned(r, "GaleraRestore", LoadName(r), r.Spec.ClusterRef.Name, ComponentLoad, v1alpha1.LabelRestore, r.Name,
		v1alpha1.LabelStore, s.Name)
}
