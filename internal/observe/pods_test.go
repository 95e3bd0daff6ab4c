package observe

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

var podNow = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// container has run for some time, or waits for a reason.
func container(name string, ran time.Duration, waits string, restarts int32) corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: name, RestartCount: restarts, Ready: waits == ""}
	if waits != "" {
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: waits}
		return s
	}
	s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(podNow.Add(-ran))}
	return s
}

// lived adds how long the run before took.
func lived(s corev1.ContainerStatus, d time.Duration) corev1.ContainerStatus {
	end := podNow.Add(-time.Hour)
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(end.Add(-d)),
		FinishedAt: metav1.NewTime(end)}
	return s
}

// dbPod is a pod of the database, an init container that is done, and a sidecar.
func dbPod(database, sidecar corev1.ContainerStatus, reason string) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	agent := corev1.ContainerStatus{Name: "agent",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, Reason: reason}
	if reason != "" {
		ready.Status = corev1.ConditionFalse
	}
	if reason == "lost" {
		ready.Reason = ""
	}
	return &corev1.Pod{
		Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "agent"},
			{Name: sidecar.Name, RestartPolicy: &always}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{ready},
			ContainerStatuses:     []corev1.ContainerStatus{database},
			InitContainerStatuses: []corev1.ContainerStatus{agent, sidecar}},
	}
}

func TestWaiting(t *testing.T) {
	sidecar := container("log", time.Hour, "", 0)
	scheduled := func(s corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Status: s}}}}
	}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"running":    {dbPod(container("mariadb", time.Hour, "", 0), sidecar, ""), false},
		"its turn":   {dbPod(container("mariadb", 0, "ContainerCreating", 0), sidecar, "ContainersNotReady"), false},
		"no image":   {dbPod(container("mariadb", 0, "ImagePullBackOff", 0), sidecar, "ContainersNotReady"), true},
		"crash loop": {dbPod(container("mariadb", 0, "CrashLoopBackOff", 3), sidecar, "ContainersNotReady"), true},
		"what comes before it": {dbPod(container("mariadb", 0, "PodInitializing", 0), container("log", 0,
			"ImagePullBackOff", 0), "ContainersNotReady"), true},
		"a sidecar of a running server": {dbPod(container("mariadb", time.Hour, "", 0),
			container("log", 0, "CrashLoopBackOff",
				3), "ContainersNotReady"), false},
		"no host":     {scheduled(corev1.ConditionFalse), true},
		"on its host": {scheduled(corev1.ConditionTrue), false},
	} {
		if got := pod(tc.pod, &appsv1.StatefulSet{}, podNow).Waiting; got != tc.want {
			t.Errorf("%s: waiting %v, want %v", name, got, tc.want)
		}
	}
}

// TestServerReady: the readiness is the server's, not that of its sidecars.
func TestServerReady(t *testing.T) {
	crashes := container("log", 0, "CrashLoopBackOff", 3)
	notReady := container("mariadb", time.Hour, "", 0)
	notReady.Ready = false
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"all are ready": {dbPod(container("mariadb", time.Hour, "", 0), container("log", time.Hour, "", 0), ""),
			true},
		"a sidecar crashes":       {dbPod(container("mariadb", time.Hour, "", 0), crashes, "ContainersNotReady"), true},
		"its gates are not met":   {dbPod(container("mariadb", time.Hour, "", 0), crashes, "ReadinessGatesNotReady"), true},
		"the server is not ready": {dbPod(notReady, crashes, "ContainersNotReady"), false},
		"its host is lost":        {dbPod(container("mariadb", time.Hour, "", 0), crashes, "lost"), false},
		"nothing is known":        {&corev1.Pod{}, false},
	} {
		if got := pod(tc.pod, &appsv1.StatefulSet{}, podNow).Ready; got != tc.want {
			t.Errorf("%s: ready %v, want %v", name, got, tc.want)
		}
	}
}

