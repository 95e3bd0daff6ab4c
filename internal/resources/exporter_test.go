package resources

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func exporting(tls v1alpha1.ClientTLS) *v1alpha1.GaleraCluster {
	c := shop()
	c.Spec.TLS.Clients = tls
	c.Spec.Monitoring = &v1alpha1.MonitoringSpec{Exporter: &v1alpha1.ExporterSpec{Image: "exporter",
		Collectors: []string{"perf_schema.tableiowaits"}}}
	return c
}

// TestExporterReadsWhatTheAgentDoesNot: nothing that the agent serves, and nothing that is not asked for.
func TestExporterReadsWhatTheAgentDoesNot(t *testing.T) {
	c := exporting(v1alpha1.TLSRequired)
	c.Spec.Monitoring.Exporter.Collectors = []string{"perf_schema.tableiowaits", "info_schema.innodb_cmp"}
	args := exporterArgs(c, Exporter(c))
	for _, off := range []string{"global_status", "global_variables", "slave_status", "info_schema.innodb_cmpmem"} {
		if !slices.Contains(args, "--no-collect."+off) {
			t.Errorf("%s is on: %q", off, args)
		}
	}
	for _, on := range Exporter(c).Collectors {
		if !slices.Contains(args, "--collect."+on) || slices.Contains(args, "--no-collect."+on) {
			t.Errorf("%s is off: %q", on, args)
		}
	}
}

// TestExporterUsesTLSWhereClientsDo, and its account may come from its own pod only, with the least privileges.
func TestExporterUsesTLSWhereClientsDo(t *testing.T) {
	for policy, tls := range map[v1alpha1.ClientTLS]bool{v1alpha1.TLSRequired: true, v1alpha1.TLSPreferred: true,
		v1alpha1.TLSDisabled: false} {
		c := exporting(policy)
		u := ExporterUser(c)
		if (u.Spec.Require == v1alpha1.RequireTLS) != tls || u.Spec.Host != "127.0.0.1" || len(u.Spec.Grants) != 2 {
			t.Errorf("%s: %+v", policy, u.Spec)
		}
		args := exporterArgs(c, Exporter(c))
		if slices.Contains(args, "--tls.insecure-skip-verify") != tls {
			t.Errorf("%s: %q", policy, args)
		}
		pod := podSpec(c, testOptions)
		sidecar := pod.InitContainers[len(pod.InitContainers)-1]
		if sidecar.Name != exporterContainer || (len(sidecar.Env) > 0) != tls ||
			*sidecar.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			t.Errorf("%s: %+v", policy, sidecar)
		}
		for _, m := range sidecar.VolumeMounts {
			if m.Name != volumeExporter {
				t.Errorf("it sees %s", m.Name)
			}
		}
	}
}

// TestExporterSecret has one password in three forms, and none is on a command line.
func TestExporterSecret(t *testing.T) {
	c := exporting(v1alpha1.TLSRequired)
	s := ExporterSecret(c, "PASSWORD")
	if string(s.Data["password"]) != "PASSWORD" || !strings.Contains(string(s.Data["my.cnf"]),
		"password=PASSWORD\nhost=127.0.0.1\n") ||
		string(s.Data["dsn"]) != "shop-exporter:PASSWORD@tcp(127.0.0.1:3306)/?tls=skip-verify" {
		t.Errorf("%s", s.Data)
	}
}

// TestExporterComesAndGoes: with the spec, and with it its account, its password and its open port.
func TestExporterComesAndGoes(t *testing.T) {
	with, without := exporting(v1alpha1.TLSRequired), shop()
	users := func(c *v1alpha1.GaleraCluster) (n int) {
		for _, o := range Static(c, NodeConfig(c, 3, TLSConfig(c), testOptions), Roles{}, testOptions) {
			if _, is := o.(*v1alpha1.GaleraUser); is {
				n++
			}
		}
		return n
	}
	if users(with) != 1 || users(without) != 0 {
		t.Errorf("%d and %d users", users(with), users(without))
	}
	if !slices.Equal(openPorts(with), []int32{agentapi.ProbePort, PortExporter}) || !slices.Equal(openPorts(without),
		[]int32{agentapi.ProbePort}) {
		t.Errorf("%v, %v", openPorts(with), openPorts(without))
	}
	if PodTemplateHash(with, testOptions) == PodTemplateHash(without, testOptions) {
		t.Error("the pods stay as they are")
	}
	config := NodeConfig(without, 3, TLSConfig(without), testOptions)
	for _, o := range []client.Object{ExporterUser(with), ExporterSecret(with, "x")} {
		if LeftBehind(with, config, testOptions, false, o) || !LeftBehind(without, config, testOptions, false, o) {
			t.Errorf("%T", o)
		}
	}
	if root := RootSecret(without, "x"); LeftBehind(without, config, testOptions, false, root) {
		t.Error("root's password goes")
	}
}
