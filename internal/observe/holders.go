package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/resources"
)

const (
	// holderPage and maxHolderPages bound how many pods of a namespace are searched for those that mount a claim.
	holderPage     = 500
	maxHolderPages = 10
)

// Holder is a pod that mounts a claim.
type Holder struct {
	Pod   string
	Phase corev1.PodPhase
	// Job controls the pod, "" for none.
	Job string
}

// Deleted returns the claims of members that are being deleted, and wait for another pod than the member's, in ordinal
// order: the member gets a new volume only once they are gone.
func Deleted(f Facts) (out []*corev1.PersistentVolumeClaim) {
	for i := range Size(f) {
		claim, own := f.Claims[resources.ClaimName(f.Cluster, i)], f.Pods[resources.PodName(f.Cluster, i)]
		if claim != nil && claim.DeletionTimestamp != nil && (own == nil || own.Spec.NodeName == "") {
			out = append(out, claim)
		}
	}
	return out
}

// holders looks for the pods that keep members' claims from being deleted. They may be anyone's, so all pods of the
// namespace are read, and only while such a claim exists.
func (r Readers) holders(ctx context.Context, f *Facts) error {
	wanted := map[string]bool{}
	for _, claim := range Deleted(*f) {
		wanted[claim.Name] = true
	}
	if len(wanted) == 0 {
		return nil
	}
	next := ""
	for range maxHolderPages {
		var pods corev1.PodList
		if err := r.Live.List(ctx, &pods, client.InNamespace(f.Cluster.Namespace), client.Limit(holderPage),
			client.Continue(next)); err != nil {
			return fmt.Errorf("listing the pods that mount claims: %w", err)
		}
		for i := range pods.Items {
			for _, name := range mounted(&pods.Items[i], wanted) {
				f.Holders[name] = append(f.Holders[name], holder(&pods.Items[i]))
			}
		}
		if next = pods.Continue; next == "" {
			break
		}
	}
	for _, all := range f.Holders {
		slices.SortFunc(all, func(a, b Holder) int { return cmp.Compare(a.Pod, b.Pod) })
	}
	if next != "" { // one that holds a claim may be among the others
		return fmt.Errorf("the pods that mount claims: the namespace has more than %d", holderPage*maxHolderPages)
	}
	return nil
}

// mounted returns the wanted claims that a pod mounts. One without a host mounts nothing yet.
func mounted(p *corev1.Pod, wanted map[string]bool) (out []string) {
	for _, v := range p.Spec.Volumes {
		if c := v.PersistentVolumeClaim; c != nil && wanted[c.ClaimName] && p.Spec.NodeName != "" {
			out = append(out, c.ClaimName)
		}
	}
	return out
}

func holder(p *corev1.Pod) Holder {
	h := Holder{Pod: p.Name, Phase: p.Status.Phase}
	if owner := metav1.GetControllerOf(p); owner != nil && owner.Kind == "Job" {
		h.Job = owner.Name
	}
	return h
}
