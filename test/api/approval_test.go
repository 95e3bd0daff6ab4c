package api

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestApprovalReachesTheAgent: what a user gave up is in the order, or the agent would refuse next to one that is
// ahead.
func TestApprovalReachesTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "approval", spec())
	w.bringUp()
	for pod, seqno := range map[string]int64{"shop-0": 10, "shop-1": 12, "shop-2": 14} {
		w.agents.change(pod, func(r *agentapi.Report) {
			r.Server, r.Phase, r.Position = nil, galera.PhaseWaiting, galera.Position{UUID: history, Seqno: seqno}
			if pod == "shop-2" {
				r.Phase, r.Failure = galera.PhaseFailed, &agentapi.Failure{Reason: agentapi.FailureOrderBook, Message: "torn"}
			}
		})
	}
	// The agents change one after the other: at first there is an action without an approval.
	var action v1alpha1.RequiredAction
	w.Eventually(func() *v1alpha1.RecoveryApproval {
		if all := w.status().RequiredActions; len(all) > 0 {
			action = all[0]
		}
		return action.Approval
	}).Should(Equal(&v1alpha1.RecoveryApproval{Member: "shop-1", History: history, Seqno: 12, Epoch: 2,
		Without: []v1alpha1.GivenUpMember{{Name: "shop-2", As: "Gone"}}}))
	w.Expect(action.Reason).To(Equal(v1alpha1.ReasonOrderBookDamaged))
	_, patch, found := strings.Cut(action.Command, "kubectl patch galera shop -n approval --type=merge -p '")
	w.Expect(found).To(BeTrue(), action.Command)
	must(t, kube.Patch(t.Context(), w.cluster.DeepCopy(),
		client.RawPatch(types.MergePatchType, []byte(strings.TrimSuffix(patch, "'")))))
	w.Eventually(w.agents.bootstraps).Should(Equal([]string{"Initialise shop-0", "Bootstrap shop-1"}))
	w.agents.mu.Lock()
	defer w.agents.mu.Unlock()
	w.Expect(w.agents.reports["shop-1"].Order.GivenUp).To(Equal([]string{"shop-2"}))
}
