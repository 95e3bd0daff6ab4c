package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	// partitionTime is how long a network stays cut.
	partitionTime = time.Minute
	// noticeTime is how long nodes may take to notice: Galera suspects after five seconds.
	noticeTime = 20 * time.Second
)

var _ = Describe("A cut network", Label(Slow, Faults), func() {
	for _, c := range []struct {
		name string
		// groups gets the primary first.
		groups func(names []string) [][]string
		serves bool
	}{
		{"1|2, the primary alone", func(n []string) [][]string { return [][]string{n[:1], n[1:]} }, true},
		{"2|1, the primary with another node", func(n []string) [][]string { return [][]string{n[:2], n[2:]} }, true},
		{"1|1|1, each alone", func(n []string) [][]string { return [][]string{n[:1], n[1:2], n[2:]} }, false},
	} {
		It(c.name+": one side at most serves, nothing is lost, all merge when it is healed", func(ctx SpecContext) {
			shop := sharedCluster(ctx)
			before := status(ctx, shop)
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			bootstraps, err := shop.Joins().Bootstraps(ctx)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func(ctx SpecContext) { Expect(kube.Network().Heal(ctx)).To(Succeed()) })
			cut := time.Now()
			Expect(kube.Network().Partition(ctx, shop, c.groups(primaryFirst(podNames(ctx, shop), before.Primary))...)).
				To(Succeed())

			cl := client(ctx, shop)
			Eventually(noticed).WithArguments(ctx, cl, shop).WithTimeout(noticeTime).WithPolling(500 * time.Millisecond).
				Should(Succeed())
			Consistently(oneComponent).WithArguments(ctx, cl, shop).WithTimeout(partitionTime - time.Since(cut)).
				WithPolling(time.Second).Should(Succeed())
			if c.serves {
				Expect(w.WaitForMore(ctx, 50, 10*time.Second)).To(Succeed(), "the majority must serve")
			}
			healed := time.Now()
			Expect(kube.Network().Heal(ctx)).To(Succeed())
			expectRecovery(ctx, shop, w, healed)
			expectHistory(ctx, shop, before.ClusterUUID)
			expectNoFullTransfer(ctx, shop, cut)
			after, err := shop.Joins().Bootstraps(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(after).To(Equal(bootstraps), "no node may be started as a new component")
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(8*time.Minute))
	}
})

func primaryFirst(names []string, primary string) []string {
	out := slices.Clone(names)
	slices.SortStableFunc(out, func(a, b string) int {
		switch {
		case a == primary:
			return -1
		case b == primary:
			return 1
		}
		return 0
	})
	return out
}

// noticed checks that no node believes any longer that all of them are together.
func noticed(ctx SpecContext, cl *harness.Client, c *harness.Cluster) error {
	states, words, err := askAll(ctx, cl, c)
	if err != nil {
		return err
	}
	for _, s := range states {
		if s.Component == "Primary" && s.Size == fmt.Sprint(len(states)) {
			return fmt.Errorf("not noticed yet: %s", words)
		}
	}
	return nil
}

// oneComponent checks that all nodes that believe to be Primary can be in one component: there are
// not more of them than each of them counts.
func oneComponent(ctx SpecContext, cl *harness.Client, c *harness.Cluster) error {
	states, words, err := askAll(ctx, cl, c)
	if err != nil {
		return err
	}
	states = slices.DeleteFunc(states, func(s harness.NodeState) bool { return s.Component != "Primary" })
	for _, s := range states {
		if size, err := strconv.Atoi(s.Size); err != nil || len(states) > size {
			return fmt.Errorf("more than one component is Primary: %s", words)
		}
	}
	return nil
}

func askAll(ctx SpecContext, cl *harness.Client, c *harness.Cluster) (states []harness.NodeState, words string,
	err error) {
	names, err := c.PodNames(ctx)
	if err != nil {
		return nil, "", err
	}
	states = cl.NodeStates(ctx, names)
	var all []string
	for _, s := range states {
		all = append(all, s.String())
	}
	words = strings.Join(all, ", ")
	progress("%s", words)
	return states, words, nil
}
