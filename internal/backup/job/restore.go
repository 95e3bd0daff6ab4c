package job

import (
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// mysqlID is the user of the database pods, whose volumes a restore fills.
const mysqlID = int64(999)

// Find is the Job that looks for the backup of a restore, and tries the private key on it. It reads the heads of the
// segments up to the point in time, of which there may be hundreds of thousands.
func Find(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, t task.Find, o Options) (*batchv1.Job, error) {
	t.Created = mycnf.Created(resources.Settings(c))
	meta := owned(c, "GaleraCluster", FindName(c), c.Name, ComponentRestore)
	return render(meta, c, s, task.Task{Find: &t}, longSeconds, o,
		func(p *corev1.PodSpec) { addKeys(p, c.Bootstrap().IdentitySecretRef) })
}

// Refind is Find before a cluster is emptied that is to follow the one which has taken over from it.
func Refind(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, t task.Find, o Options) (*batchv1.Job, error) {
	j, err := Find(c, s, t, o)
	if err == nil {
		j.Name = RefindName(c)
	}
	return j, err
}

// RefindName is the name of the Job that looks for the backup now, or was last. Another spec may name another one.
func RefindName(c *v1alpha1.GaleraCluster) string {
	return fmt.Sprintf("%s%d-%d", c.Name+reseed, c.Generation, c.Status.Reseed.Attempts)
}

// FindName is the name of an attempt's Job. Another spec may name another backup.
func FindName(c *v1alpha1.GaleraCluster) string {
	return c.Name + "-find-" + strconv.FormatInt(c.Generation, 10) + "-" + attempt(c)
}

func attempt(c *v1alpha1.GaleraCluster) string {
	if c.Status.Restore == nil {
		return "0"
	}
	return strconv.Itoa(int(c.Status.Restore.Attempts))
}

// RestoreName is the name of the Job that fills a member's volume. A restore that is begun anew after a change of the
// spec has Jobs of its own.
func RestoreName(c *v1alpha1.GaleraCluster, ordinal int) string {
	return RestoreNameOf(c, resources.PodName(c, ordinal))
}

// RestoreNameOf is that of the member of a name.
func RestoreNameOf(c *v1alpha1.GaleraCluster, member string) string {
	generation, number := int64(0), attempt(c)
	if r := c.Status.Restore; r != nil {
		generation = r.ObservedGeneration
		if n, own := r.MemberAttempts[member]; own {
			number = strconv.Itoa(int(n))
		}
	}
	return member + "-restore-" + strconv.FormatInt(generation, 10) + "-" + number
}

// RestoreLabels select the Jobs of a cluster's restore.
func RestoreLabels(c *v1alpha1.GaleraCluster) map[string]string {
	return map[string]string{v1alpha1.LabelCluster: c.Name, component: ComponentRestore}
}

// Restore is the Job that fills a member's volume. It runs where the member could run, with the member's image and
// user.
func Restore(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, ordinal int, t task.Restore,
	ro resources.Options, o Options) (*batchv1.Job, error) {
	meta := owned(c, "GaleraCluster", RestoreName(c, ordinal), c.Name, ComponentRestore, v1alpha1.LabelMember,
		resources.PodName(c, ordinal))
	all := task.Task{Restore: &t}
	j, err := render(meta, c, s, all, longSeconds, o,
		func(p *corev1.PodSpec) { addKeys(p, c.Bootstrap().IdentitySecretRef) })
	if err != nil {
		return nil, err
	}
	return j, fill(&j.Spec.Template, c, s, all, ro, o, corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: resources.ClaimName(c, ordinal)}})
}

// Verify is the Job that tests a backup: it reads all of it, or restores it on a volume that goes with its pod.
func Verify(b *v1alpha1.GaleraBackup, s *v1alpha1.GaleraBackupStore, c *v1alpha1.GaleraCluster, t task.Verify,
	ro resources.Options, o Options) (*batchv1.Job, error) {
	meta := owned(b, "GaleraBackup", VerifyName(b), b.Spec.ClusterRef.Name, ComponentVerify, v1alpha1.LabelBackup, b.Name,
		v1alpha1.LabelStore, s.Name)
	all := task.Task{Verify: &t}
	if !t.Restore {
		return render(meta, c, s, all, longSeconds, o, nil)
	}
	j, err := render(meta, c, s, all, longSeconds, o, func(p *corev1.PodSpec) { addKeys(p, *b.Spec.IdentitySecretRef) })
	if err != nil {
		return nil, err
	}
	return j, fill(&j.Spec.Template, c, s, all, ro, o, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: resources.Claim(c, 0).Spec}}})
}

// VerifyName is the name of the test's Job that was begun last.
func VerifyName(b *v1alpha1.GaleraBackup) string {
	n := 0
	if v := b.Status.Verification; v != nil {
		n = int(v.Attempts)
	}
	return b.Name + "-verify-" + strconv.Itoa(n)
}

