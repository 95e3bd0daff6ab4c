package objects

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

// TestWireGuardParts: the operator's own program is the server, over UDP, without any privilege; each end has its own
// half of the keys.
func TestWireGuardParts(t *testing.T) {
	b, c, pods := overSSH()
	b.Spec.Workloads[0].Connect.Via = v1alpha1.ViaWireGuard
	run := run0(b)
	p := Plan(b, c, experiment.StartJob{Wire: run.Wire(1), Run: run}, "cluster.local")
	if err := RouteThrough(&p, b, sshJob, run.Cell, pods); err != nil {
		t.Fatal(err)
	}
	if want := (result.Tunnel{Server: "x-run-001-1-tunnel.shops.svc:51820", Target: "10.0.0.2:3306",
		VPN: true}); *p.Connect.Tunnel != want || !UsesTunnel(run.Cell) {
		t.Errorf("got %+v", *p.Connect.Tunnel)
	}
	files, err := TunnelFiles(run.Cell)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, %v", len(files), err)
	}
	objects := Tunnel(b, c, sshJob, p, Images{Client: "client:1", Operator: "operator:1"})
	server := serverOf(t, objects).Spec.Template.Spec
	container := server.Containers[0]
	if container.Image != "operator:1" || !slices.Equal(container.Command,
		[]string{"/bench-runner", "wireguard", transport.WireGuardDir, "10.0.0.2:3306"}) {
		t.Errorf("got %+v", container)
	}
	if s := container.SecurityContext; *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
		s.Capabilities.Drop[0] != "ALL" || len(s.Capabilities.Add) != 0 {
		t.Errorf("security: %+v", s)
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			if port := o.Spec.Ports[0]; port.Protocol != corev1.ProtocolUDP || port.Port != transport.WireGuardPort {
				t.Errorf("got %+v", port)
			}
		case *networkingv1.NetworkPolicy:
			in, out := o.Spec.Ingress[0].Ports[0], o.Spec.Egress[0].Ports[0]
			if *in.Protocol != corev1.ProtocolUDP || in.Port.IntValue() != transport.WireGuardPort ||
				*out.Protocol != corev1.ProtocolTCP || out.Port.IntValue() != 3306 {
				t.Errorf("got %+v", o.Spec)
			}
		}
	}
	job, err := Job(b, c, result.Run{Index: 1, Attempt: 1}, p, Images{})
	if err != nil {
		t.Fatal(err)
	}
	for want, spec := range map[string]corev1.PodSpec{transport.WireGuardServer: server,
		transport.WireGuardClient: job.Spec.Template.Spec} {
		i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == "tunnel" })
		if i < 0 || len(spec.Volumes[i].Secret.Items) != 1 || spec.Volumes[i].Secret.Items[0].Key != want {
			t.Errorf("%s: %+v", want, spec.Volumes)
		}
	}
}
