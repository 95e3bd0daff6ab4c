package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestVolumeSize: the spec can be set back this far, so every volume has it, or has been asked for it.
func TestVolumeSize(t *testing.T) {
	has := func(capacity, request string) *corev1.PersistentVolumeClaim {
		p := &corev1.PersistentVolumeClaim{}
		p.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(request)}
		p.Status.Phase, p.Status.Capacity = corev1.ClaimBound,
			corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(capacity)}
		return p
	}
	pending := has("1Gi", "1Gi")
	pending.Status.Phase = corev1.ClaimPending
	for name, tc := range map[string]struct {
		claims []*corev1.PersistentVolumeClaim
		want   string
	}{
		"as made":                          {[]*corev1.PersistentVolumeClaim{has("1Gi", "1Gi"), has("1Gi", "1Gi")}, "1Gi"},
		"asked to grow":                    {[]*corev1.PersistentVolumeClaim{has("1Gi", "2Gi"), has("1Gi", "2Gi")}, "2Gi"},
		"one cannot grow":                  {[]*corev1.PersistentVolumeClaim{has("2Gi", "2Gi"), has("1Gi", "1Gi")}, "1Gi"},
		"bound to more than was asked for": {[]*corev1.PersistentVolumeClaim{has("5Gi", "1Gi"), has("5Gi", "1Gi")}, "1Gi"},
		"of a member that has left": {[]*corev1.PersistentVolumeClaim{has("2Gi", "2Gi"), has("2Gi", "2Gi"),
			has("1Gi", "1Gi")}, "2Gi"},
		"one is missing":       {[]*corev1.PersistentVolumeClaim{has("1Gi", "1Gi")}, "<nil>"},
		"one is not there yet": {[]*corev1.PersistentVolumeClaim{has("1Gi", "1Gi"), pending}, "<nil>"},
		"none":                 {nil, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Claims: map[string]*corev1.PersistentVolumeClaim{}}
			f.Cluster.Name, f.Cluster.Status.Replicas = "shop", 2
			for i, p := range tc.claims {
				f.Claims[fmt.Sprintf("data-shop-%d", i)] = p
			}
			if got := VolumeSize(f).String(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestMistypedStorageClass: what to do about a class that does not exist, and about the claim that asks for it after
// the spec was corrected. Claims are never said to hold no data when they may.
func TestMistypedStorageClass(t *testing.T) {
	const left, other = "claim data-shop-0 asks for the StorageClass \"mistyped\"",
		"kubectl delete pvc -l galera-operator.io/cluster=shop -n demo --wait=false"
	claim := func(class, volume string) *corev1.PersistentVolumeClaim {
		p := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-shop-0"}}
		p.Spec.StorageClassName, p.Spec.VolumeName, p.Status.Phase = &class, volume, corev1.ClaimPending
		if volume != "" {
			p.Status.Phase = corev1.ClaimBound
		}
		return p
	}
	for name, tc := range map[string]struct {
		class string
		claim *corev1.PersistentVolumeClaim
		uuid  string
		want  []string
		not   string
	}{
		"mistyped": {"mistyped", claim("mistyped", ""), "", []string{"does not exist; create it", other},
			"data-shop-0"},
		"mistyped, no claim yet": {"mistyped", nil, "", []string{other}, ""},
		"the class was deleted":  {"mistyped", claim("mistyped", "pv-1"), "", []string{"create it"}, "delete"},
		"the cluster has a past": {"mistyped", claim("mistyped", ""), "u", []string{"create it"}, "delete"},
		"corrected": {"fast", claim("mistyped", ""), "",
			[]string{left, "kubectl delete pvc data-shop-0 -n demo --wait=false"}, "-l "},
		"corrected to the default": {"", claim("mistyped", ""), "", []string{left}, ""},
		"bound long ago":           {"fast", claim("mistyped", "pv-1"), "", nil, ""},
		"all is well":              {"fast", claim("fast", ""), "", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			live := fake.NewClientBuilder().WithObjects(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast",
				Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}}).Build()
			f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Claims: map[string]*corev1.PersistentVolumeClaim{},
				Pods: map[string]*corev1.Pod{"shop-0": {Status: corev1.PodStatus{
					Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}}}}}
			f.Cluster.Name, f.Cluster.Namespace, f.Cluster.Status.Replicas, f.Cluster.Status.ClusterUUID = "shop", "demo", 1,
				tc.uuid
			if tc.class != "" {
				f.Cluster.Spec.Storage.StorageClassName = &tc.class
			}
			if tc.claim != nil {
				f.Claims[tc.claim.Name] = tc.claim
			}
			if err := (Readers{Live: live}).storageClass(t.Context(), &f); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(f.StorageClassProblem, want) {
					t.Errorf("%q lacks %q", f.StorageClassProblem, want)
				}
			}
			if tc.want == nil && f.StorageClassProblem != "" || tc.not != "" && strings.Contains(f.StorageClassProblem, tc.not) {
				t.Errorf("%q", f.StorageClassProblem)
			}
		})
	}
}

// TestHolders: of a claim that is being deleted, while the member has no pod on a host, every pod that mounts it is
// known, no matter whose it is.
func TestHolders(t *testing.T) {
	pod := func(name, host, claim string, phase corev1.PodPhase, owners ...metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "demo", OwnerReferences: owners},
			Spec: corev1.PodSpec{NodeName: host, Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}},
			Status: corev1.PodStatus{Phase: phase}}
	}
	job := metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "shop-0-restore", Controller: new(true)}
	debug := pod("debug", "h1", "data-shop-0", corev1.PodRunning)
	restored := pod("shop-0-restore-x", "h1", "data-shop-0", corev1.PodSucceeded, job)
	none := func(*Facts) {}
	for name, c := range map[string]struct {
		pods   []*corev1.Pod
		change func(*Facts)
		want   []Holder
	}{
		"two hold it": {[]*corev1.Pod{restored, debug}, none, []Holder{{"debug", corev1.PodRunning, ""},
			{"shop-0-restore-x", corev1.PodSucceeded, "shop-0-restore"}}},
		"none does": {[]*corev1.Pod{pod("waits", "", "data-shop-0", corev1.PodPending),
			pod("other", "h1", "data-shop-1", corev1.PodRunning)}, none, nil},
		"its own pod waits for a host": {[]*corev1.Pod{debug}, func(f *Facts) {
			f.Pods["shop-0"] = pod("shop-0", "", "data-shop-0", corev1.PodPending)
		}, []Holder{{"debug", corev1.PodRunning, ""}}},
		"its own pod has it": {[]*corev1.Pod{debug}, func(f *Facts) {
			f.Pods["shop-0"] = pod("shop-0", "h1", "data-shop-0", corev1.PodRunning)
		}, nil},
		"it is not being deleted": {[]*corev1.Pod{debug}, func(f *Facts) {
			f.Claims["data-shop-0"].DeletionTimestamp = nil
		}, nil},
	} {
		live := fake.NewClientBuilder()
		for _, p := range c.pods {
			live.WithObjects(p.DeepCopy())
		}
		f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Holders: map[string][]Holder{}, Pods: map[string]*corev1.Pod{},
			Claims: map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {ObjectMeta: metav1.ObjectMeta{
				Name: "data-shop-0", Namespace: "demo", DeletionTimestamp: new(metav1.Now())}}}}
		f.Cluster.Name, f.Cluster.Namespace, f.Cluster.Status.Replicas = "shop", "demo", 1
		c.change(&f)
		if err := (Readers{Live: live.Build()}).holders(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
		if got := f.Holders["data-shop-0"]; !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
