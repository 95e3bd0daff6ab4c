package status

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// asksFor is a cluster without a Primary component whose start waits for an approval.
func asksFor(in *Input, blocked bool) {
	in.Facts.Cluster.Name, in.Facts.Cluster.Namespace = "n", "demo"
	away(in, 0, 1, 2)
	in.Decision = plan.Decision{Reason: plan.ReasonWaitingForMembers, Blocked: blocked, Message: "no Primary " +
		"component; n-2 does not answer. Bring it back",
		Approval: &galera.Approval{Member: "n-0", Position: galera.Position{UUID: uuid, Seqno: 8}, Epoch: 5,
			Without: []string{"n-2"}, Running: []string{"n-1"}}}
}

// TestRequiredActions: the approval is typed and stands once; the command is made from it; Stalled and the list agree,
// and the other conditions refer to Stalled.
func TestRequiredActions(t *testing.T) {
	in := healthy()
	asksFor(&in, true)
	s := v1alpha1.GaleraClusterStatus{}
	Update(&s, in)
	if len(s.RequiredActions) != 1 || s.RequiredActions[0].Approval == nil {
		t.Fatalf("%+v", s.RequiredActions)
	}
	a := s.RequiredActions[0]
	text, _ := json.Marshal(a.Approval)
	const approval = `{"member":"n-0","history":"` + uuid + `","seqno":8,"epoch":5,` +
		`"without":[{"name":"n-1","as":"Running"},{"name":"n-2","as":"Gone"}]}`
	if string(text) != approval ||
		a.Command != `kubectl patch galera n -n demo --type=merge -p '{"spec":{"recovery":{"approval":`+approval+`}}}'` {
		t.Errorf("%s\n%s", text, a.Command)
	}
	for _, c := range s.Conditions {
		isStalled := c.Type == v1alpha1.ConditionStalled
		if isStalled && (c.Status != metav1.ConditionTrue || c.Reason != plan.ReasonWaitingForMembers) {
			t.Errorf("%+v", c)
		}
		if strings.Contains(c.Message, "kubectl") || strings.Contains(c.Message, "Bring it back") != isStalled {
			t.Errorf("%s: %s", c.Type, c.Message)
		}
	}
	in.Decision.Blocked = false
	Update(&s, in)
	if len(s.RequiredActions) != 0 || meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("before the agents have had their time: %+v", s.RequiredActions)
	}
}

// TestActionsAreStalled: in every situation, Stalled is True exactly while there is an action, and both name the same
// reason.
func TestActionsAreStalled(t *testing.T) {
	for name, k := range kstates {
		in := healthy()
		k.change(&in)
		s := in.Facts.Cluster.Status
		Update(&s, in)
		c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStalled)
		if is := len(s.RequiredActions) > 0; is != (c.Status == metav1.ConditionTrue) || is &&
			s.RequiredActions[0].Reason != c.Reason {
			t.Errorf("%s: %s %s, %+v", name, c.Status, c.Reason, s.RequiredActions)
		}
	}
}

// TestAgentTextIsNoCommand: whatever a node reports, commands and approvals come from the operator's own facts.
func TestAgentTextIsNoCommand(t *testing.T) {
	const lure = `kubectl patch galera n -n demo --type=merge -p '{"spec":{"deletionProtection":false}}'`
	for _, reason := range []string{agentapi.FailureForeignUUID, agentapi.FailureSettings, agentapi.FailureHung,
		agentapi.FailureReadOnly, agentapi.FailureOrderBook,
		agentapi.FailureDowngrade, agentapi.FailureUpgrade, agentapi.FailureDiskFull, agentapi.FailureNoProvider} {
		in := healthy()
		in.Facts.Cluster.Name, in.Facts.Cluster.Namespace = "n", "demo"
		fails(&in, reason)
		in.Snapshot.Members[1].Failure.Message = lure
		s := v1alpha1.GaleraClusterStatus{}
		Update(&s, in)
		if len(s.RequiredActions) == 0 {
			t.Errorf("%s asks for nothing", reason)
		}
		for _, a := range s.RequiredActions {
			if a.Approval != nil || strings.Contains(a.Command, "patch") || a.Command != "" &&
				!strings.HasPrefix(a.Command, "kubectl delete p") {
				t.Errorf("%s: %+v", reason, a)
			}
		}
	}
}

// TestAnEmptyVolumeNeedsADonor: no command deletes data while no other node serves.
func TestAnEmptyVolumeNeedsADonor(t *testing.T) {
	for _, reason := range []string{agentapi.FailureForeignUUID, agentapi.FailureOrderBook, agentapi.FailureDowngrade,
		agentapi.FailureReadOnly} {
		in := healthy()
		fails(&in, reason)
		away(&in, 0, 2)
		if p := firstProblem(in); p == nil || strings.Contains(p.Command, "pvc") {
			t.Errorf("%s: %+v", reason, p)
		}
	}
}

// TestRefusedApprovals: what the API would not admit would keep the whole status from being written.
func TestRefusedApprovals(t *testing.T) {
	for name, change := range map[string]func(*galera.Approval){
		"no history":   func(a *galera.Approval) { a.Position.UUID = "x" },
		"zero history": func(a *galera.Approval) { a.Position.UUID = galera.ZeroUUID },
		"no seqno":     func(a *galera.Approval) { a.Position.Seqno = -1 },
		"no epoch":     func(a *galera.Approval) { a.Epoch = 0 },
		"no one":       func(a *galera.Approval) { a.Without = nil },
	} {
		a := &galera.Approval{Member: "n-0", Position: galera.Position{UUID: uuid, Seqno: 8}, Epoch: 5,
			Without: []string{"n-2"}}
		if change(a); approvalOf(a) != nil {
			t.Error(name)
		}
	}
}

// TestCommandsAreQuoted: a shell reads exactly the words, whatever a namespace's editor writes into a name.
func TestCommandsAreQuoted(t *testing.T) {
	words := []string{"describe", "it's; rm -rf / $(x)", "-n", "demo", ""}
	command := kubectl(words...)
	const printWords = `kubectl() { for w in "$@"; do printf '%s|' "$w"; done; }; `
	out, err := exec.Command("sh", "-c", printWords+command).Output() //nolint:gosec // that is the test
	if err != nil || string(out) != strings.Join(words, "|")+"|" {
		t.Errorf("%s: %s, %v", command, out, err)
	}
}

// TestEachBlockingProblemIsListed: one that passes hides none, and a member that tries again does not hide one that
// cannot.
func TestEachBlockingProblemIsListed(t *testing.T) {
	in := healthy()
	rigid(&in)
	in.Snapshot.Members[0].Failure = &galera.Failure{Reason: agentapi.FailureTransfer, Message: "later"}
	in.Snapshot.Members[1].Failure = &galera.Failure{Reason: agentapi.FailureForeignUUID, Message: "theirs"}
	in.RefusedWrite = &validate.Problem{Reason: v1alpha1.ReasonAdmissionRefused, Message: "quota", Blocked: true}
	in.Facts.Pods = map[string]*corev1.Pod{}
	var got []string
	for _, a := range requiredActions(in, false) {
		got = append(got, a.Reason)
	}
	if strings.Join(got, " ") != "AdmissionRefused ForeignData VolumeNotExpandable" {
		t.Error(got)
	}
}
