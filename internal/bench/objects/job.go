// Package objects renders the parts of a benchmark's Jobs. It is pure.
package objects

import (
	"encoding/json"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/logs"
)

// Images of a Job.
type Images struct {
	// Operator brings the runner, Client has the load generator, Proxy the pooling proxy where a run has one.
	Operator, Client, Proxy string
	// AssignedUsers reports whether pods name no user: Kubernetes assigns one.
	AssignedUsers bool
	// LogFormat is how the runner writes its log: text or json; "" is text.
	LogFormat string
}

const (
	component = "app.kubernetes.io/component"
	// Component is the value of that label on everything of a benchmark.
	Component = "benchmark"
	uid       = int64(65532)
	// ClientContainer is the load generator's name in a Job's pod.
	ClientContainer = "bench"
	// RunnerContainer brings the runner from the operator's image before.
	RunnerContainer = "runner"

	// slack is added to what a Job should take before it is given up, in seconds.
	slack = 600
	// longest a Job without an end of its own may take, in seconds. It is only for what hangs: a number of events takes
	// what it takes, and a transfer without progress is ended by the node's agent.
	longest = 24 * 3600
)

// ClusterName is the name of the cluster that is measured.
func ClusterName(b *v1alpha1.GaleraBenchmark) string {
	if b.Spec.Cluster.Ref != nil {
		return b.Spec.Cluster.Ref.Name
	}
	return b.Name + "-db"
}

func labels(b *v1alpha1.GaleraBenchmark, extra ...string) map[string]string {
	m := map[string]string{
		v1alpha1.LabelCluster: ClusterName(b), v1alpha1.LabelBenchmark: b.Name, component: Component,
		"app.kubernetes.io/managed-by": "galera-operator",
	}
	for i := 0; i+1 < len(extra); i += 2 {
		m[extra[i]] = extra[i+1]
	}
	return m
}

func owned(b *v1alpha1.GaleraBenchmark, name string, extra ...string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: b.Namespace, Labels: labels(b, extra...),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b,
			v1alpha1.GroupVersion.WithKind("GaleraBenchmark"))}}
}

// Cluster returns the private cluster as a run needs it.
func Cluster(b *v1alpha1.GaleraBenchmark, run experiment.Run) *v1alpha1.GaleraCluster {
	c := &v1alpha1.GaleraCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GaleraCluster"},
		ObjectMeta: owned(b, ClusterName(b)),
		Spec:       experiment.Spec(*b.Spec.Cluster.Template, run),
	}
	c.Annotations = map[string]string{v1alpha1.AnnotationTemplate: experiment.TemplateSum(b.Spec.Cluster.Template)}
	Accelerate(c, run)
	return c
}

// Accelerate hides the CPU's AES instructions where a run wants it so.
func Accelerate(c *v1alpha1.GaleraCluster, run experiment.Run) {
	if run.Cell.Kind == result.KindCipher {
		return // is measured alongside the nodes
	}
	if !run.WithoutAccelerator() {
		delete(c.Annotations, v1alpha1.AnnotationCPUAcceleration)
		return
	}
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[v1alpha1.AnnotationCPUAcceleration] = v1alpha1.AccelerationOff
}

// Output returns the ConfigMap an attempt's result goes into. The proof is what every node was
// observed to do right before.
func Output(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, r result.Run) (*corev1.ConfigMap, error) {
	r.ClusterUUID = c.Status.ClusterUUID
	run, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	proof, err := json.Marshal(c.Status.Members)
	if err != nil {
		return nil, err
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: owned(b, experiment.Name(b.Name, r), v1alpha1.LabelRun, strconv.Itoa(r.Index)),
		Data:       map[string]string{result.KeyRun: string(run), result.KeyProof: string(proof)},
	}, nil
}

// Access returns what lets a Job write its result, and nothing else.
func Access(b *v1alpha1.GaleraBenchmark, output string) []client.Object {
	name := RunnerName(b)
	return []client.Object{
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta:                   owned(b, name),
			AutomountServiceAccountToken: new(false)},
		&rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: owned(b, name),
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"},
				ResourceNames: []string{output}, Verbs: []string{"patch"}}}},
		&rbacv1.RoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: owned(b, name),
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: b.Namespace}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}},
	}
}

// Job returns the Job of one attempt.
func Job(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, r result.Run, p result.Plan, images Images) (
	*batchv1.Job, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	name := experiment.Name(b.Name, r)
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: owned(b, name, v1alpha1.LabelRun, strconv.Itoa(r.Index)),
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32(0)), // a failed attempt is judged, and repeated as another one
			ActiveDeadlineSeconds: new(deadline(p)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(b, v1alpha1.LabelRun, strconv.Itoa(r.Index))},
				Spec:       pod(b, c, name, string(text), p, images),
			},
		},
	}, nil
}

