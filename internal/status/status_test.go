package status

import (
	"strings"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/validate"
)

const uuid = "6b4c1a52-0000-11f0-a000-000000000001"

func TestUpdate(t *testing.T) {
	for name, tc := range map[string]outcome{
		"healthy": {func(*Input) {}, "True Ready", "False Done", "False Healthy"},
		"node joining": {func(in *Input) {
			in.Snapshot.Members[1].Server.State = galera.NodeJoining
			in.Decision.Reason = plan.ReasonJoining
		}, "False Joining", "True Joining", "False Healthy"},
		"not published": {func(in *Input) { in.Published = nil }, "False CertificatePending", "True CertificatePending",
			"False Healthy"},
		"data lost": {func(in *Input) {
			in.Decision = plan.Decision{Reason: plan.ReasonDataLost, Message: "gone", Blocked: true}
		},
			"False DataLost", "False DataLost", "True DataLost"},
		"members that are no nodes of the cluster": {func(in *Input) {
			in.Strangers.Members = []agentapi.GroupMember{{UUID: "x", Name: "n-0", Address: "10.0.0.9:3306"}}
		}, "False ForeignMembers", "False ForeignMembers", "True ForeignMembers"},
		"a node that hears other clusters only": {func(in *Input) {
			in.Strangers.Misled = []observe.Misled{{Member: "n-0", Peers: []string{"n-1"},
				Of: agentapi.Identity{Namespace: "prod", Cluster: "shop"}}}
		}, "False ForeignPeers", "False ForeignPeers", "True ForeignPeers"},
		"a history of its own":     failing(agentapi.FailureDiverged, "ForeignData"),
		"another cluster's data":   failing(agentapi.FailureForeignUUID, "ForeignData"),
		"another cluster's volume": failing(agentapi.FailureOtherCluster, "ForeignData"),
		"no keys for the data":     failing(agentapi.FailureKeys, "KeysUnusable"),
		"no keys, and so no position": {func(in *Input) {
			fails(in, agentapi.FailureKeys)
			in.Decision = plan.Decision{Reason: plan.ReasonPositionUnknown, Message: "none", Blocked: true}
		}, "False KeysUnusable", "False KeysUnusable", "True KeysUnusable"},
		"an order book that is not read":   failing(agentapi.FailureOrderBook, "OrderBookDamaged"),
		"a server that hangs":              failing(agentapi.FailureHung, "MemberFailed"),
		"an examination that does not end": failing(agentapi.FailureExamining, "MemberFailed"),
		"a frozen volume":                  failing(agentapi.FailureFrozen, "MemberFailed"),
		"a read-only volume":               failing(agentapi.FailureReadOnly, "MemberFailed"),
		"a server that exited, tried again": {func(in *Input) { fails(in, agentapi.FailureStart) }, "False MemberFailed",
			"True MemberFailed", "False Healthy"},
		"refused renewal": {func(in *Input) { in.Refused = blocking(v1alpha1.ReasonCertificateRefused, "bad") },
			"True Ready", "False Done", "True CertificateRefused"},
		"hibernated": {func(in *Input) { in.Snapshot.Hibernate, in.Snapshot.Hibernated = true, true },
			"True Hibernated", "False Hibernated", "False Healthy"},
		"scaling":          {func(in *Input) { in.Snapshot.Replicas = 5 }, "False Scaling", "True Scaling", "False Healthy"},
		"volume too small": {rigid, "False VolumeNotExpandable", "False VolumeNotExpandable", "True VolumeNotExpandable"},
		"volume too small, and a member needs help": {func(in *Input) { rigid(in); fails(in, agentapi.FailureDiverged) },
			"False ForeignData", "False ForeignData", "True ForeignData"},
		"volume too small, and a member is down": {func(in *Input) { rigid(in); fails(in, agentapi.FailureStart) },
			"False VolumeNotExpandable", "False VolumeNotExpandable", "True VolumeNotExpandable"},
		"volume too small, which is what is full": {func(in *Input) { rigid(in); fails(in, agentapi.FailureDiskFull) },
			"False DiskFull", "False DiskFull", "True DiskFull"},
		"volume too small, another growing": {func(in *Input) {
			rigid(in)
			in.Facts.Claims["data-n-0"] = volume("data-n-0", "1Gi", "2Gi")
		}, "False VolumeNotExpandable", "False VolumeNotExpandable", "True VolumeNotExpandable"},
		"volume growing": {func(in *Input) { claim(in, "1Gi", "2Gi", "2Gi") },
			"False VolumeExpanding", "True VolumeExpanding", "False Healthy"},
		"volume growing, and a person has to act": {func(in *Input) {
			claim(in, "1Gi", "2Gi", "2Gi")
			in.Decision = plan.Decision{Reason: plan.ReasonDataLost, Message: "gone", Blocked: true}
		}, "False DataLost", "False DataLost", "True DataLost"},
		"volume growing, which is what is full": {func(in *Input) {
			claim(in, "1Gi", "2Gi", "2Gi")
			fails(in,
				agentapi.FailureDiskFull)
		},
			"False VolumeExpanding", "True VolumeExpanding", "False Healthy"},
		"volume growing, and another is full": {func(in *Input) {
			claim(in, "2Gi", "2Gi", "2Gi")
			fails(in, agentapi.FailureDiskFull)
			in.Facts.Claims["data-n-0"] = volume("data-n-0", "1Gi", "2Gi")
		}, "False DiskFull", "False DiskFull", "True DiskFull"},
		"volume growing, and a member needs help": {func(in *Input) {
			claim(in, "1Gi", "2Gi", "2Gi")
			fails(in,
				agentapi.FailureForeignUUID)
		},
			"False ForeignData", "False ForeignData", "True ForeignData"},
		"operation": {func(in *Input) {
			in.Snapshot.Operation = &galera.Operation{Type: galera.OpRestart}
			in.Decision.Reason = plan.ReasonRestarting
		}, "False Restarting", "True Restarting", "False Healthy"},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy()
			in.Decision.Reason = plan.ReasonHealthy
			tc.change(&in)
			var s v1alpha1.GaleraClusterStatus
			Update(&s, in)
			for kind, want := range map[string]string{
				v1alpha1.ConditionReady: tc.ready, v1alpha1.ConditionReconciling: tc.reconciling,
				v1alpha1.ConditionStalled: tc.stalled,
			} {
				c := meta.FindStatusCondition(s.Conditions, kind)
				if got := string(c.Status) + " " + c.Reason; got != want {
					t.Errorf("%s is %s (%s), want %s", kind, got, c.Message, want)
				}
			}
		})
	}
}

