package model

import (
	"math/bits"
	"strconv"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// CAs come in pairs with the same key, the second being the first one renewed: a leaf signed with
// the key verifies by either.
const authorities = 6

// cas is a set of CA certificates, by bit.
type cas uint8

// keys is the set of the keys of the CAs, by the bit of the first of each pair.
func (c cas) keys() cas { return (c | c>>1) & 0b010101 }

// publication is a leaf with its CAs. No two leaves have the same serial.
type publication struct {
	serial int16
	// ca has issued the leaf.
	ca int8
	// trusts are the CAs in ca.crt.
	trusts cas
}

func (p publication) key() cas { return 1 << (p.ca &^ 1) }

// secrets are what the issuer has written and what the operator has published.
type secrets struct {
	issued    publication
	published publication
	version   int16
}

// Publisher is plan.Publish, or a copy of it with a deliberate bug.
type Publisher func(galera.Certificates) plan.Publication

// publishers are chosen from by Schedule.Publisher; tests add wrong ones.
var publishers = []Publisher{plan.Publish}

// issue makes the issuer issue a leaf under a CA.
func (w *apiServer) issue(ca int8) {
	w.serials++
	w.certs.issued = publication{w.serials, ca, 1 << ca}
}

// seeSecrets brings the operator's cache of the two Secrets up to date.
func (w *controllers) seeSecrets(k int) { w.ops[k].certs = w.api.certs }

// load lets the agent take over what is published, and its server load it. A server adds CAs and
// drops none.
func (w *platform) load(i int) bool {
	n := &w.nodes[i]
	if !n.agent.up || n.agent.pair == w.api.certs.published && (!n.srv.on || i == w.n || n.srv.pair == n.agent.pair) {
		return false
	}
	n.agent.pair = w.api.certs.published
	if n.srv.on && i < w.n { // a garbd takes nothing over while it runs
		n.srv.pair = n.agent.pair
		n.srv.trusts |= n.agent.pair.trusts
	}
	return true
}

// newServer is a mariadbd that was just started: it presents and trusts what the agent has.
func (w *database) newServer(i int) server {
	n := &w.nodes[i]
	w.runs++
	n.rare.before = 0
	return server{on: true, run: w.runs, received: n.vol.head, pair: n.agent.pair, trusts: n.agent.pair.trusts}
}

// certificates is internal/observe.Certificates in this world.
func (w *controllers) certificates(o *operator) galera.Certificates {
	known := o.certs.published.trusts | o.certs.issued.trusts
	c := galera.Certificates{Valid: true, Published: o.certs.published.pair("published", known),
		Issued: o.certs.issued.pair("issued", known), MaxCAs: w.maxCAs()}
	if o.certs.issued.serial == o.certs.published.serial {
		c.Issued.Leaf = c.Published.Leaf
	}
	for i := range o.status.size {
		u := galera.CertificateUse{Name: names[i]}
		if r := o.reports[i]; r.known && o.pods[i].exists {
			u.Loaded = r.installed == o.certs.published && (!r.server || r.pair == r.installed) &&
				(r.server || r.phase != phaseStarting)
			u.Serves = u.Loaded
		}
		c.Members = append(c.Members, u)
	}
	if u, ok := w.arbitratorUse(o); ok {
		c.Members = append(c.Members, u)
	}
	return c
}

// maxCAs is how many CAs the agents of this world take: any number in worlds of an even number of members, and in the
// others so few that a pair is held back.
func (w *topology) maxCAs() int { return 3 * (w.n % 2) }

func (p publication) pair(leaf string, known cas) galera.Pair {
	anchors := p.key() | p.key()<<1
	return galera.Pair{Leaf: leaf, CAs: caNames[p.trusts], Anchors: caNames[anchors&known],
		Chain: caNames[(p.trusts & anchors).last()]}
}

// last is the last CA of a set.
func (c cas) last() cas { return cas(1<<bits.Len8(uint8(c))) >> 1 }

// name is the publication's ID.
func (p publication) name() string {
	if p.serial == 1 {
		return caSets[p.trusts]
	}
	return caSets[p.trusts] + strconv.Itoa(int(p.serial))
}

// publish is the operator's choice and its application: it fails if the Secret has changed since it was read.
func (w *controllers) publish(o *operator) bool {
	now := o.certs.published
	if now.serial == o.certs.issued.serial && now.trusts == o.certs.issued.trusts {
		return false
	}
	choice := publishers[w.publisher](w.certificates(o))
	if choice.TooMany > 0 {
		w.truth.reached |= ReachedHeldBack
	}
	next := now
	if choice.Issued {
		next = o.certs.issued
	}
	next.trusts = caSet(choice.CAs)
	if next == now || o.certs.version != w.api.certs.version {
		return false
	}
	if next.trusts&now.trusts != now.trusts {
		w.truth.reached |= ReachedNewCA
	}
	w.api.certs.published = next
	w.api.certs.version++
	w.checkDropped()
	w.outlast(next)
	return true
}

// outlast forgets the reports from an earlier time when the same was published: another CA came and went since, which
// takes longer than a report is believed.
func (w *controllers) outlast(p publication) {
	for k := range w.ops {
		for i := range w.places {
			if r := &w.ops[k].reports[i]; r.installed == p {
				*r = report{}
			}
		}
	}
}

// checkDropped: a member's certificate must verify by the published CAs.
func (w *platform) checkDropped() {
	for i := range w.places {
		if s := &w.nodes[i].srv; s.on && !s.killed && s.pair.key()&w.api.certs.published.trusts.keys() == 0 {
			w.violate(CADropped)
		}
	}
}

// checkTrust: every running server trusts what every other one presents. One that was killed presents nothing, and asks
// nothing.
func (w *database) checkTrust() {
	presented, trusted := cas(0), ^cas(0)
	for i := range w.places {
		if s := &w.nodes[i].srv; s.on && !s.killed {
			presented |= s.pair.key()
			trusted &= s.trusts.keys()
		}
	}
	if presented&^trusted != 0 {
		w.violate(UntrustedLeaf)
	}
}

// renewed reports whether the issued pair, and nothing else, is in force on the member.
func (w *platform) renewed(i int) bool {
	s := &w.nodes[i].srv
	return s.pair == w.api.certs.issued && s.trusts == s.pair.trusts
}

var (
	caNames = func() (out [1 << authorities][]string) {
		single := [authorities]string{"A", "A2", "B", "B2", "C", "C2"}
		for s := range out {
			for i, n := range single {
				if s&(1<<i) != 0 {
					out[s] = append(out[s], n)
				}
			}
		}
		return out
	}()
	// caSets names sets of CAs for the planner, which only compares them.
	caSets = func() (out [1 << authorities]string) {
		for s := range out {
			for _, n := range caNames[s] {
				out[s] += n
			}
		}
		return out
	}()
)

func caSet(list []string) (c cas) {
	for _, name := range list {
		c |= 1 << (2*(name[0]-'A') + byte(len(name)-1))
	}
	return c
}
