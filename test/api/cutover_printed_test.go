package api

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestPrintedCutover: the commands with which a cluster takes over that has another one's spec.cutover are admitted,
// and leave nothing of that one which --back would take for this one's.
func TestPrintedCutover(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const ns = "printed-cutover"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	server := func(s *v1alpha1.GaleraClusterSpec) {
		s.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Insecure: true,
			Follow: true, CredentialsSecretRef: v1alpha1.LocalName{Name: "old"}}}
	}
	archive := func(s *v1alpha1.GaleraClusterSpec) { s.ReplicaOf = replica() }
	token := &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-9", Segment: 1, From: "b65191a0", To: "c7a1d0e4",
		Checksum: "deadbeef"}
	for name, tc := range map[string]struct {
		follows func(*v1alpha1.GaleraClusterSpec)
		cutover v1alpha1.CutoverSpec
		copied  bool
		gtid    string
		takes   bool
	}{
		"server": {server, v1alpha1.CutoverSpec{GTID: "0-1-9", UID: "x", Own: "7-7-3"}, true, "0-1-7", true},
		"lost":   {server, v1alpha1.CutoverSpec{GTID: "0-1-9", UID: "x", Own: "7-7-3"}, false, "0-1-9", true},
		"archive": {archive, v1alpha1.CutoverSpec{GTID: "0-1-9", UID: "x", Own: "7-7-3", Token: token}, true, "0-1-7",
			false},
		"unrecorded": {archive, v1alpha1.CutoverSpec{GTID: "0-1-9", UID: "x", WithoutRecord: true}, true, "0-1-7", true},
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: spec()}
		tc.follows(&c.Spec)
		c.Spec.Cutover = &tc.cutover
		must(t, kube.Create(ctx, c))
		c.Status.ClusterUUID = "6f1a1d7e-9d5e-5a39-8ab2-11f2a6b0d1c2"
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Applied: "0-1-7"}
		if tc.copied {
			c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted}
		}
		must(t, kube.Status().Update(ctx, c))
		_, why := status.Recordable(c)
		_, patch, _ := strings.Cut(why, "kubectl patch galeracluster "+name+" -n "+ns+" --type=merge -p '")
		patch, _, found := strings.Cut(patch, "'")
		if !found {
			t.Fatalf("%s: %q", name, why)
		}
		patch = strings.ReplaceAll(patch, "APPLIED", c.Status.Replication.Applied)
		must(t, kube.Patch(ctx, c, client.RawPatch(types.MergePatchType, []byte(patch))))
		if to := c.Spec.Cutover; to.Own != "" || to.Token != nil || to.GTID != tc.gtid || !c.OwnCutover() ||
			c.TakesOver() != tc.takes {
			t.Errorf("%s: %s: %+v, %v", name, patch, to, c.TakesOver())
		}
	}
}