type outcome = struct {
	change                      func(*Input)
	ready, reconciling, stalled string
}

// failing is a member that a person has to help.
func failing(failure, reason string) outcome {
	return outcome{func(in *Input) { fails(in, failure) }, "False " + reason, "False " + reason, "True " + reason}
}

func fails(in *Input, failure string) {
	in.Snapshot.Members[1].Failure = &galera.Failure{Reason: failure, Message: "why"}
	in.Snapshot.Members[1].Server = nil
	in.Decision.Reason = plan.ReasonMemberFailed
}

// claim makes the second member's volume one that has, has been asked for, and is to have those sizes.
func claim(in *Input, has, asked, wanted string) {
	c := in.Facts.Cluster
	c.Name, c.Status.Replicas, c.Spec.Storage.Size = "n", 3, resource.MustParse(wanted)
	in.Facts.Claims = map[string]*corev1.PersistentVolumeClaim{"data-n-1": volume("data-n-1", has, asked)}
}

// rigid makes the second member's volume one that is to grow and cannot.
func rigid(in *Input) {
	claim(in, "1Gi", "1Gi", "2Gi")
	in.Facts.Rigid = map[string]bool{"data-n-1": true}
}

func volume(name, has, asked string) *corev1.PersistentVolumeClaim {
	p := &corev1.PersistentVolumeClaim{}
	p.Name = name
	p.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(asked)}
	p.Status.Phase, p.Status.Capacity = corev1.ClaimBound,
		corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(has)}
	return p
}

// TestRigidAdvice: what is advised has to be possible.
func TestRigidAdvice(t *testing.T) {
	const back = "set spec.storage.size back to 1Gi"
	in := healthy()
	rigid(&in)
	says(t, volumes(in), "allowVolumeExpansion: true")
	if p := volumes(in); strings.Contains(p.Message, back) {
		t.Errorf("not all volumes are known: %s", p.Message)
	}
	for _, name := range []string{"data-n-0", "data-n-2"} {
		in.Facts.Claims[name] = volume(name, "2Gi", "2Gi")
	}
	says(t, volumes(in), back)
	fails(&in, agentapi.FailureDiskFull)
	says(t, firstProblem(in), back)
	if p := firstProblem(in); strings.Contains(p.Message, "raise spec.storage.size") {
		t.Errorf("it cannot: %s", p.Message)
	}
}

