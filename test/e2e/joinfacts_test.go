package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

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
	out, err := c.Given(ctx, kind)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// expect compares what the joiner says of its join with what the others say they gave meanwhile: one
// transfer of the kind, none of the other, and a full copy not from the primary.
func (g givers) expect(ctx context.Context, kind string) {
	GinkgoHelper()
	m, err := g.cluster.Member(ctx, g.joiner)
	Expect(err).NotTo(HaveOccurred())
	Expect(m.Join.Kind).To(Equal(kind))
	Expect(m.Join.Phase).To(BeEmpty())
	Expect(m.Cache).NotTo(BeNil())
	var full, incremental []string
	istNow, sstNow := given(ctx, g.cluster, "IST"), given(ctx, g.cluster, "SST")
	for pod := range istNow {
		if pod == g.joiner {
			continue // its agent counts anew
		}
		for range sstNow[pod] - g.sst[pod] {
			full = append(full, pod)
		}
		for range istNow[pod] - g.ist[pod] {
			incremental = append(incremental, pod)
		}
	}
	progress("%s: %s from %q, %d write-sets; full copies were given by %v, increments by %v",
		g.joiner, kind, m.Join.Donor, m.Join.WriteSets, full, incremental)
	if kind == "IST" {
		Expect(full).To(BeEmpty())
		Expect(incremental).To(HaveLen(1))
		Expect(m.Join.WriteSets).To(BeNumerically(">", 0))
		return
	}
	Expect(incremental).To(BeEmpty())
	Expect(full).To(ConsistOf(m.Join.Donor))
	Expect(full).NotTo(ContainElement(g.primary), "the primary gave its data, and another could have")
	Expect(m.Join.BytesDone.Value()).To(BeNumerically(">", 1<<20))
}
