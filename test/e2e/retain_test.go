package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A deleted cluster", Label(Core), func() {
	It("leaves its data, and a new cluster of that name goes on with them", func(ctx SpecContext) {
		ns := newNamespace(ctx, "retain")
		c := create(ctx, harness.Build(ns, "kept", harness.Replicas(1)))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		eventually(ctx, func(o Gomega) { // a Service that has just got its first node is not everywhere yet
			o.Expect(client(ctx, c).Exec(ctx, "kept", "CREATE DATABASE IF NOT EXISTS e2e",
				"CREATE TABLE IF NOT EXISTS e2e.kept (word VARCHAR(20) PRIMARY KEY)", "REPLACE INTO e2e.kept VALUES ('precious')")).
				To(Succeed())
		})
		uuid := status(ctx, c).ClusterUUID

		Expect(c.Delete(ctx)).To(Succeed())
		Expect(claims(ctx, ns)).To(ConsistOf("data-kept-0"))
		again := create(ctx, harness.Build(ns, "kept", harness.Replicas(1)))
		Expect(again.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(client(ctx, again).QueryPod(ctx, "kept-0", "SELECT word FROM e2e.kept")).To(Equal("precious"))
		Expect(status(ctx, again).ClusterUUID).To(Equal(uuid))
	}, SpecTimeout(8*time.Minute))
})

func claims(ctx SpecContext, ns string) []string {
	GinkgoHelper()
	var list corev1.PersistentVolumeClaimList
	Expect(kube.List(ctx, &list, ctrlclient.InNamespace(ns))).To(Succeed())
	var out []string
	for _, pvc := range list.Items {
		out = append(out, pvc.Name)
	}
	return out
}
