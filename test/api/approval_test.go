package api

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestApprovalReachesTheAgent: what a person gave up is in the order, or the agent would refuse beside one that is ahead.
func TestApprovalReachesTheAgent(t *testing.T) {
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
	w.Eventually(func() string { return w.message("QuorumHealthy") }).Should(HaveSuffix(":12@2,without=shop-2"))
	_, command, found := strings.Cut(w.message("QuorumHealthy"), v1alpha1.AnnotationTrustMember+"=")
	w.Expect(found).To(BeTrue(), w.message("QuorumHealthy"))
	w.edit(func(c *v1alpha1.GaleraCluster) {
		c.Annotations = map[string]string{v1alpha1.AnnotationTrustMember: command}
	})
	w.Eventually(w.agents.bootstraps).Should(Equal([]string{"Initialise shop-0", "Bootstrap shop-1"}))
	w.agents.mu.Lock()
	defer w.agents.mu.Unlock()
	w.Expect(w.agents.reports["shop-1"].Order.GivenUp).To(Equal([]string{"shop-2"}))
}
