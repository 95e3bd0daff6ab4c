package resources

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	// mysqlID is the user and group mysql of the official image, for pods that get no user of their namespace.
	mysqlID int64 = 999

	// A graceful stop flushes the buffer pool and may have to wait for a transfer to end.
	stopGraceSeconds int64 = 300
)

// podSpec is the same for every node. It holds nothing of the NodeConfig: what a template holds
// costs a restart when it changes, and agents load a new configuration while they run.
func podSpec(c *v1alpha1.GaleraCluster, opts Options) corev1.PodSpec {
	scheduling := c.Spec.Scheduling.DeepCopy()
	return extended(c, exported(c, withSource(c, withAtRest(c, corev1.PodSpec{
		ServiceAccountName:            ServiceAccountName(c),
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		TerminationGracePeriodSeconds: new(stopGraceSeconds),
		SecurityContext:               podSecurity(opts),
		InitContainers:                []corev1.Container{agentContainer(c, opts)},
		Containers:                    []corev1.Container{databaseContainer(c, opts)},
		Volumes:                       volumes(c),
		ImagePullSecrets:              c.Spec.DeepCopy().ImagePullSecrets,
		NodeSelector:                  scheduling.NodeSelector,
		Tolerations:                   scheduling.Tolerations,
		PriorityClassName:             scheduling.PriorityClassName,
		Affinity:                      affinity(c),
		TopologySpreadConstraints:     topologySpread(c),
	}))))
}

// podSecurity, with containerSecurity, is what the Pod Security level "restricted" asks for, and a
// fixed user, because the image's own would be root; unless one is assigned.
func podSecurity(opts Options) *corev1.PodSecurityContext {
	s := &corev1.PodSecurityContext{
		RunAsNonRoot: new(true),
		// A walk over a large data directory at every start would take minutes.
		FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if !opts.AssignedUsers {
		s.RunAsUser, s.RunAsGroup, s.FSGroup = new(mysqlID), new(mysqlID), new(mysqlID)
	}
	return s
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		RunAsNonRoot:             new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
