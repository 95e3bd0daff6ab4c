package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// givers is what the members of a cluster said of the transfers they had given before one of them
// joins anew.
type givers struct {
	cluster  *harness.Cluster
	joiner   string
	primary  string
	ist, sst map[string]int
}

func watchGivers(ctx context.Context, c *harness.Cluster, joiner string) givers {
	GinkgoHelper()
	g := givers{cluster: c, joiner: joiner}
	var err error
	g.primary, err = c.Primary(ctx)
	Expect(err).NotTo(HaveOccurred())
	g.ist, g.sst = given(ctx, c, "IST"), given(ctx, c, "SST")
	return g
}

func given(ctx context.Context, c *harness.Cluster, kind string) map[string]int {
	GinkgoHelper()
	out, err := c.Transfers().Given(ctx, kind)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// expect compares what the joiner says of its join with what the others say they gave meanwhile: a transfer of the kind
// from the one it names, none of the other kind, and a full copy not from the primary. An attempt that was begun anew
// had one of its own. The agents look about once in a second, and a short transfer may be informed of after the join.
func (g givers) expect(ctx context.Context, kind string) {
	GinkgoHelper()
	eventually(ctx, func(o Gomega) {
		m := joined(ctx, o, g.cluster, g.joiner)
		full, incremental := g.since(ctx, o, "SST", g.sst), g.since(ctx, o, "IST", g.ist)
		progress("%s: %s from %q, %d write-sets; full copies were given by %v, increments by %v",
			g.joiner, m.Join.Kind, m.Join.Donor, m.Join.WriteSets, full, incremental)
		o.Expect(m.Join.Kind).To(Equal(kind))
		o.Expect(m.Join.Phase).To(BeEmpty())
		o.Expect(m.Cache).NotTo(BeNil())
		if kind == "IST" {
			o.Expect(full).To(BeEmpty())
			o.Expect(incremental).To(ContainElement(m.Join.Donor))
			o.Expect(m.Join.WriteSets).To(BeNumerically(">", 0))
			return
		}
		o.Expect(incremental).To(BeEmpty())
		o.Expect(full).To(ContainElement(m.Join.Donor))
		o.Expect(full).NotTo(ContainElement(g.primary), "the primary gave its data, and another could have")
		o.Expect(m.Join.BytesDone.Value()).To(BeNumerically(">", 1<<20))
	})
}

// joined is a node's status, with its join: both are missing while its agent does not answer.
func joined(ctx context.Context, o Gomega, c *harness.Cluster, pod string) *v1alpha1.MemberStatus {
	m, err := c.Member(ctx, pod)
	o.Expect(err).NotTo(HaveOccurred())
	o.Expect(m).NotTo(BeNil(), pod)
	o.Expect(m.Join).NotTo(BeNil(), pod)
	return m
}

// expectJoins compares how nodes have joined since a moment.
func expectJoins(ctx context.Context, c *harness.Cluster, since time.Time, want types.GomegaMatcher) {
	GinkgoHelper()
	eventually(ctx, func(o Gomega) {
		joins, err := c.Joins().Since(ctx, since)
		o.Expect(err).NotTo(HaveOccurred())
		o.Expect(joins).To(want)
	})
}

// since are the nodes that have given a transfer of a kind since the counts, each as often as it has. The joiner's
// agent counts anew.
func (g givers) since(ctx context.Context, o Gomega, kind string, counts map[string]int) (pods []string) {
	now, err := g.cluster.Transfers().Given(ctx, kind)
	o.Expect(err).NotTo(HaveOccurred())
	for pod, n := range now {
		for range n - counts[pod] {
			if pod != g.joiner {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}
