package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestPrimaryPod: the Service's word is the last one, also for a pod without a label; a Service that selects by
// label leads where the label is.
func TestPrimaryPod(t *testing.T) {
	named := map[string]string{appsv1.StatefulSetPodNameLabel: "shop-2"}
	byLabel := map[string]string{v1alpha1.LabelRole: v1alpha1.RolePrimary}
	for name, tc := range map[string]struct {
		selector map[string]string
		labelled string
		recorded string
		want     string
	}{
		"nothing is known yet":                            {nil, "", "", "shop-0"},
		"the Service was deleted":                         {nil, "", "shop-1", "shop-1"},
		"the Service names it":                            {named, "shop-1", "shop-0", "shop-2"},
		"its pod was made anew and has no label":          {named, "", "shop-2", "shop-2"},
		"the Service selects by label":                    {byLabel, "shop-1", "shop-0", "shop-1"},
		"by label, and the pod that had it was made anew": {byLabel, "", "shop-1", "shop-1"},
	} {
		f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Pods: map[string]*corev1.Pod{}}
		f.Cluster.Name, f.Cluster.Spec.Replicas, f.Cluster.Status.Replicas, f.Cluster.Status.Primary = "shop", 3, 3,
			tc.recorded
		for _, pod := range []string{"shop-0", "shop-1", "shop-2"} {
			p := &corev1.Pod{}
			p.Name = pod
			if pod == tc.labelled {
				p.Labels = byLabel
			}
			f.Pods[pod] = p
		}
		if tc.selector != nil {
			f.PrimaryService = &corev1.Service{Spec: corev1.ServiceSpec{Selector: tc.selector}}
		}
		if got := PrimaryPod(f); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if Role(f, tc.want) != v1alpha1.RolePrimary || Role(f, "shop-9") != v1alpha1.RoleReplica {
			t.Errorf("%s: the roles are wrong", name)
		}
	}
}

// TestReplicas: a replica serves while it is Ready, and is not terminating.
func TestReplicas(t *testing.T) {
	for name, tc := range map[string]struct {
		pod   string
		ready corev1.ConditionStatus
		role  string
		gone  bool
		want  bool
	}{
		"a replica":                {"shop-1", corev1.ConditionTrue, v1alpha1.RoleReplica, false, true},
		"not Synced":               {"shop-1", corev1.ConditionFalse, v1alpha1.RoleReplica, false, false},
		"deleted":                  {"shop-1", corev1.ConditionTrue, v1alpha1.RoleReplica, true, false},
		"made anew, no label yet":  {"shop-1", corev1.ConditionTrue, "", false, false},
		"the primary":              {"shop-0", corev1.ConditionTrue, v1alpha1.RolePrimary, false, false},
		"the primary, until today": {"shop-0", corev1.ConditionTrue, v1alpha1.RoleReplica, false, false},
	} {
		p := &corev1.Pod{}
		p.Name, p.Labels = tc.pod, map[string]string{v1alpha1.LabelRole: tc.role}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: tc.ready}}
		if tc.gone {
			p.DeletionTimestamp = new(metav1.Now())
		}
		f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Pods: map[string]*corev1.Pod{tc.pod: p}}
		f.Cluster.Name, f.Cluster.Status.Primary = "shop", "shop-0"
		if got := Roles(f); got.Replicas != tc.want || got.Primary != "shop-0" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
