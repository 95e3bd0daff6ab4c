package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestTrust(t *testing.T) {
	const uuid = "6b4c1a52-0000-11f0-a000-000000000001"
	for value, want := range map[string]string{
		"":                            "",
		"shop-1":                      "",
		"shop-1=" + uuid:              "",
		"shop-1=" + uuid + ":-1@5":    "",
		"shop-1=" + uuid + ":12":      "", // of which operation?
		"shop-1=" + uuid + ":12@x":    "",
		"shop-1=" + uuid + ":12@5":    "shop-1 " + uuid + ":12@5",
		" shop-1 = " + uuid + ":12@5": "shop-1 " + uuid + ":12@5",
		"shop-1=" + uuid + ":12@5,without=shop-0,shop-2":         "shop-1 " + uuid + ":12@5 without shop-0 shop-2",
		"shop-1=" + uuid + ":12@5,without=shop-0/running":        "shop-1 " + uuid + ":12@5 ending shop-0",
		"shop-1=" + uuid + ":12@5,without=shop-0,shop-2/running": "shop-1 " + uuid + ":12@5 without shop-0 ending shop-2",
		"shop-1=00000000-0000-0000-0000-000000000000:3@5":        "",
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Annotations = map[string]string{v1alpha1.AnnotationTrustMember: value}
		got := ""
		if tr := trust(c); tr != nil {
			got = fmt.Sprintf("%s %s@%d", tr.Member, tr.Position, tr.Epoch)
			if without := strings.Join(tr.Without, " "); without != "" {
				got += " without " + without
			}
			if running := strings.Join(tr.Running, " "); running != "" {
				got += " ending " + running
			}
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", value, got, want)
		}
	}
}

func TestWaiting(t *testing.T) {
	container := func(reason string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}}
	}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   bool
	}{
		"running":     {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}, false},
		"its turn":    {container("ContainerCreating"), false},
		"no image":    {container("ImagePullBackOff"), true},
		"crash loop":  {container("CrashLoopBackOff"), true},
		"no host":     {corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}}, true},
		"on its host": {corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}}, false},
	} {
		if got := waiting(&corev1.Pod{Status: tc.status}); got != tc.want {
			t.Errorf("%s: waiting %v, want %v", name, got, tc.want)
		}
	}
}

func TestMembersTellOfMissingTools(t *testing.T) {
	f := Facts{Cluster: &v1alpha1.GaleraCluster{}}
	f.Cluster.Name = "shop"
	for want, missing := range map[bool][]string{true: {"socat"}, false: nil} {
		r := agentapi.Report{Image: agentapi.ImageReport{Missing: missing, ServerVersion: "11.8.6"}}
		if m := member(f, map[string]Seen{"shop-0": {Live: true, Report: r}}, 0, time.Unix(0, 0)); !m.Known || m.LacksTools != want || m.ServerVersion != "11.8.6" {
			t.Errorf("%v: %+v", missing, m)
		}
	}
}

// TestNoPrimary: what is counted begins with the end of the Primary component, however few were in it, and whatever
// the condition QuorumHealthy has said since when.
func TestNoPrimary(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	ago := func(d time.Duration) *metav1.Time { at := metav1.NewTime(now.Add(-d)); return &at }
	primary := Seen{Live: true, Report: agentapi.Report{Server: &agentapi.Server{Component: galera.ComponentPrimary, ClusterUUID: "u"}}}
	for name, tc := range map[string]struct {
		recorded *metav1.Time
		seen     Seen
		want     time.Duration
	}{
		"a minority serves":                {nil, primary, 0},
		"a minority came back":             {ago(time.Minute), primary, 0},
		"the minority that served is gone": {nil, Seen{}, 0},
		"it has been for a minute":         {ago(time.Minute), Seen{}, time.Minute},
	} {
		f := Facts{Cluster: &v1alpha1.GaleraCluster{}}
		f.Cluster.Name, f.Cluster.Status.Replicas, f.Cluster.Status.NoPrimarySince = "shop", 3, tc.recorded
		f.Cluster.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionQuorumHealthy, Status: metav1.ConditionFalse, LastTransitionTime: *ago(time.Hour)}}
		if s := Snapshot(f, map[string]Seen{"shop-0": tc.seen}, agentapi.NodeConfig{}, now); s.NoPrimaryFor != tc.want {
			t.Errorf("%s: %s without a Primary component, want %s", name, s.NoPrimaryFor, tc.want)
		}
	}
}