// fill makes a pod of one that restores a backup into a volume. What the pod's container is so far, with the private
// key and the store, becomes containers of the operator's image. The one with the cluster's image gets a task without
// a store, and the backup's plaintext.
func fill(
	template *corev1.PodTemplateSpec, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, t task.Task,
	ro resources.Options, o Options, data corev1.VolumeSource,
) error {
	env, err := environment(t, o)
	if err != nil {
		return err
	}
	template.Annotations = withoutIdentity(Container)
	p := &template.Spec
	p.SecurityContext = podSecurity(mysqlID, o)
	for _, pull := range c.Spec.ImagePullSecrets { // the store may name others, for the operator's image
		if !slices.Contains(p.ImagePullSecrets, pull) {
			p.ImagePullSecrets = append(p.ImagePullSecrets, pull)
		}
	}
	place(p, c)
	open, fetch := p.Containers[0], *p.Containers[0].DeepCopy()
	// It installs the program as well: each init container costs a second or two of the kubelet's.
	open.Name, open.Command = ContainerOpen, []string{program, "open", task.BinDir}
	open.VolumeMounts = append(open.VolumeMounts, corev1.VolumeMount{Name: volumeBin, MountPath: task.BinDir})
	fetch.Name, fetch.Command = ContainerFetch, []string{program, "fetch"}
	fetch.RestartPolicy, fetch.Resources = new(corev1.ContainerRestartPolicyAlways), memory("1Gi")
	if s.Spec.Pods != nil {
		fetch.Resources = merged(fetch.Resources, s.Spec.Pods.Resources)
	}
	fetch.VolumeMounts = append(fetch.VolumeMounts, corev1.VolumeMount{Name: volumePipe, MountPath: task.PipeDir},
		corev1.VolumeMount{Name: volumeEvents, MountPath: "/tmp"})
	p.Volumes = append(p.Volumes, corev1.Volume{Name: volumeEvents,
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	database(p, c, env, ro, o, data, corev1.Volume{Name: volumePipe,
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	p.InitContainers = []corev1.Container{open, fetch}
	return nil
}

// database gives a pod the container that works on a volume with the cluster's image, and the one that installs the
// program there. pipe is what it shares with other containers, if any.
func database(p *corev1.PodSpec, c *v1alpha1.GaleraCluster, env []corev1.EnvVar, ro resources.Options, o Options,
	data corev1.VolumeSource, pipe ...corev1.Volume) {
	p.InitContainers = []corev1.Container{{
		Name: ContainerInstall, Image: o.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{program, "install", task.BinDir},
		SecurityContext: containerSecurity(), Resources: *c.Spec.Resources.DeepCopy(),
		VolumeMounts: []corev1.VolumeMount{{Name: volumeBin, MountPath: task.BinDir}},
	}}
	container := corev1.Container{
		Name: Container, Image: resources.Image(c, ro), ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{task.BinDir + program, "run"},
		Env:     env, SecurityContext: containerSecurity(), Resources: *c.Spec.Resources.DeepCopy(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	add := func(name, path string, source corev1.VolumeSource) {
		p.Volumes = append(p.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
	}
	add(resources.DataVolume, agentapi.VolumeDir, data)
	for _, v := range pipe {
		add(v.Name, task.PipeDir, v.VolumeSource)
	}
	add(volumeBin, task.BinDir, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	add("run", agentapi.RunDir,
		corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}})
	add("tmp", agentapi.TmpDir, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	if resources.RecordedKeys(c) != nil {
		add(volumeData, agentapi.KeysDir, resources.KeysVolume(c))
		last := len(container.VolumeMounts) - 1
		container.VolumeMounts[last].ReadOnly = true
	}
	if o.AssignedUsers {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volumeBin, MountPath: "/etc/passwd",
			SubPath: agentapi.PasswdFile, ReadOnly: true})
	}
	p.Containers = []corev1.Container{container}
}

// addKeys mounts the private key.
func addKeys(p *corev1.PodSpec, ref v1alpha1.SecretKey) {
	mount(p, volumeKeys, task.KeysDir, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: ref.Name,
		DefaultMode: new(int32(0o440)),
		Items:       []corev1.KeyToPath{{Key: ref.Key, Path: ref.Key}}}})
}

// place puts the Job where the member's pod may run: a volume that is made for it may stay on its host. The Jobs of one
// cluster keep away from each other as its pods do.
func place(p *corev1.PodSpec, c *v1alpha1.GaleraCluster) {
	s := c.Spec.Scheduling.DeepCopy()
	p.NodeSelector, p.Tolerations, p.PriorityClassName = s.NodeSelector, s.Tolerations, s.PriorityClassName
	p.Affinity, p.TopologySpreadConstraints = s.Affinity, s.TopologySpreadConstraints
	if p.Affinity == nil {
		p.Affinity = &corev1.Affinity{}
	}
	own := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelCluster: c.Name,
			component: ComponentRestore}}}
	if p.Affinity.PodAntiAffinity == nil {
		p.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	anti := p.Affinity.PodAntiAffinity
	if len(anti.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, own)
	} else {
		anti.PreferredDuringSchedulingIgnoredDuringExecution = append(anti.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: own})
	}
}
