package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
)

var _ = Describe("A cluster from the sample file", Label(Core), func() {
	It("becomes Ready and Encrypted, with every condition as it should be", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		eventually(ctx, func(o Gomega) { // a proof is renewed all the time, and may be late once
			s := status(ctx, shop)
			for kind, want := range map[string]metav1.ConditionStatus{
				v1alpha1.ConditionReady: "True", v1alpha1.ConditionAvailable: "True", v1alpha1.ConditionPaused: "False",
				v1alpha1.ConditionEncrypted: "True", v1alpha1.ConditionCertificatesValid: "True",
				v1alpha1.ConditionQuorumHealthy: "True", v1alpha1.ConditionReconciling: "False", v1alpha1.ConditionStalled: "False",
			} {
				cond := meta.FindStatusCondition(s.Conditions, kind)
				o.Expect(cond).NotTo(BeNil(), kind)
				o.Expect(cond.Status).To(Equal(want), "%s: %s %s", kind, cond.Reason, cond.Message)
			}
		})
	}, SpecTimeout(6*time.Minute))

	It("reports the facts in its status", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		eventually(ctx, func(o Gomega) {
			have, err := shop.Get(ctx)
			o.Expect(err).NotTo(HaveOccurred())
			s := have.Status
			o.Expect(s.ObservedGeneration).To(Equal(have.Generation))
			o.Expect([]int32{s.ReadyReplicas, s.Replicas}).To(Equal([]int32{3, 3}))
			o.Expect(s.Operation).To(BeNil())
			o.Expect(s.TLS.Replication).To(Equal(string(galera.SocketStrict)))
			o.Expect(s.Members).To(HaveLen(3))

			// Comparing the history's UUID with what the nodes say themselves.
			for _, node := range client(ctx, shop).NodeStates(ctx, podNames(ctx, shop)) {
				o.Expect(node.Err).NotTo(HaveOccurred())
				o.Expect(node.ClusterUUID).To(Equal(s.ClusterUUID))
				o.Expect(node.ClusterUUID).NotTo(Equal(galera.ZeroUUID))
			}
			// Comparing the primary with the pods' labels.
			pods, err := shop.Pods().List(ctx)
			o.Expect(err).NotTo(HaveOccurred())
			for _, p := range pods {
				want := v1alpha1.RoleReplica
				if p.Name == s.Primary {
					want = v1alpha1.RolePrimary
				}
				o.Expect(p.Labels).To(HaveKeyWithValue(v1alpha1.LabelRole, want), p.Name)
			}
			for _, m := range s.Members {
				expectEncryptedMember(o, m, s)
			}
		})
	}, SpecTimeout(6*time.Minute))

	It("puts its nodes on different hosts", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		workers, err := kube.Hosts().Workers(ctx)
		Expect(err).NotTo(HaveOccurred())
		hosts := map[string]bool{}
		for _, pod := range podNames(ctx, shop) {
			host, err := shop.Pods().NodeOf(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			hosts[host] = true
		}
		Expect(hosts).To(HaveLen(min(3, len(workers))))
	}, SpecTimeout(6*time.Minute))
})

// expectEncryptedMember checks what the status says of one node of a healthy, encrypted cluster.
func expectEncryptedMember(o Gomega, m v1alpha1.MemberStatus, s v1alpha1.GaleraClusterStatus) {
	o.Expect(m.NodeState).To(Equal("Synced"), m.Name)
	o.Expect(m.ComponentState).To(Equal("Primary"), m.Name)
	o.Expect(m.Message).To(BeEmpty(), m.Name)
	position, err := galera.ParsePosition(m.Position)
	o.Expect(err).NotTo(HaveOccurred(), m.Name)
	o.Expect(position.UUID).To(Equal(s.ClusterUUID), m.Name)
	o.Expect(m.TLS).NotTo(BeNil(), m.Name)
	for name, ch := range map[string]*v1alpha1.ChannelStatus{"replication": m.TLS.Replication, "clients": m.TLS.Clients} {
		o.Expect(ch).NotTo(BeNil(), "%s %s", m.Name, name)
		o.Expect(ch.Observed).To(Equal("TLS"), "%s %s: %s", m.Name, name, ch.Message)
		o.Expect(ch.Protocol).To(Equal("TLSv1.3"), "%s %s", m.Name, name)
		o.Expect(ch.Serial).To(Equal(s.TLS.Serial), "%s %s", m.Name, name)
		o.Expect(ch.PlaintextRefused).To(BeTrue(), "%s %s", m.Name, name)
	}
	o.Expect(m.TLS.StateTransfer).NotTo(BeNil(), m.Name)
	o.Expect(m.TLS.StateTransfer.Observed).To(Equal("TLS"), "%s state transfer: %s", m.Name, m.TLS.StateTransfer.Message)
}