// TestCreating: a pod that is Pending has its time while kubelet makes progress, and only before its first start.
func TestCreating(t *testing.T) {
	sidecar, ends := container("log", time.Hour, "", 0), metav1.Now()
	for name, tc := range map[string]struct {
		phase  corev1.PodPhase
		server corev1.ContainerStatus
		change func(*corev1.Pod)
		want   bool
	}{
		"its image is pulled":       {corev1.PodPending, container("mariadb", 0, "ContainerCreating", 0), nil, true},
		"the one before it runs":    {corev1.PodPending, container("mariadb", 0, "PodInitializing", 0), nil, true},
		"its image cannot be had":   {corev1.PodPending, container("mariadb", 0, "ErrImagePull", 0), nil, false},
		"it runs":                   {corev1.PodRunning, container("mariadb", time.Second, "", 0), nil, false},
		"it runs, by an older word": {corev1.PodPending, container("mariadb", time.Second, "", 0), nil, false},
		"it has run":                {corev1.PodPending, container("mariadb", 0, "ContainerCreating", 1), nil, false},
		"the pod is deleted": {corev1.PodPending, container("mariadb", 0, "ContainerCreating", 0),
			func(p *corev1.Pod) { p.DeletionTimestamp = &ends }, false},
		"it has no host": {corev1.PodPending, container("mariadb", 0, "ContainerCreating", 0), func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions,
				corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse})
		}, false},
		"kubelet has not said anything": {corev1.PodPending, corev1.ContainerStatus{}, func(p *corev1.Pod) {
			p.Status.ContainerStatuses, p.Status.InitContainerStatuses = nil, nil
		}, true},
	} {
		p := dbPod(tc.server, sidecar, "ContainersNotReady")
		if p.Status.Phase = tc.phase; tc.change != nil {
			tc.change(p)
		}
		if got := pod(p, &appsv1.StatefulSet{}, podNow).Creating; got != tc.want {
			t.Errorf("%s: creating %v", name, got)
		}
	}
}

func TestUnsettled(t *testing.T) {
	server := container("mariadb", time.Second, "", 0)
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		want    string
		failing bool
	}{
		"all have run for a while":    {dbPod(server, container("log", time.Minute, "", 0), ""), "", false},
		"our exporter counts at once": {dbPod(server, container("exporter", time.Second, "", 0), ""), "", false},
		"a sidecar was just started": {dbPod(server, container("log", 20*time.Second, "", 0), ""),
			"the container log was started a moment ago", false},
		"the server was restarted": {dbPod(container("mariadb", 20*time.Second, "", 1), container("log", time.Hour,
			"", 0), ""), "mariadb was started a moment ago, and has restarted once", false},
		"a sidecar waits": {dbPod(server, container("log", 0, "CrashLoopBackOff", 3), "ContainersNotReady"),
			"the container log does not run, and has restarted 3 times", true},
		"it lives as long as before": {dbPod(server, lived(container("log", time.Minute, "", 2), 2*time.Minute), ""),
			"log was started a moment ago, and has restarted 2 times", true},
		"it has outlived its run before": {dbPod(server, lived(container("log", 3*time.Minute, "", 2), 2*time.Minute), ""),
			"", false},
		"it ran for hours before": {dbPod(server, lived(container("log", 11*time.Minute, "", 2), 5*time.Hour), ""), "",
			false},
		"the host's clock is a moment ahead": {dbPod(server, container("log", -2*time.Second, "", 0), ""),
			"the container log was started a moment ago", false},
		"the host's clock is hours ahead": {dbPod(server, container("log", -2*time.Hour, "", 0), ""), "", false},
		"the readiness gates are not met": {dbPod(server, container("log", time.Hour, "", 0), "ReadinessGatesNotReady"),
			"its readiness gates are not met", false},
		"it has run for an hour since": {dbPod(server, container("log", time.Hour, "", 5), ""), "", false},
	} {
		got := pod(tc.pod, &appsv1.StatefulSet{}, podNow).Unsettled
		if !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if failing := Failing(tc.pod, podNow); (failing != nil) != tc.failing {
			t.Errorf("%s: failing %v", name, failing)
		}
	}
}

func TestUnplaced(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod, *corev1.PersistentVolumeClaim)
		want   bool
	}{
		"no host, no volume":     {func(*corev1.Pod, *corev1.PersistentVolumeClaim) {}, true},
		"it has a host":          {func(p *corev1.Pod, _ *corev1.PersistentVolumeClaim) { p.Spec.NodeName = "a" }, false},
		"its claim has a volume": {func(_ *corev1.Pod, c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" }, false},
		"its claim was bound": {func(_ *corev1.Pod,
			c *corev1.PersistentVolumeClaim) {
			c.Status.Phase = corev1.ClaimLost
		}, false},
		"its claim is another cluster": {func(_ *corev1.Pod, c *corev1.PersistentVolumeClaim) { c.Name = "data-other-0" },
			false},
		"its pod is not there": {func(p *corev1.Pod, _ *corev1.PersistentVolumeClaim) { p.Name = "other-0" }, false},
	} {
		p, c := &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
		p.Name, c.Name, c.Status.Phase = "shop-0", "data-shop-0", corev1.ClaimPending
		tc.change(p, c)
		f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Pods: map[string]*corev1.Pod{p.Name: p},
			Claims: map[string]*corev1.PersistentVolumeClaim{c.Name: c}}
		f.Cluster.Name = "shop"
		if got := member(f, nil, 0, podNow); got.Unplaced != tc.want {
			t.Errorf("%s: unplaced %v", name, got.Unplaced)
		}
	}
}