func says(t *testing.T, p *validate.Problem, want string) {
	t.Helper()
	if p == nil || !strings.Contains(p.Message, want) {
		t.Errorf("got %+v, want %q", p, want)
	}
}

// TestExpandingReportsTheRequest: what was asked for once is not taken back.
func TestExpandingReportsTheRequest(t *testing.T) {
	in := healthy()
	claim(&in, "1Gi", "2Gi", "1Gi")
	says(t, expanding(in), "has 1Gi and is being expanded to 2Gi")
}

// TestVolumeSize is what admission lets the spec be set back to.
func TestVolumeSize(t *testing.T) {
	in := healthy()
	claim(&in, "1Gi", "1Gi", "2Gi")
	s := v1alpha1.GaleraClusterStatus{VolumeSize: new(resource.MustParse("1Gi"))}
	if Update(&s, in); s.VolumeSize != nil {
		t.Errorf("got %s, though not all volumes are known", s.VolumeSize)
	}
	in.Facts.Cluster.Status.Replicas = 1
	in.Facts.Claims["data-n-0"] = volume("data-n-0", "1Gi", "1Gi")
	if Update(&s, in); s.VolumeSize == nil || s.VolumeSize.String() != "1Gi" {
		t.Errorf("got %s", s.VolumeSize)
	}
}

// TestPositionIsRemembered: that a member has held data must survive its silence and its loss.
func TestPositionIsRemembered(t *testing.T) {
	old := uuid + ":7"
	for name, tc := range map[string]struct {
		change func(*Input)
		want   string
	}{
		"first check":      {func(in *Input) { in.Facts.Cluster.Status.Members = nil; at(in, 9) }, uuid + ":9"},
		"nothing else new": {func(in *Input) { at(in, 9) }, old},
		"state changed": {func(in *Input) { at(in, 9); in.Snapshot.Members[0].Server.State = galera.NodeDonor },
			uuid + ":9"},
		"down":        {func(in *Input) { at(in, 9); in.Snapshot.Members[0].Server = nil }, uuid + ":9"},
		"silent":      {func(in *Input) { delete(in.Seen, "n-0") }, old},
		"volume lost": {func(in *Input) { in.Snapshot.Members[0].Position = galera.Position{} }, old},
		"halfway, zero": {func(in *Input) {
			in.Snapshot.Members[0].Position = galera.Position{UUID: galera.ZeroUUID,
				Seqno: -1}
		}, old},
		"another history": {func(in *Input) {
			in.Snapshot.Members[0].Position = galera.Position{UUID: strings.Replace(uuid, "6b", "7c", 1), Seqno: 3}
		}, strings.Replace(uuid, "6b", "7c", 1) + ":3"},
		"never had any data": {func(in *Input) {
			in.Facts.Cluster.Status.Members = nil
			in.Snapshot.Members[0].Position = galera.Position{}
		}, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy()
			in.Facts.Cluster.Status.Members = []v1alpha1.MemberStatus{{Name: "n-0", Position: old, NodeState: "Synced",
				ComponentState: "Primary"}}
			tc.change(&in)
			if got := members(in)[0].Position; got != tc.want {
				t.Errorf("position %s, want %s", got, tc.want)
			}
		})
	}
}

func at(in *Input, seqno int64) {
	in.Snapshot.Members[0].Position = galera.Position{UUID: uuid, Seqno: seqno}
}

func TestEvents(t *testing.T) {
	before, after := v1alpha1.GaleraClusterStatus{}, v1alpha1.GaleraClusterStatus{Primary: "n-0", ClusterUUID: uuid}
	after.Operation = &v1alpha1.OperationStatus{ID: "recover-2", Type: "Recover", Epoch: 2, BootstrapMember: "n-0",
		Position: uuid + ":7"}
	meta.SetStatusCondition(&before.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
		Status: metav1.ConditionTrue, Reason: "Ready"})
	meta.SetStatusCondition(&after.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
		Status: metav1.ConditionFalse, Reason: "Recovering"})
	mustEqual(t, reasons(Events(before, after)), "RecoverBegun HistoryRecorded PrimaryMoved Recovering")

	done := *after.DeepCopy()
	done.Operation, done.LastOperation = nil, &v1alpha1.CompletedOperation{Type: "Recover", Epoch: 2,
		Message: "n-0 is Primary"}
	mustEqual(t, reasons(Events(after, done)), "RecoverCompleted")
	done.LastOperation = nil
	mustEqual(t, reasons(Events(after, done)), "RecoverAbandoned")
	mustEqual(t, reasons(Events(done, done)), "")
}

