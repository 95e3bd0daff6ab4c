package objects

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

const (
	// ProxyContainer is the proxy's name in a Job's pod.
	ProxyContainer = "proxy"
	// proxyGraceSeconds: nothing is waited for at the end of a run.
	proxyGraceSeconds = int64(2)
)

// ProxyName is the name of the Secret with the configuration of a Job's proxy. Every attempt has its own.
func ProxyName(job string) string { return job + "-proxy" }

// ProxyOf is the pooling proxy that connections of a cell go through, nil when there is none.
func ProxyOf(c experiment.Cell) *v1alpha1.BenchmarkProxy {
	proxy, _ := experiment.Through(c.Workload)
	return proxy
}

// ProxyPods returns the pods of a GaleraProxy, which report what they use.
func ProxyPods(pods []corev1.Pod, name string) (out []result.Member) {
	for i := range pods {
		if pod := &pods[i]; pod.Labels[v1alpha1.LabelProxy] == name && pod.Status.PodIP != "" &&
			pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			out = append(out, result.Member{Name: pod.Name, Host: pod.Status.PodIP})
		}
	}
	return out
}

// ProxySecret returns the configuration of a Job's proxy: it leads to the node the plan says, for the account of the
// benchmark.
func ProxySecret(b *v1alpha1.GaleraBenchmark, job string, p result.Plan, password,
	adminPassword string) *corev1.Secret {
	s := transport.ProxySettings{
		Host: p.Hosts[0], Port: cluster.Port, User: p.User, Hash: cluster.NativeHash(password),
		AdminPassword: adminPassword,
	}
	if p.OLTP != nil {
		s.Connections = p.OLTP.Threads
	} else {
		s.Connections = p.Connect.Threads
	}
	if p.TLS {
		s.CA = path.Join(result.CADir, "ca.crt")
	}
	return &corev1.Secret{ObjectMeta: owned(b, ProxyName(job)), Type: corev1.SecretTypeOpaque, Immutable: new(true),
		Data: map[string][]byte{transport.ProxyConfigFile: transport.ProxyConfig(transport.ProxyDir, s)}}
}

// Parts returns the names of all there may be alongside one Job, to be deleted.
func Parts(b *v1alpha1.GaleraBenchmark, job string) (parts []client.Object) {
	has := func(is func(experiment.Cell) bool) bool { return slices.ContainsFunc(experiment.Cells(&b.Spec), is) }
	if has(UsesTunnel) {
		parts = TunnelParts(b, job)
	}
	if has(func(c experiment.Cell) bool { return ProxyOf(c) != nil }) {
		parts = append(parts, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: ProxyName(job)}})
	}
	if has(func(c experiment.Cell) bool { return c.Operation == v1alpha1.OperationBackup }) {
		parts = append(parts, &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: job}})
	}
	return parts
}

// Backup returns the backup of a private cluster for one Job. Its data are made up: they go with it, and it goes with
// the Job.
func Backup(b *v1alpha1.GaleraBenchmark, job, store string) *v1alpha1.GaleraBackup {
	return &v1alpha1.GaleraBackup{ObjectMeta: owned(b, job), Spec: v1alpha1.GaleraBackupSpec{
		ClusterRef: v1alpha1.BackupClusterRef{Name: ClusterName(b)}, StoreRef: v1alpha1.LocalName{Name: store},
		DeletionPolicy: v1alpha1.BackupDelete}}
}

// addProxy puts the proxy alongside the client in a Job's pod: a container that starts before the client, and ends with
// it.
func addProxy(b *v1alpha1.GaleraBenchmark, pod *corev1.PodSpec, job string, p result.Plan, images Images) {
	limit := resource.MustParse("64Mi")
	meeting := corev1.VolumeMount{Name: "proxy", MountPath: transport.ProxyDir}
	config := corev1.VolumeMount{Name: "proxy-config", MountPath: transport.ProxyConfigDir, ReadOnly: true}
	pod.Volumes = append(pod.Volumes,
		corev1.Volume{Name: meeting.Name,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory,
				SizeLimit: &limit}}},
		corev1.Volume{Name: config.Name,
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: ProxyName(job),
				DefaultMode: new(int32(0o440))}}})
	// The runner starts the proxy, and reports what its container has used.
	mounts := []corev1.VolumeMount{meeting, config, {Name: "tools", MountPath: result.ToolsDir, ReadOnly: true}}
	if p.TLS {
		mounts = append(mounts, corev1.VolumeMount{Name: "ca", MountPath: result.CADir, ReadOnly: true})
	}
	pod.InitContainers = append(pod.InitContainers, corev1.Container{
		Name: ProxyContainer, Image: images.Proxy, ImagePullPolicy: corev1.PullIfNotPresent, WorkingDir: transport.ProxyDir,
		Command: append([]string{path.Join(result.ToolsDir, "bench-runner"), "sidecar",
			transport.UsageSocket(transport.ProxyDir)},
			transport.ProxyCommand(transport.ProxyDir, path.Join(transport.ProxyConfigDir, transport.ProxyConfigFile))...),
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		// Its last words are all that is left of it when it crashes.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                *b.Spec.Client.Resources.DeepCopy(), SecurityContext: containerSecurity(),
		VolumeMounts: mounts,
	})
	c := &pod.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, meeting)
	pod.TerminationGracePeriodSeconds = new(proxyGraceSeconds)
}
