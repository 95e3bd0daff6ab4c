package sites

import (
	"testing"
	"time"
)

// TestNeitherStoreNorSuccessor: where the store, and the cluster that has taken over, are lost for good, the first one
// accepts writes again by the commands of docs/sites.md, each of which is needed, and not before.
func TestNeitherStoreNorSuccessor(t *testing.T) {
	const overrules, leaseOff, forgets = 1, 2, 4
	for does := range overrules + leaseOff + forgets + 1 {
		w := newWorld(t, shipped(), 2)
		t.Cleanup(func() { _ = w.bucket.Close() })
		for _, e := range join(leased, accepted, asked, recorded).events {
			w.do(e)
		}
		for range 12 {
			w.round(5 * time.Second)
		}
		a, b := w.sites[0], w.sites[1]
		if !a.c.Superseded() || a.c.Status.WriteLease == "" || !b.accepts() || a.accepts() {
			t.Fatalf("superseded %v, lease %q, accepts %v", a.c.Superseded(), a.c.Status.WriteLease, a.accepts())
		}
		b.gone, b.source = true, source{}
		for _, n := range b.nodes {
			n.kill()
		}
		for i := range w.sites {
			w.cuts[toStore+i] = true
		}
		if does&overrules != 0 {
			w.truth = truth{}
			w.edit(a, "overrule", func(c *cluster) { c.Spec.OverrulesPromotion = c.Status.Superseded.ID })
		}
		if does&leaseOff != 0 {
			w.edit(a, "want no lease", func(c *cluster) { c.Spec.Backup.PointInTime.WriteLease = false })
		}
		if does&forgets != 0 {
			w.edit(a, "forget the lease", func(c *cluster) { c.Status.WriteLease = "" })
		}
		for range 12 {
			w.round(5 * time.Second)
		}
		if want := does == overrules+leaseOff+forgets; a.accepts() != want || w.broken != "" {
			t.Errorf("%b: accepts %v, lease %q, %s", does, a.accepts(), a.c.Status.WriteLease, w.broken)
		}
	}
}
