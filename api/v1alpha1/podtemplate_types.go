package v1alpha1

import corev1 "k8s.io/api/core/v1"

// PodTemplateSpec adds to the database pods. A change restarts one node at a time, the primary last. It cannot change
// what the operator needs: names, ports, mounts and security context of the pod and of the database container are its
// own, and every container runs under the restricted Pod Security Standard, without an API token.
// +kubebuilder:validation:XValidation:rule="!has(self.sidecars) || self.sidecars.all(s, !has(s.volumeMounts) || s.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name)))",message="sidecars may mount podTemplate.volumes only: add the volume there"
type PodTemplateSpec struct {
	// labels of the pods, in addition to the operator's. Keys of galera-operator.io and kubernetes.io are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('galera-operator.io/') && !k.startsWith('app.kubernetes.io/') && !k.contains('kubernetes.io/'))",message="labels of galera-operator.io and kubernetes.io are reserved: choose another key"
	Labels map[string]string `json:"labels,omitempty"`

	// annotations of the pods, for instance for a service mesh or a log collector. Keys of galera-operator.io are
	// reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('galera-operator.io/'))",message="annotations of galera-operator.io are reserved for the operator: choose another key"
	Annotations map[string]string `json:"annotations,omitempty"`

	// env of the database container, with plain values. Names that begin with POD_, MARIADB_, MYSQL_, WSREP_, GALERA_, LD_
	// or OPENSSL_, and PATH, are refused: mariadbd, its scripts and the agent read them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Env []EnvValue `json:"env,omitempty"`

	// volumes for the sidecars.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Volumes []SidecarVolume `json:"volumes,omitempty"`

	// sidecars run alongside the database. They start before it and end after it. A sidecar that ignores SIGTERM keeps its
	// pod for 300 seconds after the database has stopped.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Sidecars []Sidecar `json:"sidecars,omitempty"`

	// runtimeClassName of the pods. Default: the cluster's runtime.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`

	// hostAliases are entries of the pods' /etc/hosts.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty"`
}

// EnvValue is an environment variable with a plain value.
type EnvValue struct {
	// name of the variable.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(POD_|MARIADB_|MYSQL_|WSREP_|GALERA_|LD_|OPENSSL_|PATH$)')",message="this variable is read by mariadbd, its scripts or the agent: choose another name"
	Name string `json:"name"`
	// value of the variable.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`
}

// SidecarVolume is an empty directory, or the files of a ConfigMap. Secrets cannot be mounted, because a user who may
// create a GaleraCluster may have no right to read them.
type SidecarVolume struct {
	// name of the volume.
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// configMap whose files the volume holds. Default: none; the volume is an empty directory.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ConfigMap string `json:"configMap,omitempty"`
}

// Sidecar is a container alongside the database.
type Sidecar struct {
	// name of the container.
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['mariadb', 'agent'])",message="mariadb and agent are the operator's containers: choose another name"
	Name string `json:"name"`
	// image of the container.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`
	// command of the container. Default: the image's.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Command []string `json:"command,omitempty"`
	// args of the command.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Args []string `json:"args,omitempty"`
	// env of the container, with plain values.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Env []EnvValue `json:"env,omitempty"`
	// port on which the container listens. It gets a name, for monitoring. The ports of the database and the agent are
	// refused. Default: 0, none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="!(self in [3306, 4444, 4567, 4568, 8080, 8443, 8444, 8446])",message="the database and the agent listen on this port: choose another one"
	Port int32 `json:"port,omitempty"`
	// resources of the container.
	// +optional
	Resources SidecarResources `json:"resources,omitempty"`
	// volumeMounts mount podTemplate.volumes into the container.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=16
	VolumeMounts []SidecarMount `json:"volumeMounts,omitempty"`
}

// SidecarResources are requests and limits for cpu and memory.
type SidecarResources struct {
	// requests for cpu and memory.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
	// limits for cpu and memory.
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// SidecarMount mounts a volume into a sidecar.
type SidecarMount struct {
	// name of the volume.
	Name string `json:"name"`
	// mountPath in the container.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/`
	MountPath string `json:"mountPath"`
}
