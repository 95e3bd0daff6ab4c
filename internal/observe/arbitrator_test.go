package observe

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func annotated(revision string) map[string]string {
	return map[string]string{v1alpha1.AnnotationArbitratorRevision: revision}
}

// pair is a cluster of two and an arbitrator, and the reports of their agents.
func pair() (Facts, map[string]Seen) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.Replicas, c.Spec.Arbitrator.Enabled = 2, true
	f := Facts{Cluster: c, ArbitratorRevision: "r1",
		Pods: map[string]*corev1.Pod{"shop-0": {}, "shop-1": {}},
		Arbitrator: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: annotated("r1")}}}},
		ArbitratorPod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shop-arbitrator-x", Annotations: annotated("r1")}},
	}
	node := agentapi.Report{Phase: galera.PhaseRunning, Server: &agentapi.Server{
		Component: galera.ComponentPrimary, State: galera.NodeSynced, Size: 3, Members: []string{"shop-0", "arbitrator.a",
			"shop-1"}}}
	seen := map[string]Seen{"shop-0": {Report: node, Live: true}, "shop-1": {Report: node, Live: true}}
	seen["shop-arbitrator"] = Seen{Live: true, Report: agentapi.Report{Phase: galera.PhaseRunning,
		Arbitration: &agentapi.Arbitration{Process: "arbitrator.a"},
		Config:      agentapi.ConfigReport{Socket: galera.SocketStrict}}}
	return f, seen
}

// TestArbitratorIsNoMember: no policy may look for data there, nor miss it where members are counted.
func TestArbitratorIsNoMember(t *testing.T) {
	f, seen := pair()
	s := Snapshot(f, seen, agentapi.NodeConfig{}, time.Now())
	if len(s.Members) != 2 {
		t.Fatalf("%d members", len(s.Members))
	}
	for _, m := range s.Members {
		if m.Server.Size != 2 || !slices.Equal(m.Server.Members, []string{"shop-0", "shop-1"}) {
			t.Errorf("%s: %+v", m.Name, m.Server)
		}
	}
	if !s.Arbitrator.Votes() || s.Arbitrator.Process != "arbitrator.a" ||
		s.Arbitrator.Running.Socket != galera.SocketStrict {
		t.Errorf("%+v", s.Arbitrator)
	}
	if got := seen["shop-0"].Report.Server.Members; len(got) != 3 {
		t.Errorf("the report was changed: %v", got)
	}
}

func TestArbitratorIsCountedByTheNodes(t *testing.T) {
	for name, change := range map[string]func(Facts, map[string]Seen){
		"the nodes list another process": func(_ Facts, seen map[string]Seen) {
			for _, n := range []string{"shop-0", "shop-1"} {
				seen[n].Report.Server.Members = []string{"shop-0", "arbitrator.old", "shop-1"}
			}
		},
		"the nodes have lost quorum": func(_ Facts, seen map[string]Seen) {
			for _, n := range []string{"shop-0", "shop-1"} {
				seen[n].Report.Server.Component = galera.ComponentNonPrimary
			}
		},
		"it does not answer": func(_ Facts, seen map[string]Seen) { delete(seen, "shop-arbitrator") },
		"its pod is of an earlier template": func(f Facts, _ map[string]Seen) {
			f.ArbitratorPod.Annotations = annotated(
				"r0")
		},
		"its Deployment is of an earlier one": func(f Facts, _ map[string]Seen) {
			f.Arbitrator.Spec.Template.Annotations, f.ArbitratorPod.Annotations = annotated("r0"), annotated("r0")
		},
		"its pod ends": func(f Facts,
			_ map[string]Seen) {
			f.ArbitratorPod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		},
	} {
		f, seen := pair()
		change(f, seen)
		if s := Snapshot(f, seen, agentapi.NodeConfig{}, time.Now()); s.Arbitrator.Votes() {
			t.Errorf("%s, and it votes: %+v", name, s.Arbitrator)
		}
	}
}

func TestArbitratorAndThePublishedPair(t *testing.T) {
	fact := map[string]agentapi.ChannelFact{agentapi.ChannelReplication: {Observed: agentapi.ObservedTLS, Serial: "1"}}
	for name, r := range map[string]struct {
		tls            agentapi.TLSReport
		loaded, serves bool
	}{
		"it runs with it": {agentapi.TLSReport{Installed: "", Loaded: "", Channels: fact, LoadedSerial: "1"},
			true, true},
		"it has another one":          {agentapi.TLSReport{Installed: "x"}, false, false},
		"it was started with another": {agentapi.TLSReport{Loaded: "x"}, false, false},
	} {
		f, seen := pair()
		seen["shop-arbitrator"] = Seen{Live: true, Report: agentapi.Report{TLS: r.tls}}
		if u, ok := arbitratorUse(f, seen); !ok || u.Loaded != r.loaded || u.Serves != r.serves {
			t.Errorf("%s: %+v", name, u)
		}
	}
	f, seen := pair()
	f.ArbitratorPod, f.Arbitrator.Spec.Replicas = nil, new(int32)
	if _, ok := arbitratorUse(f, seen); ok {
		t.Error("one that is asleep holds up no other")
	}
	f.Arbitrator = nil
	if _, ok := arbitratorUse(f, seen); ok {
		t.Error("nor does one that is not there")
	}
}

