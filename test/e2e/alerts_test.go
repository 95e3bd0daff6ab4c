package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/test/harness"
)

// Each breaks something, sees alerts fire, fixes it, and sees them clear.
var _ = Describe("Alerts", Label(Slow, Faults), func() {
	It("are loaded, their metrics arrive, and none of the shipped ones fires while all is well", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		eventually(ctx, func(o Gomega) {
			up, err := a.Ask(ctx,
				fmt.Sprintf(`sum(up{namespace=%q,cluster=%q}) == 3 and on () sum(galera_operator_build_info) == 2`, shop.Namespace,
					shop.Name))
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(up).To(HaveLen(1), "three nodes and two operators are scraped")
		})
		eventually(ctx, func(o Gomega) {
			loaded, err := a.API.Rules(ctx, nil)
			o.Expect(err).NotTo(HaveOccurred())
			n := 0
			for _, g := range loaded.Groups {
				for _, r := range g.Rules {
					n++
					o.Expect(fmt.Sprintf("%+v", r)).NotTo(ContainSubstring("Health:err"))
				}
			}
			o.Expect(n).To(BeNumerically(">", 50), "the shipped ones and the shortened ones")
		})
		Consistently(func(o Gomega) {
			o.Expect(a.Firing(ctx, map[string]string{"namespace": shop.Namespace, hasty: ""})).To(BeEmpty())
		}).WithContext(ctx).WithTimeout(15 * time.Second).WithPolling(5 * time.Second).Should(Succeed())
	}, SpecTimeout(15*time.Minute))

	It("report that a cluster waits for a person", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		change(ctx, shop, harness.Setting("wsrep_on", "OFF"))
		a.fire(ctx, shop, "GaleraStalled")
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { delete(s.MariaDB.Config, "wsrep_on") })
		a.clear(ctx, shop, "GaleraStalled")
	}, SpecTimeout(8*time.Minute))

	It("report that plaintext is accepted: a switch shows it for a while", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		switchReplication(ctx, shop, v1alpha1.TLSDisabled, v1alpha1.SwitchRolling)
		setReplication(ctx, shop, v1alpha1.TLSRequired, v1alpha1.SwitchRolling)
		a.fire(ctx, shop, "GaleraPlaintextAccepted", "GaleraNotEncrypted")
		switchReplication(ctx, shop, v1alpha1.TLSRequired, v1alpha1.SwitchRolling)
		a.clear(ctx, shop, "GaleraPlaintextAccepted", "GaleraNotEncrypted")
	}, SpecTimeout(10*time.Minute))

	It("report that an operation makes no progress: the host of a node to be restarted takes no pods",
		func(ctx SpecContext) {
			a, shop := watchAlarms(ctx), sharedCluster(ctx)
			replica, err := shop.Replica(ctx)
			Expect(err).NotTo(HaveOccurred())
			host, err := shop.Pods().NodeOf(ctx, replica)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func(ctx SpecContext) { Expect(kube.Hosts().Cordon(ctx, host, false)).To(Succeed()) })
			Expect(kube.Hosts().Cordon(ctx, host, true)).To(Succeed())
			change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) {
				s.PodTemplate = &v1alpha1.PodTemplateSpec{Annotations: map[string]string{"prometheus.io/stuck": "yes"}}
			})
			a.fire(ctx, shop, "GaleraOperationStuck")
			Expect(kube.Hosts().Cordon(ctx, host, false)).To(Succeed())
			a.clear(ctx, shop, "GaleraOperationStuck")
			Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		}, SpecTimeout(10*time.Minute))

	It("report that a server hangs, and what is not known meanwhile", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		replica, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Servers().Signal(ctx, replica, syscall.SIGSTOP)).To(Succeed())
		a.fire(ctx, shop, "GaleraNodesMissing", "GaleraEncryptionUnproved")
		By("waiting: its agent kills it after a minute, and it joins")
		a.clear(ctx, shop, "GaleraNodesMissing", "GaleraEncryptionUnproved")
	}, SpecTimeout(8*time.Minute))

	It("report that a node is cut off, that no quorum is left, and that nothing accepts writes", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		names := primaryFirst(podNames(ctx, shop), status(ctx, shop).Primary)
		setPause(ctx, shop, true)
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Network().Heal(ctx)).To(Succeed()) })
		Expect(kube.Network().Partition(ctx, shop, names[:2], names[2:])).To(Succeed())
		a.fire(ctx, shop, "GaleraNodeNotPrimary")
		By("cutting the other link, too")
		Expect(kube.Network().Partition(ctx, shop, names[:1], names[1:2], names[2:])).To(Succeed())
		a.fire(ctx, shop, "GaleraNotPrimary", "GaleraNotAvailable")
		a.clear(ctx, shop, "GaleraNodeNotPrimary")
		Expect(kube.Network().Heal(ctx)).To(Succeed())
		setPause(ctx, shop, false)
		a.clear(ctx, shop, "GaleraNotPrimary", "GaleraNotAvailable")
	}, SpecTimeout(8*time.Minute))

	It("report that two components serve at once", func(ctx SpecContext) {
		a := watchAlarms(ctx)
		c := create(ctx, sampleCluster(newNamespace(ctx, "two")))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		names := primaryFirst(podNames(ctx, c), status(ctx, c).Primary)
		setPause(ctx, c, true)
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Network().Heal(ctx)).To(Succeed()) })
		Expect(kube.Network().Partition(ctx, c, names[:2], names[2:])).To(Succeed())
		a.fire(ctx, c, "GaleraNodeNotPrimary")
		By("doing by hand what should not be done")
		db, err := client(ctx, c).OpenPod(ctx, names[2])
		Expect(err).NotTo(HaveOccurred())
		_, err = db.ExecContext(ctx, "SET GLOBAL wsrep_provider_pc_bootstrap = ON")
		Expect(err).NotTo(HaveOccurred())
		a.fire(ctx, c, "GaleraTwoComponents")
		By("ending the server of the wrong side")
		Expect(c.Servers().Kill(ctx, names[2])).To(Succeed())
		a.clear(ctx, c, "GaleraTwoComponents")
	}, SpecTimeout(10*time.Minute))

	It("report that the operator is away", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed()) })
		Expect(kube.Operator().Scale(ctx, 0)).To(Succeed())
		a.fire(ctx, nil, "GaleraOperatorAbsent")
		By("looking at a cluster") // the lease counts for some seconds more
		eventually(ctx, func(o Gomega) {
			o.Expect(kubectlGalera(ctx, shop.Namespace, "status", shop.Name)).
				To(ContainSubstring("NO OPERATOR  OperatorAbsent: no operator has been at work"))
		})
		Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed())
		a.clear(ctx, nil, "GaleraOperatorAbsent")
	}, SpecTimeout(8*time.Minute))

	It("report that an agent does not answer", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		replica, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Agents().Signal(ctx, replica, syscall.SIGSTOP)).To(Succeed())
		a.fire(ctx, shop, "GaleraAgentUnreachable")
		if err := shop.Agents().Signal(ctx, replica, syscall.SIGCONT); err != nil {
			progress("the agent is another one by now: %v", err)
		}
		a.clear(ctx, shop, "GaleraAgentUnreachable")
	}, SpecTimeout(8*time.Minute))

	It("report that nodes are not scraped", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		// Without a PodMonitor Prometheus would show the last values for five minutes more; of targets that are gone it shows
		// none.
		choose := func(ctx context.Context, selector map[string]any) (was map[string]any) {
			GinkgoHelper()
			monitor := &unstructured.Unstructured{}
			monitor.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1",
				Kind: "PodMonitor"})
			Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: harness.OperatorNamespace, Name: "galera-operator-databases"},
				monitor)).To(Succeed())
			was, _, err := unstructured.NestedMap(monitor.Object, "spec", "selector")
			Expect(err).NotTo(HaveOccurred())
			Expect(unstructured.SetNestedMap(monitor.Object, selector, "spec", "selector")).To(Succeed())
			Expect(kube.Update(ctx, monitor)).To(Succeed())
			return was
		}
		selector := choose(ctx, map[string]any{"matchLabels": map[string]any{"no": "pod"}})
		DeferCleanup(func(ctx SpecContext) { choose(ctx, selector) })
		a.fire(ctx, shop, "GaleraMetricsMissing")
		choose(ctx, selector)
		a.clear(ctx, shop, "GaleraMetricsMissing")
	}, SpecTimeout(14*time.Minute))

	It("report that a certificate is not renewed, and that it has expired", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		withoutCertManager(ctx)
		Expect(shop.Certificates().Hand(ctx, issue(ctx, shop, pkitest.Leaf{NotAfter: time.Now().Add(45 * time.Second)}))).
			To(Succeed())
		a.fire(ctx, shop, "GaleraCertificateExpiring", "GaleraCertificateExpired")
		Expect(harness.ScaleCertManager(ctx, kube, 1)).To(Succeed())
		a.clear(ctx, shop, "GaleraCertificateExpiring", "GaleraCertificateExpired")
	}, SpecTimeout(8*time.Minute))

	It("report that an old CA is trusted", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.TLS.DropOldCA = v1alpha1.DropManual })
		askFor(ctx, shop, "ca@"+time.Now().Format("150405"))
		a.fire(ctx, shop, "GaleraOldCATrusted")
		Expect(kube.Until(ctx, "the old CA may be dropped", replaceTime, func(ctx context.Context) (bool, string, error) {
			have, err := shop.Get(ctx)
			return err == nil && have.Status.TLS.Step == "AwaitingApproval", harness.Summary(have), err
		})).To(Succeed())
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.TLS.DropOldCA = "" })
		a.clear(ctx, shop, "GaleraOldCATrusted")
	}, SpecTimeout(12*time.Minute))

	It("report that a CA expires soon, until it was replaced", func(ctx SpecContext) {
		a, ns := watchAlarms(ctx), newNamespace(ctx, "ca")
		Expect(createIssuer(ctx, ns, "soon", 90*24*time.Hour)).To(Succeed())
		Expect(createIssuer(ctx, ns, "later", 10*365*24*time.Hour)).To(Succeed())
		c := create(ctx, harness.Build(ns, "shop", harness.Replicas(1), harness.Issuer("soon")))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		a.fire(ctx, c, "GaleraCAExpiring")
		change(ctx, c, harness.Issuer("later"))
		Expect(kube.Until(ctx, "the old CA is trusted no longer", replaceTime, func(ctx context.Context) (bool, string,
			error) {
			have, err := c.Get(ctx)
			return err == nil && have.Status.TLS.Step == "Settled" && len(have.Status.TLS.TrustedCAs) == 1 &&
				strings.Contains(have.Status.TLS.TrustedCAs[0].Subject, "later"), harness.Summary(have), err
		})).To(Succeed())
		a.clear(ctx, c, "GaleraCAExpiring")
	}, SpecTimeout(12*time.Minute))
})

// setPause pauses the operator for a cluster, or ends that.
func setPause(ctx context.Context, c *harness.Cluster, paused bool) {
	GinkgoHelper()
	Expect(c.Change(ctx, func(g *v1alpha1.GaleraCluster) {
		if g.Annotations == nil {
			g.Annotations = map[string]string{}
		}
		g.Annotations[v1alpha1.AnnotationPause] = strings.ToLower(fmt.Sprint(paused))
	})).To(Succeed())
}
