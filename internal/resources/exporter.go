package resources

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	// PortExporter is where mysqld_exporter listens.
	PortExporter int32 = 9104

	exporterContainer = "exporter"
	volumeExporter    = "exporter"
	exporterDir       = "/etc/mysqld-exporter"
	// exporterFile is an option file, for versions from 0.15 on; exporterDSN is what earlier ones read from the
	// environment.
	exporterFile = "my.cnf"
	exporterDSN  = "dsn"
	// exporterPassword is the key of the account's password.
	exporterPassword = "password"
	// exporterHost is where the exporter finds the server: in its own pod. The account may come from nowhere else.
	exporterHost = "127.0.0.1"
)

// usuallyOn are the exporter's collectors that are on by default. The agent serves the first two, and the others are
// not asked for.
var usuallyOn = []string{"global_status", "global_variables", "slave_status", "info_schema.innodb_cmp",
	"info_schema.innodb_cmpmem", "info_schema.query_response_time"}

// Exporter is what the spec says of mysqld_exporter, nil without one.
func Exporter(c *v1alpha1.GaleraCluster) *v1alpha1.ExporterSpec {
	if c.Spec.Monitoring == nil {
		return nil
	}
	return c.Spec.Monitoring.Exporter
}

// ExporterName is the name of the exporter's GaleraUser and of the Secret with its password.
func ExporterName(c *v1alpha1.GaleraCluster) string { return c.Name + "-exporter" }

// ExporterUser is the account of the exporter: it sees what the server does, and none of the data.
func ExporterUser(c *v1alpha1.GaleraCluster) *v1alpha1.GaleraUser {
	u := &v1alpha1.GaleraUser{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GaleraUser"},
		ObjectMeta: ownedMeta(c, ExporterName(c)),
		Spec: v1alpha1.GaleraUserSpec{
			ClusterRef: v1alpha1.ClusterReference{Name: c.Name},
			Host:       exporterHost,
			Authentication: v1alpha1.AuthenticationSpec{PasswordSecretRef: &v1alpha1.PasswordKey{Name: ExporterName(c),
				Key: exporterPassword}},
			Require: v1alpha1.RequireTLS,
			Grants: []v1alpha1.GrantSpec{
				{Privileges: []string{"PROCESS"}, Database: "*", Table: "*"},
				{Privileges: []string{"SELECT"}, Database: "performance_schema", Table: "*"},
			},
			Limits: v1alpha1.UserLimits{MaxUserConnections: 3},
		},
	}
	if c.Spec.TLS.Clients == v1alpha1.TLSDisabled {
		u.Spec.Require = v1alpha1.RequireNone
	}
	return u
}

// ExporterSecret has the account's password, for the operator and for the exporter. It is there before the pods, and
// never changed: the exporter reads it when it starts.
func ExporterSecret(c *v1alpha1.GaleraCluster, password string) *corev1.Secret {
	user := ExporterName(c)
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: ownedMeta(c, ExporterName(c)),
		Type:       corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			exporterPassword: []byte(password),
			exporterFile:     []byte("[client]\nuser=" + user + "\npassword=" + password + "\nhost=" + exporterHost + "\n"),
			exporterDSN:      []byte(user + ":" + password + "@tcp(" + exporterHost + ":3306)/?tls=skip-verify"),
		},
	}
}

// exported adds the exporter to a pod: an init container that is restarted always, as sidecars are.
func exported(c *v1alpha1.GaleraCluster, pod corev1.PodSpec) corev1.PodSpec {
	e := Exporter(c)
	if e == nil {
		return pod
	}
	always := corev1.ContainerRestartPolicyAlways
	out := corev1.Container{
		Name: exporterContainer, Image: e.Image, ImagePullPolicy: corev1.PullIfNotPresent, RestartPolicy: &always,
		Args: exporterArgs(c, e), Ports: []corev1.ContainerPort{{Name: "exporter", ContainerPort: PortExporter,
			Protocol: corev1.ProtocolTCP}},
		Resources:       corev1.ResourceRequirements{Requests: e.Resources.Requests, Limits: e.Resources.Limits},
		SecurityContext: containerSecurity(),
		VolumeMounts:    []corev1.VolumeMount{{Name: volumeExporter, MountPath: exporterDir, ReadOnly: true}},
	}
	if c.Spec.TLS.Clients != v1alpha1.TLSDisabled { // versions up to 0.14 have no other way to use TLS without a CA
		out.Env = []corev1.EnvVar{{Name: "DATA_SOURCE_NAME",
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: ExporterName(c)}, Key: exporterDSN}}}}
	}
	pod.InitContainers = append(pod.InitContainers, out)
	source := secretVolume(ExporterName(c), false)
	source.Secret.Items = []corev1.KeyToPath{{Key: exporterFile, Path: exporterFile}}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volumeExporter, VolumeSource: source})
	return pod
}

// exporterArgs turn off what the agent serves, and turn on what is asked for. The server is in the same pod: no other
// process can be between, so that its certificate, which may come after the exporter, is not verified.
func exporterArgs(c *v1alpha1.GaleraCluster, e *v1alpha1.ExporterSpec) []string {
	args := []string{"--config.my-cnf=" + exporterDir + "/" + exporterFile, "--web.listen-address=:9104"}
	if c.Spec.TLS.Clients != v1alpha1.TLSDisabled {
		args = append(args, "--tls.insecure-skip-verify")
	}
	for _, name := range usuallyOn {
		if !slices.Contains(e.Collectors, name) {
			args = append(args, "--no-collect."+name)
		}
	}
	for _, name := range slices.Sorted(slices.Values(e.Collectors)) {
		args = append(args, "--collect."+name)
	}
	return args
}