func reasons(events []Event) string {
	var out []string
	for _, e := range events {
		out = append(out, e.Reason)
	}
	return strings.Join(out, " ")
}

func mustEqual(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStatusReportsThePublishedKey(t *testing.T) {
	in := healthy()
	in.Published.Key = "RSA-3072"
	if s := clusterTLS(in, nil); s.Serial != "01" || s.Key != "RSA-3072" {
		t.Errorf("%+v", s)
	}
}

// TestAgentOfAnotherTime is reported: one version before and after is understood.
func TestAgentOfAnotherTime(t *testing.T) {
	for protocol, reported := range map[int]bool{agentapi.Protocol: false, agentapi.Protocol - 1: false,
		agentapi.Protocol + 1: false, agentapi.Protocol + 2: true} {
		if a := agent(Input{}, &agentapi.Report{Name: "shop-0", Protocol: protocol}); (a.Message != "") != reported {
			t.Errorf("%d: %q", protocol, a.Message)
		}
	}
}

// TestSilentServer: a server that stopped answering is not reported as one that starts.
func TestSilentServer(t *testing.T) {
	for waiting, want := range map[string]string{"": "; b is starting",
		"mariadbd, which does not answer any more": "; mariadbd of b does not answer"} {
		in := healthy()
		m := &in.Snapshot.Members[1]
		m.Phase, m.Server = galera.PhaseStarting, nil
		seen := in.Seen[m.Name]
		seen.Report.Waiting = waiting
		in.Seen[m.Name] = seen
		got := strings.ReplaceAll(detail(in, *m), m.Name, "b")
		if message := memberStatus(in, *m, v1alpha1.MemberStatus{}).Message; got != want ||
			(message != "") != (waiting != "") {
			t.Errorf("%q: %q, message %q", waiting, got, message)
		}
	}
}

// TestLaggingMember: proxies learn from the status that a node lags behind.
func TestLaggingMember(t *testing.T) {
	in := healthy()
	m := in.Snapshot.Members[1]
	for _, lagging := range []bool{false, true} {
		seen := in.Seen[m.Name]
		seen.Report.Server = &agentapi.Server{Lagging: lagging}
		in.Seen[m.Name] = seen
		if got := memberStatus(in, m, v1alpha1.MemberStatus{}); got.Lagging != lagging {
			t.Errorf("%v: %+v", lagging, got)
		}
	}
}

// TestRenewalTime: it is the published pair's, not that of one which was refused.
func TestRenewalTime(t *testing.T) {
	in := healthy()
	if got := renewalTime(in); got != nil {
		t.Errorf("without a Certificate: %v", got)
	}
	expiry, renewal := metav1.NewTime(noon.Add(5*time.Hour)), metav1.NewTime(noon.Add(4*time.Hour))
	in.Facts.Certificate = &certmanagerv1.Certificate{Status: certmanagerv1.CertificateStatus{NotAfter: &expiry,
		RenewalTime: &renewal}}
	if got := clusterTLS(in, nil).RenewalTime; got == nil || !got.Time.Equal(in.Published.NotAfter.Add(-time.Hour)) {
		t.Errorf("of the pair that expires at %v: %v", in.Published.NotAfter, got)
	}
}

// TestLine: status names the latest line of history of the Primary component, and keeps it while there is none.
func TestLine(t *testing.T) {
	in := healthy()
	in.Facts.Cluster.Status.Line = "recover-3-a"
	if got := line(in); got != "recover-3-a" {
		t.Errorf("%q", got)
	}
	in.Snapshot.Members[0].Line, in.Snapshot.Members[0].Lines = 5, []string{"recover-5-b", "recover-3-a"}
	in.Snapshot.Members[1].Line, in.Snapshot.Members[1].Lines = 3, []string{"recover-3-a"}
	if got := line(in); got != "recover-5-b" {
		t.Errorf("%q", got)
	}
	in.Snapshot.Members[0].Server = nil
	if got := line(in); got != "recover-3-a" {
		t.Errorf("a line that nothing serves: %q", got)
	}
}