// deadline is when a Job has failed, in seconds.
func deadline(p result.Plan) int64 {
	switch {
	case p.OLTP != nil && p.OLTP.Events == 0:
		return int64(p.OLTP.WarmupSeconds + p.OLTP.Seconds + slack)
	case p.Connect != nil && p.Connect.Connections == 0:
		return int64(p.Connect.Seconds + slack)
	case p.ResultSize != nil:
		return int64(p.ResultSize.Seconds + slack)
	case p.Operation != nil:
		return int64(p.Operation.PatienceSeconds + slack)
	case p.Transfer != nil:
		return int64(p.Transfer.PatienceSeconds + slack)
	case p.Cipher != nil:
		return int64(len(result.CipherFigures)*p.Cipher.Seconds + slack)
	}
	return longest
}

func pod(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, name, plan string, p result.Plan,
	images Images) corev1.PodSpec {
	security := containerSecurity()
	volumes, mounts := volumes(b, c, name, p)
	spec := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: RunnerName(b), AutomountServiceAccountToken: new(false),
		EnableServiceLinks: new(false),
		SecurityContext:    podSecurity(images),
		NodeSelector:       b.Spec.Client.NodeSelector, Tolerations: b.Spec.Client.Tolerations,
		ImagePullSecrets: c.Spec.ImagePullSecrets,
		Affinity:         placed(c, p),
		InitContainers: []corev1.Container{{
			Name: RunnerContainer, Image: images.Operator, ImagePullPolicy: corev1.PullIfNotPresent,
			Command:         []string{"/bench-runner", "install", result.ToolsDir},
			SecurityContext: security, VolumeMounts: []corev1.VolumeMount{{Name: "tools", MountPath: result.ToolsDir}},
		}},
		Containers: []corev1.Container{{
			Name: ClientContainer, Image: images.Client, ImagePullPolicy: corev1.PullIfNotPresent,
			Command:   []string{result.ToolsDir + "/bench-runner", "run"},
			Env:       environment(b, images, name, plan, p),
			Resources: *b.Spec.Client.Resources.DeepCopy(), SecurityContext: security, VolumeMounts: mounts,
			WorkingDir: result.WorkDir,
			// Of one that was killed these are the last words.
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
		Volumes: volumes,
	}
	if p.Proxy != "" {
		addProxy(b, &spec, name, p, images)
	}
	return spec
}

func environment(b *v1alpha1.GaleraBenchmark, images Images, name, plan string, p result.Plan) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: result.EnvPlan, Value: plan}, {Name: result.EnvOutput, Value: name},
		{Name: result.EnvNamespace, Value: b.Namespace},
		{Name: logs.EnvFormat, Value: images.LogFormat},
	}
	if p.Kind != result.KindCipher { // which speaks with no database
		env = append(env, corev1.EnvVar{Name: result.EnvPassword,
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: BindingName(AccountName(b))}, Key: PasswordKey}}})
	}
	if p.WithoutAcceleration {
		// The client of connections is a Go program.
		env = append(append(env, cluster.WithoutAcceleration()...), corev1.EnvVar{Name: "GODEBUG", Value: "cpu.aes=off"})
	}
	return env
}

func volumes(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, job string, p result.Plan) (v []corev1.Volume,
	m []corev1.VolumeMount) {
	add := func(name, path string, source corev1.VolumeSource) {
		v = append(v, corev1.Volume{Name: name, VolumeSource: source})
		m = append(m, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: source.EmptyDir == nil})
	}
	limit := resource.MustParse("64Mi")
	add("tools", result.ToolsDir, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	add("token", result.TokenDir, tokenVolume())
	add("work", result.WorkDir,
		corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &limit}})
	if p.TLS {
		add("ca", result.CADir,
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: cluster.CAConfigMap(c)}}})
		add("client", result.ClientCertDir, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: BindingName(CertificateName(b)), DefaultMode: new(int32(0o440)),
			Items: []corev1.KeyToPath{{Key: corev1.TLSCertKey, Path: corev1.TLSCertKey},
				{Key: corev1.TLSPrivateKeyKey, Path: corev1.TLSPrivateKeyKey}}}})
	}
	if p.Connect != nil && p.Connect.Tunnel != nil {
		kind := tunnelOf(*p.Connect.Tunnel)
		add("tunnel", kind.dir, tunnelVolume(job, kind.clientFiles...).VolumeSource)
	}
	return v, m
}

// placed prefers a host without a database for what loads one, and a database's own to find out how fast its CPU is.
func placed(c *v1alpha1.GaleraCluster, p result.Plan) *corev1.Affinity {
	if p.Cipher != nil {
		return podAffinity(cluster.PodName(c, 0))
	}
	return awayFromDatabases(c)
}

// awayFromDatabases prefers hosts on which no node of the cluster runs.
func awayFromDatabases(c *v1alpha1.GaleraCluster) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: cluster.Selector(c)},
			}}},
	}}
}