// TestArbitratorWithoutDeployment: its pod is there for a while, and garbd runs.
func TestArbitratorWithoutDeployment(t *testing.T) {
	f, seen := pair()
	f.Arbitrator, f.Cluster.Spec.Arbitrator.Enabled = nil, false
	seen["shop-arbitrator"] = Seen{Live: true,
		Report: agentapi.Report{Arbitration: &agentapi.Arbitration{Process: "arbitrator.a"},
			TLS: agentapi.TLSReport{Installed: "earlier"}}}
	if u, ok := arbitratorUse(f, seen); !ok || u.Loaded {
		t.Errorf("a CA would be dropped that it needs: %t %+v", ok, u)
	}
	a := Snapshot(f, seen, agentapi.NodeConfig{}, time.Now()).Arbitrator
	if a == nil || a.Deployed || a.Process != "arbitrator.a" || a.Votes() {
		t.Errorf("%+v", a)
	}
	f.ArbitratorPod = nil
	if a := Snapshot(f, seen, agentapi.NodeConfig{}, time.Now()).Arbitrator; a != nil {
		t.Errorf("it is gone: %+v", a)
	}
}

func TestArbitratorLacksGarbd(t *testing.T) {
	for reason, want := range map[string]bool{agentapi.FailureNoArbitrator: true, agentapi.FailureStart: false} {
		f, seen := pair()
		seen["shop-arbitrator"] = Seen{Live: true, Report: agentapi.Report{Failure: &agentapi.Failure{Reason: reason}}}
		if a := Snapshot(f, seen, agentapi.NodeConfig{}, time.Now()).Arbitrator; a.LacksGarbd != want || a.Failure == nil {
			t.Errorf("%s: %+v", reason, a)
		}
	}
}

// TestArbitratorOutdated: a running arbitrator is not restarted for its agent, nor while restarts wait.
func TestArbitratorOutdated(t *testing.T) {
	ready := func(f *Facts) {
		f.ArbitratorPod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	unpulled := func(f *Facts) {
		f.ArbitratorPod.Status.InitContainerStatuses = []corev1.ContainerStatus{
			{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	}
	template := func(f *Facts) { f.ArbitratorRevision = "r2" }
	image := func(f *Facts) { f.AgentImage = "operator:2" }
	for name, c := range map[string]struct {
		changes []func(*Facts)
		waits   bool
		want    bool
	}{
		"nothing has changed":                          {[]func(*Facts){ready}, false, false},
		"another template":                             {[]func(*Facts){ready, template}, false, true},
		"another template, and restarts wait":          {[]func(*Facts){ready, template}, true, false},
		"another template, it is down, restarts wait":  {[]func(*Facts){template}, true, true},
		"another agent":                                {[]func(*Facts){ready, image}, false, false},
		"another agent, it is down":                    {[]func(*Facts){image}, false, false},
		"another agent, and the old one cannot be had": {[]func(*Facts){image, unpulled}, false, true},
		"the same agent, which cannot be had":          {[]func(*Facts){unpulled}, false, false},
	} {
		f, _ := pair()
		f.AgentImage = "operator:1"
		f.Arbitrator.Spec.Template.Spec.InitContainers = []corev1.Container{{Image: "operator:1"}}
		for _, change := range c.changes {
			change(&f)
		}
		if got := arbitratorOutdated(f.Arbitrator, f, c.waits); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRestartsWait: a change of the spec waits for no window.
func TestRestartsWait(t *testing.T) {
	f, _ := pair()
	f.Cluster.Generation, f.Cluster.Status.AppliedGeneration = 5, 5
	f.Cluster.Spec.Maintenance = &v1alpha1.MaintenanceSpec{AgentUpgrade: v1alpha1.AgentUpgradeManual}
	if restartsWait(f, time.Now()) == "" {
		t.Error("nothing waits")
	}
	f.Cluster.Generation = 6
	if why := restartsWait(f, time.Now()); why != "" {
		t.Errorf("the spec waits: %s", why)
	}
}
