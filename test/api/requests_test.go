package api

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// ask writes an annotation, as kubectl galera does.
func (w *world) ask(annotation, value string) {
	w.t.Helper()
	w.edit(func(c *v1alpha1.GaleraCluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[annotation] = value
	})
}

// request is "token state" of the request of a kind.
func (w *world) request(kind string) func() string {
	return func() string {
		for _, r := range w.status().Requests {
			if r.Kind == kind {
				return r.Token + " " + r.State
			}
		}
		return ""
	}
}

// TestPromote: the primary moves once; a node that cannot take the role is reported, and gets it when it can.
func TestPromote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "promote", spec())
	w.bringUp()
	w.Expect(w.status().Primary).To(Equal("shop-0"))
	w.ask(v1alpha1.AnnotationPrimary, "shop-2@one")
	w.Eventually(w.request(v1alpha1.RequestPromote)).Should(Equal("one " + v1alpha1.RequestDone))
	w.Expect(w.status().Primary).To(Equal("shop-2"))
	w.Eventually(func() string { return w.role("shop-2") }).Should(Equal("primary"))

	w.agents.change("shop-1", func(r *agentapi.Report) { serve(r); r.Server.State = galera.NodeJoined })
	w.ask(v1alpha1.AnnotationPrimary, "shop-1@two")
	w.Eventually(w.request(v1alpha1.RequestPromote)).Should(Equal("two " + v1alpha1.RequestPending))
	w.Eventually(func() string { return w.status().Requests[0].Message }).
		Should(ContainSubstring("shop-1 is not Synced: Joined"))
	w.Expect(w.status().Primary).To(Equal("shop-2"))
	w.agents.change("shop-1", serve)
	w.Eventually(w.request(v1alpha1.RequestPromote)).Should(Equal("two " + v1alpha1.RequestDone))
	w.Expect(w.status().Primary).To(Equal("shop-1"))

	w.ask(v1alpha1.AnnotationPrimary, "shop-0")
	w.Eventually(w.condition("Stalled")).Should(Equal("True RequestRefused"))
	w.Expect(w.condition("Ready")()).To(Equal("True Ready"), "the cluster is as the spec asks")
	w.edit(func(c *v1alpha1.GaleraCluster) { delete(c.Annotations, v1alpha1.AnnotationPrimary) })
	w.Eventually(w.condition("Stalled")).Should(HavePrefix("False"))
	w.Expect(w.agents.given()).NotTo(ContainElement(HavePrefix("Restart")))
}

// TestRestart: each node once, the primary last, also when the operator dies in the middle.
func TestRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "restart", spec())
	w.bringUp()
	before := len(w.agents.given())
	w.ask(v1alpha1.AnnotationRestart, "all@one")
	w.Eventually(w.agents.given).Should(ContainElement("Restart shop-2"))
	w.stop()
	w.stop = startOperator(t, "restart", w.agents)
	w.Eventually(w.request(v1alpha1.RequestRestart)).Should(Equal("one " + v1alpha1.RequestDone))
	restarts := slices.DeleteFunc(w.agents.given()[before:], func(o string) bool { return o[:7] != "Restart" })
	w.Expect(restarts).To(Equal([]string{"Restart shop-2", "Restart shop-1", "Restart shop-0"}))
	w.Eventually(w.condition("Ready")).Should(Equal("True Ready"))
	w.Expect(w.status().Primary).To(Equal("shop-1"), "the role moved before its node was restarted")

	before = len(w.agents.given())
	w.ask(v1alpha1.AnnotationRestart, "shop-2@two")
	w.Eventually(w.request(v1alpha1.RequestRestart)).Should(Equal("two " + v1alpha1.RequestDone))
	w.Expect(w.agents.given()[before:]).To(Equal([]string{"Restart shop-2"}))
	w.Eventually(w.condition("Ready")).Should(Equal("True Ready"))
	w.Consistently(w.agents.given, "1s").Should(HaveLen(before+1), "no token takes effect twice")
}
