package e2e

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/test/harness"
)

// portNothing is one that no policy mentions.
const portNothing uint16 = 22

// dialled are the ports of database and arbitrator and of the operator (metrics), and one of nothing.
var dialled = []uint16{portClients, portReplication, portIncremental, portTransfer, agentapi.ControlPort,
	agentapi.ProbePort, agentapi.PeerPort, portNothing}

var (
	memberPorts = []uint16{portClients, portReplication, portIncremental, portTransfer, agentapi.ProbePort,
		agentapi.PeerPort}
	operatorPorts = []uint16{agentapi.ControlPort, agentapi.ProbePort}
	clientPorts   = []uint16{portClients, agentapi.ProbePort}
	publicPorts   = []uint16{agentapi.ProbePort}
	noPorts       []uint16
)

var _ = Describe("NetworkPolicies that are enforced", Label(Wire), func() {
	It("let in members, the operator and clients, each where they have to, and no stranger", Label(Core), Serial,
		func(ctx SpecContext) {
			shop := sharedCluster(ctx)
			admitOnlyClients(ctx, shop)
			policies := enforce(ctx)
			people := bystanders(ctx, shop.Namespace)
			operator, err := kube.Operator().Pod(ctx)
			Expect(err).NotTo(HaveOccurred())
			pods, err := shop.Pods().List(ctx)
			Expect(err).NotTo(HaveOccurred())
			member, peer := &pods[0], &pods[1]

			expectConnections(ctx, member, map[string][]uint16{"member": memberPorts, "operator": operatorPorts,
				"client":   clientPorts,
				"stranger": publicPorts, "elsewhere": publicPorts, "itself": dialled},
				withPods(people, "member", peer, "operator", operator, "itself", member))
			expectConnections(ctx, operator, map[string][]uint16{"member": noPorts, "client": noPorts,
				"stranger":  noPorts,
				"elsewhere": {harness.OperatorMetricsPort}},
				withPods(people, "member", peer))
			refused, err := policies.Refusals(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(refused).To(ContainElement(harness.Refusal{From: people["stranger"].Status.PodIP, To: member.Status.PodIP,
				Port: "4567"}))

			By("naming no clients: every pod is one")
			change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.NetworkPolicy.ClientsFrom = nil })
			eventually(ctx, func(o Gomega) {
				open, err := harness.Connects(ctx, people["stranger"], member.Status.PodIP, portClients, portReplication)
				o.Expect(err).NotTo(HaveOccurred())
				o.Expect(open).To(Equal(map[uint16]bool{portClients: true, portReplication: false}))
			})
		}, SpecTimeout(6*time.Minute))

	It("cut nothing that a cluster with an arbitrator needs: first start, proofs, crash, IST, SST", Label(Slow, Faults),
		func(ctx SpecContext) {
			policies := enforce(ctx)
			namespace := newNamespace(ctx, "policies")
			spec := sample(namespace, "galera-arbitrator.yaml")
			spec.Spec.NetworkPolicy.ClientsFrom = clientPeers(ctx)
			spec.Spec.NetworkPolicy.RestrictEgress = true
			pair := create(ctx, spec)
			Expect(pair.WaitReady(ctx, firstReady)).To(Succeed())
			Expect(pair.WaitHealthy(ctx, shortly)).To(Succeed())
			Expect(pair.WaitCondition(ctx, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, v1alpha1.ReasonProved, shortly)).
				To(Succeed())
			start := time.Now()
			w := startWriter(ctx, pair, harness.WriterOptions{})

			By("killing every mariadbd")
			crashed := time.Now()
			Expect(pair.Servers().Kill(ctx, podNames(ctx, pair)...)).To(Succeed())
			expectRecovery(ctx, pair, w, crashed)
			By("letting a node join")
			replica, err := pair.Replica(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(loseIncrementally(ctx, pair, w, replica)).To(Equal("IST"))
			Expect(pair.WaitHealthy(ctx, joinTime)).To(Succeed())
			Expect(loseVolume(ctx, pair, replica)).To(Equal("SST"))
			Expect(pair.WaitHealthy(ctx, joinTime)).To(Succeed())
			stopAndCheck(ctx, w, start)
			expectNothingRefused(ctx, policies, pair)

			By("dialling the arbitrator")
			people := bystanders(ctx, namespace)
			operator, err := kube.Operator().Pod(ctx)
			Expect(err).NotTo(HaveOccurred())
			member, err := pair.Pod(ctx, replica)
			Expect(err).NotTo(HaveOccurred())
			arbitrators, err := harness.ArbitratorPods(ctx, pair)
			Expect(err).NotTo(HaveOccurred())
			Expect(arbitrators).To(HaveLen(1))
			expectConnections(ctx, &arbitrators[0], map[string][]uint16{"member": memberPorts, "operator": operatorPorts,
				"client":   clientPorts,
				"stranger": publicPorts, "elsewhere": publicPorts},
				withPods(people, "member", member, "operator", operator))
			expectConnections(ctx, member, map[string][]uint16{"arbitrator": memberPorts},
				withPods(nil, "arbitrator", &arbitrators[0]))
			By("dialling from a node what is neither a member nor DNS")
			for name, to := range map[string]*corev1.Pod{"the operator": operator, "a stranger": people["stranger"]} {
				open, err := harness.Connects(ctx, member, to.Status.PodIP, dialled...)
				Expect(err).NotTo(HaveOccurred())
				for port, is := range open {
					Expect(is).To(BeFalse(), "%s, port %d", name, port)
				}
			}
		}, SpecTimeout(12*time.Minute))
})

