package status

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

func TestUpToDate(t *testing.T) {
	waits := func(in *Input) { in.Snapshot.RestartsWait = "waits for the window that begins at 3" }
	outdated := func(in *Input) { in.Snapshot.Members[1].Pod.Outdated = true }
	for name, tc := range map[string]struct {
		changes         []func(*Input)
		reason, message string
	}{
		"all is": {nil, "UpToDate", "all nodes and agents are as the spec and this operator ask for"},
		"a node": {[]func(*Input){outdated}, "Updating", "n-1 is to be restarted"},
		"a node that waits": {[]func(*Input){outdated, waits}, "MaintenancePending",
			"n-1 is to be restarted: waits for the window that begins at 3"},
		"one that waits alongside one that does not": {[]func(*Input){outdated, waits,
			func(in *Input) { in.Snapshot.Members[2].StaleTrust = true }}, "Updating",
			"n-2 is to be restarted; n-1 is to be restarted: waits for the window that begins at 3"},
		"a node that has not read it": {[]func(*Input){func(in *Input) { in.Snapshot.Members[1].ConfigLoaded = "r0" }},
			"Updating", "n-1 has not read the new configuration yet"},
		"a node that does not answer": {[]func(*Input){func(in *Input) {
			in.Snapshot.Members[1].ConfigLoaded,
				in.Snapshot.Members[1].Known = "", false
		}}, "UpToDate",
			"all nodes and agents are as the spec and this operator ask for"},
		"a new template": {[]func(*Input){func(in *Input) {
			in.Facts.PodTemplate, in.Facts.StatefulSet = "t",
				&appsv1.StatefulSet{}
		}}, "Updating",
			"the pods' new template is not written yet"},
		"agents": {[]func(*Input){func(in *Input) {
			in.OutdatedAgents = map[string]string{"n-2": "", "n-1": agentapi.NotNow + "the member is joining"}
		}}, "Updating", "the agent of n-1 is to be replaced; the agent of n-2 is to be replaced"},
		"an agent that waits": {[]func(*Input){func(in *Input) { in.OutdatedAgents = map[string]string{"n-2": "Manual"} }},
			"MaintenancePending",
			"the agent of n-2 is to be replaced: Manual"},
	} {
		in := healthy()
		for _, change := range tc.changes {
			change(&in)
		}
		if v := upToDate(in); v.reason != tc.reason || v.message != tc.message {
			t.Errorf("%s: %s: %q", name, v.reason, v.message)
		}
	}
}

// TestAppliedGeneration: a generation counts as applied when every node was seen to run with it.
func TestAppliedGeneration(t *testing.T) {
	const before, now = 4, 5
	for name, tc := range map[string]struct {
		change func(*Input)
		want   int64
	}{
		"all nodes run with it":           {func(*Input) {}, now},
		"a node is to be restarted":       {func(in *Input) { in.Snapshot.Members[0].RestartNeeded = true }, before},
		"a pod is outdated":               {func(in *Input) { in.Snapshot.Members[0].Pod.Outdated = true }, before},
		"a node has not read it":          {func(in *Input) { in.Snapshot.Members[0].ConfigLoaded = "r0" }, before},
		"a node does not answer":          {func(in *Input) { in.Snapshot.Members[0].Known = false }, before},
		"a server is down":                {func(in *Input) { in.Snapshot.Members[0].Server = nil }, before},
		"an operation runs":               {func(in *Input) { in.Snapshot.Operation = &galera.Operation{} }, before},
		"nodes are missing":               {func(in *Input) { in.Snapshot.Replicas = 5 }, before},
		"the template is not written yet": {func(in *Input) { in.Facts.PodTemplate = "next" }, before},
		"Kubernetes has not seen it yet":  {func(in *Input) { in.Facts.StatefulSet.Generation++ }, before},
		"the arbitrator is to be replaced": {func(
			in *Input) {
			in.Snapshot.Arbitrator = &galera.Arbitrator{Outdated: true}
		}, before},
	} {
		in := healthy()
		in.Facts.Cluster.Generation = now
		in.Facts.PodTemplate, in.Facts.StatefulSet = "t", &appsv1.StatefulSet{}
		in.Facts.StatefulSet.Spec.Template.Annotations = map[string]string{v1alpha1.AnnotationPodTemplate: "t"}
		tc.change(&in)
		if got := appliedGeneration(in, nil, before); got != tc.want {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := appliedGeneration(healthy(), &validate.Problem{}, before); got != before {
		t.Errorf("with a problem: %d", got)
	}
}
