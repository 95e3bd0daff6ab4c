package plugin

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func accountOf(change func(*v1alpha1.GaleraUserSpec)) (*v1alpha1.GaleraUser, *v1alpha1.GaleraCluster) {
	u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "app"}}
	u.Spec = v1alpha1.GaleraUserSpec{Plugin: v1alpha1.PluginNative, Require: v1alpha1.RequireTLS, Host: "%"}
	if change != nil {
		change(&u.Spec)
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
	c.Spec.TLS.Clients = v1alpha1.TLSRequired
	return u, c
}

// TestSidecarYAML: what is printed is a part of a pod's spec. The application gets the socket, and neither the
// configuration nor the admin interface; the sidecar gets the account's own Secret, and restarts by itself.
func TestSidecarYAML(t *testing.T) {
	u, c := accountOf(func(s *v1alpha1.GaleraUserSpec) { s.SecretName = "login" })
	text, err := sidecarYAML(u, c, sidecar{image: "proxysql:x", agentImage: "operator:x", container: "web",
		maxConnections: 7, maxClients: 9, metricsPort: 9104})
	if err != nil {
		t.Fatal(err)
	}
	var spec corev1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err, text)
	}
	install, side := spec.InitContainers[0], spec.InitContainers[1]
	if install.RestartPolicy != nil || install.Image != "operator:x" || side.Image != "proxysql:x" ||
		side.RestartPolicy == nil || *side.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Errorf("%s", text)
	}
	env := map[string]string{}
	for _, v := range side.Env {
		env[v.Name] = v.Value
	}
	if env[agentapi.EnvSidecarHost] != "shop-primary.demo.svc" || env[agentapi.EnvSidecarMaxConnections] != "7" ||
		env[agentapi.EnvSidecarMaxClients] != "9" {
		t.Errorf("%v", env)
	}
	if env[agentapi.EnvSidecarMetricsPort] != "9104" || len(side.Ports) != 1 || side.Ports[0].Name != "galera-metrics" ||
		side.Ports[0].ContainerPort != 9104 {
		t.Errorf("%v %v", env, side.Ports)
	}
	if p := side.LivenessProbe; p == nil || !slices.Equal(p.Exec.Command, side.StartupProbe.Exec.Command) ||
		p.PeriodSeconds*p.FailureThreshold < 60 {
		t.Errorf("a sidecar that hangs is not restarted, or before its agent has replaced ProxySQL: %+v", p)
	}
	if quiet := proxySidecar("x", sidecar{}); len(quiet.Ports) != 0 || len(quiet.Env) != 3 {
		t.Errorf("a port that was not asked for: %+v", quiet)
	}
	volumes := map[string]corev1.Volume{}
	for _, v := range spec.Volumes {
		volumes[v.Name] = v
	}
	for _, container := range append(spec.InitContainers, spec.Containers...) {
		for _, m := range container.VolumeMounts {
			if _, known := volumes[m.Name]; !known {
				t.Errorf("%s mounts the unknown volume %s", container.Name, m.Name)
			}
		}
	}
	if volumes[volumeAccount].Secret.SecretName != "login" {
		t.Errorf("%+v", volumes[volumeAccount])
	}
	app := spec.Containers[0]
	if app.Name != "web" || len(app.VolumeMounts) != 1 || app.VolumeMounts[0].MountPath != agentapi.SidecarSocketDir {
		t.Errorf("%+v", app)
	}
	for _, container := range spec.InitContainers {
		if s := container.SecurityContext; !*s.RunAsNonRoot || *s.AllowPrivilegeEscalation || s.SeccompProfile == nil {
			t.Errorf("Pod Security \"restricted\" would refuse %s", container.Name)
		}
	}
}

// TestSidecarRefusal: an account that a proxy cannot log in for gets no sidecar, and neither does a cluster without
// TLS.
func TestSidecarRefusal(t *testing.T) {
	for name, tc := range map[string]struct {
		user    func(*v1alpha1.GaleraUserSpec)
		clients v1alpha1.ClientTLS
		want    string
	}{
		"it can log in":      {nil, v1alpha1.TLSRequired, ""},
		"a certificate":      {func(s *v1alpha1.GaleraUserSpec) { s.Require = v1alpha1.RequireX509 }, v1alpha1.TLSRequired, "X509"},
		"another plugin":     {func(s *v1alpha1.GaleraUserSpec) { s.Plugin = v1alpha1.PluginParsec }, v1alpha1.TLSRequired, "parsec"},
		"hosts":              {func(s *v1alpha1.GaleraUserSpec) { s.Host = "10.%" }, v1alpha1.TLSRequired, "10.%"},
		"plaintext as well":  {nil, v1alpha1.TLSPreferred, ""},
		"no TLS for clients": {nil, v1alpha1.TLSDisabled, "spec.tls.clients"},
	} {
		u, c := accountOf(tc.user)
		c.Spec.TLS.Clients = tc.clients
		err := sidecarRefusal(u, c)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAgentImage: it is that of the container that brings the agent.
func TestAgentImage(t *testing.T) {
	pod := corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "mesh", Image: "mesh:1"},
		{Name: "agent", Image: "operator:1"}}}}
	if got := agentImage([]corev1.Pod{{}, pod}); got != "operator:1" {
		t.Error(got)
	}
	if got := agentImage(nil); got != "" {
		t.Error(got)
	}
}