// enforce makes the nodes do what NetworkPolicies say, until the spec ends.
func enforce(ctx context.Context) *harness.Enforcement {
	GinkgoHelper()
	policies, err := harness.EnforcePolicies(ctx, kube)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(policies.Stop(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
	return policies
}

// ofClients is what namespaces of clients are labelled.
var ofClients = map[string]string{"galera-operator.io/test-clients": "yes"}

// clientPeers are the namespaces of clients, and this machine, from where tests write.
func clientPeers(ctx context.Context) []networkingv1.NetworkPolicyPeer {
	GinkgoHelper()
	out := []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: ofClients}}}
	networks, err := harness.ThisMachine(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, network := range networks {
		out = append(out, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: network}})
	}
	return out
}

// admitOnlyClients names the clients of the shared cluster until the spec ends.
func admitOnlyClients(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) {
		change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { s.NetworkPolicy.ClientsFrom = nil })
	}, NodeTimeout(time.Minute))
	peers := clientPeers(ctx)
	change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { s.NetworkPolicy.ClientsFrom = peers })
	eventually(ctx, func(o Gomega) {
		policy := &networkingv1.NetworkPolicy{}
		o.Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: c.Namespace, Name: c.Name}, policy)).To(Succeed())
		o.Expect(policy.Spec.Ingress).To(ContainElement(HaveField("From", ContainElements(peers))))
	})
}

// bystanders are pods that belong to no cluster: a stranger in the namespace of one, a client in a namespace that may
// be named, and one elsewhere, in a namespace that may read the operator's metrics.
func bystanders(ctx context.Context, home string) map[string]*corev1.Pod {
	GinkgoHelper()
	namespaces := map[string]string{"stranger": home}
	for who, labels := range map[string]map[string]string{"client": ofClients, "elsewhere": {"metrics": "enabled"}} {
		ns := &corev1.Namespace{}
		Expect(kube.Get(ctx, ctrlclient.ObjectKey{Name: newNamespace(ctx, who)}, ns)).To(Succeed())
		maps.Copy(ns.Labels, labels)
		Expect(kube.Update(ctx, ns)).To(Succeed())
		namespaces[who] = ns.Name
	}
	out := map[string]*corev1.Pod{}
	for who, namespace := range namespaces {
		pod, err := harness.StartBystander(ctx, kube, namespace, who)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(ctrlclient.IgnoreNotFound(kube.Delete(ctx, pod))).To(Succeed())
		}, NodeTimeout(time.Minute))
		out[who] = pod
	}
	return out
}

// withPods adds pairs of name and pod.
func withPods(people map[string]*corev1.Pod, more ...any) map[string]*corev1.Pod {
	out := map[string]*corev1.Pod{}
	maps.Copy(out, people)
	for i := 0; i+1 < len(more); i += 2 {
		out[more[i].(string)] = more[i+1].(*corev1.Pod)
	}
	return out
}

// expectConnections dials all ports of a pod from each of the pods that are named in want, and compares which let it
// in.
func expectConnections(ctx context.Context, target *corev1.Pod, want map[string][]uint16, from map[string]*corev1.Pod) {
	GinkgoHelper()
	expected := map[string]map[uint16]bool{}
	for who, ports := range want {
		Expect(from).To(HaveKey(who))
		expected[who] = map[uint16]bool{}
		for _, port := range dialled {
			expected[who][port] = slices.Contains(ports, port)
		}
	}
	eventually(ctx, func(o Gomega) { // rules come a moment after a pod
		open, err := dialFromAll(ctx, target, slices.Collect(maps.Keys(want)), from)
		o.Expect(err).NotTo(HaveOccurred())
		for who := range want {
			o.Expect(open[who]).To(Equal(expected[who]), "from %s to %s/%s", who, target.Namespace, target.Name)
		}
	})
	progress("who reaches %s/%s where, and nowhere else: %v", target.Namespace, target.Name, want)
}

// dialFromAll dials from all of them at the same time: what is dropped is waited for.
func dialFromAll(ctx context.Context, target *corev1.Pod, who []string, from map[string]*corev1.Pod) (
	map[string]map[uint16]bool, error) {
	opens, errs := make([]map[uint16]bool, len(who)), make([]error, len(who))
	var wg sync.WaitGroup
	for i := range who {
		wg.Go(func() { opens[i], errs[i] = harness.Connects(ctx, from[who[i]], target.Status.PodIP, dialled...) })
	}
	wg.Wait()
	out := map[string]map[uint16]bool{}
	for i := range who {
		out[who[i]] = opens[i]
	}
	return out, errors.Join(errs...)
}

// expectNothingRefused checks that nothing was dropped, anywhere: as long as none of the bystanders dials, all is from
// and to pods of ours.
func expectNothingRefused(ctx context.Context, policies *harness.Enforcement, c *harness.Cluster) {
	GinkgoHelper()
	refused, err := policies.Refusals(ctx)
	Expect(err).NotTo(HaveOccurred())
	progress("dropped in %s: %v", c.Name, refused)
	Expect(refused).To(BeEmpty())
}
