package status

import (
	"math/rand/v2"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// walkNode is a node of a random walk: what its pod has, what its server does, and what is on its volume.
type walkNode struct {
	keys              bool
	mode, loaded      string // loaded is the published state that its agent has read
	encrypted, proved bool
	report            *agentapi.AtRestReport
	reported          string // what was loaded when the report was made
}

// serve starts the server as the agent does (usableAtRest). It is false where it refuses to.
func (n *walkNode) serve() {
	n.proved = false
	switch {
	case n.loaded == v1alpha1.AtRestPreparing && n.keys, n.loaded == v1alpha1.AtRestDecrypting && n.keys:
		n.mode = agentapi.ModeHolds
	case n.loaded == v1alpha1.AtRestOn && n.keys:
		n.mode = agentapi.ModeEncrypts
	default:
		n.mode = ""
	}
}

// answer makes the report of the present state.
func (n *walkNode) answer(now time.Time) {
	a := &agentapi.AtRestReport{Mode: n.mode, Files: 1, SampledAt: now}
	if n.proved {
		a.FullAt, a.FullSeen = now, now
	}
	if n.proved && n.encrypted {
		a.EncryptedFiles, a.Encrypted = 1, []string{"app/t.ibd"}
	}
	n.report, n.reported = a, n.loaded
}

// TestSwitchKeepsItsPromises walks at random through a switch of three nodes whose reports are one pass old, are lost,
// and arrive, and of an operator that is killed between any two acts of a pass. No node writes a page with a key that
// another pod lacks, and no pod loses the keys while a page on any volume needs them. Left alone, the switch ends as
// the spec asks for.
func TestSwitchKeepsItsPromises(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(300) {
		w := &walk{T: t, rand: rand.New(rand.NewPCG(seed, 1)), nodes: make([]walkNode, 3)}
		w.published, w.template = v1alpha1.AtRestOff, v1alpha1.AtRestOff
		w.recorded = &v1alpha1.AtRestStatus{State: v1alpha1.AtRestOff}
		for range 400 {
			w.step()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			reached[w.recorded.State]++
		}
		w.end()
	}
	for _, state := range []string{v1alpha1.AtRestPreparing, v1alpha1.AtRestOn, v1alpha1.AtRestDecrypting,
		v1alpha1.AtRestOff} {
		if reached[state] < 1000 {
			t.Errorf("the walks were in the state %s in %d steps alone", state, reached[state])
		}
	}
}

// walk is one of them.
type walk struct {
	*testing.T
	rand      *rand.Rand
	nodes     []walkNode
	asked     bool
	published string // the state in the configuration of the nodes
	template  string // the state that the pods' template was made by
	recorded  *v1alpha1.AtRestStatus
}

func (w *walk) step() {
	i := w.rand.IntN(len(w.nodes))
	n := &w.nodes[i]
	switch w.rand.IntN(9) {
	case 0:
		if w.rand.IntN(8) == 0 {
			w.asked = !w.asked
		}
	case 1, 2:
		w.pass(w.rand.IntN(8))
	case 3:
		n.loaded = w.published
	case 4: // the server is restarted
		n.serve()
	case 5: // the pod is replaced
		if n.keys = w.template != v1alpha1.AtRestOff; !n.keys {
			w.check("a pod is made without the keys", func(other walkNode) bool { return !other.encrypted })
		}
		n.loaded = w.published
		n.serve()
	case 6: // it writes, and its threads rewrite what there is
		switch n.mode {
		case agentapi.ModeEncrypts:
			w.check("a node encrypts", func(other walkNode) bool { return other.keys })
			n.encrypted, n.proved = true, false
		case agentapi.ModeHolds:
			n.encrypted = false
		}
	case 7:
		n.proved = n.mode != ""
	case 8: // a full copy from another node
		if from := w.nodes[(i+1)%len(w.nodes)]; n.keys || !from.encrypted {
			n.encrypted = from.encrypted
			n.serve()
		}
	}
}

// check fails when one of the nodes is not as it has to be.
func (w *walk) check(what string, ok func(walkNode) bool) {
	for i, n := range w.nodes {
		if !ok(n) {
			w.Errorf("%s, and node %d: %+v", what, i, n)
		}
	}
}

// end lets every process do its work, until nothing changes any more.
func (w *walk) end() {
	for range 100 {
		w.pass(3)
		for i := range w.nodes {
			n := &w.nodes[i]
			n.keys, n.loaded = w.template != v1alpha1.AtRestOff, w.published
			n.serve()
			if n.encrypted = n.mode == agentapi.ModeEncrypts || n.encrypted && n.mode == ""; n.mode != "" {
				n.proved = true
			}
		}
	}
	want, encrypted := v1alpha1.AtRestOff, false
	if w.asked {
		want, encrypted = v1alpha1.AtRestOn, true
	}
	if w.recorded.State != want || w.published != want || w.template != want {
		w.Errorf("the spec asks for it: %v, and the switch ends as %s (published %s, pods %s): %s", w.asked,
			w.recorded.State, w.published, w.template, w.recorded.Message)
	}
	w.check("the switch has ended", func(n walkNode) bool { return n.encrypted == encrypted && n.keys == encrypted })
}

// pass publishes what was recorded, makes the pods' template by it, and records what follows from the reports. The
// operator is killed before it has done more than acts of these.
func (w *walk) pass(acts int) {
	if acts == 0 {
		return
	}
	w.published = w.recorded.State
	if acts == 1 {
		return
	}
	w.template = w.recorded.State
	if acts == 2 {
		return
	}
	in := healthy()
	in.Config.Revision = w.published
	if in.Facts.Cluster.Spec.Encryption = nil; w.asked {
		in.Facts.Cluster.Spec.Encryption = &v1alpha1.EncryptionSpec{}
	}
	in.Facts.Cluster.Status.ClusterUUID = "5b3f"
	in.Facts.Cluster.Status.AtRest = w.recorded
	in.Facts.Keys = &observe.Keys{Exists: true, Fingerprints: map[string]string{"1": "a"}}
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.report == nil || w.rand.IntN(2) == 0 {
			n.answer(in.Now)
		}
		member := &in.Snapshot.Members[i]
		seen := in.Seen[member.Name]
		seen.Report.AtRest, member.ConfigLoaded = n.report, n.reported
		if in.Seen[member.Name] = seen; w.rand.IntN(10) == 0 {
			delete(in.Seen, member.Name)
		}
		n.answer(in.Now) // the next pass has this one, or a later one
	}
	w.recorded = atRestStatus(in, w.recorded)
}
