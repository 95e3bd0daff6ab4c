package sites

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// event is one of a schedule: the world has no other source of chance.
type event struct{ what, a, b int }

// The kinds of events.
const (
	doWrite = iota
	doCatchUp
	doAdvance
	doWait
	doCluster
	doArchiving
	doServing
	doKubelet
	doAgent
	doRead
	doReport
	doArchive
	doCheck
	doReadArchive
	doRecord
	doChannel
	doRenew
	doArrive
	doPerson
	doFail
	doMishap
	doStart
	doRound
	doHeal
	doRejoin
	doReseed
	doRoot
	doTookOver
	doRecover
	doSet
	doBefore
)

// kinds are how often each kind of event is drawn.
var kinds = [...]struct {
	weight int
	do     func(w *world, s *site, n *node, e event)
}{
	doWrite:       {6, func(w *world, s *site, n *node, _ event) { w.write(s, n) }},
	doCatchUp:     {2, func(w *world, s *site, n *node, _ event) { w.catchUp(s, n) }},
	doAdvance:     {4, func(w *world, _ *site, _ *node, e event) { w.advance(time.Duration(1+e.a%6) * time.Second) }},
	doWait:        {1, func(w *world, _ *site, _ *node, e event) { w.advance(time.Duration(8+e.a%30) * time.Second) }},
	doCluster:     {4, func(w *world, s *site, _ *node, e event) { w.clusterPass(s, e.b) }},
	doArchiving:   {4, func(w *world, _ *site, _ *node, e event) { w.archivingPass(w.sites[0], e.b) }},
	doServing:     {4, func(w *world, _ *site, _ *node, e event) { w.servingPass(w.follower(e.a), e.b) }},
	doKubelet:     {5, func(w *world, s *site, n *node, _ event) { w.kubelet(s, n) }},
	doAgent:       {6, func(w *world, s *site, n *node, _ event) { w.agent(s, n) }},
	doRead:        {3, func(w *world, s *site, n *node, e event) { w.read(s, n, e.b) }},
	doReport:      {5, func(w *world, s *site, n *node, _ event) { w.report(s, n) }},
	doArchive:     {3, func(w *world, _ *site, _ *node, e event) { w.archiveMore(w.sites[0], e.b) }},
	doCheck:       {3, func(w *world, _ *site, _ *node, e event) { w.checkPromotions(w.sites[0], e.b) }},
	doReadArchive: {2, func(w *world, _ *site, _ *node, e event) { w.readArchive(w.follower(e.a)) }},
	doRecord:      {4, func(w *world, _ *site, _ *node, e event) { w.recordPromotion(w.follower(e.a), e.b) }},
	doChannel:     {3, func(w *world, _ *site, _ *node, e event) { w.channel(w.follower(e.a), e.b) }},
	doRenew:       {8, func(w *world, _ *site, _ *node, e event) { w.renew(w.sites[0], e.b%2) }},
	doArrive:      {4, func(w *world, _ *site, _ *node, e event) { w.arrive(e.b) }},
	doPerson:      {6, func(w *world, _ *site, _ *node, e event) { w.person(e.a, e.b) }},
	doFail:        {3, func(w *world, _ *site, _ *node, e event) { w.fail(e.a, e.b) }},
	doMishap:      {2, func(w *world, s *site, _ *node, e event) { w.mishap(s, e.b) }},
	doStart:       {2, func(w *world, s *site, _ *node, _ event) { w.start(s) }},
	doRound:       {2, func(w *world, _ *site, _ *node, e event) { w.round(time.Duration(1+e.a%5) * time.Second) }},
	doHeal:        {1, func(w *world, _ *site, _ *node, e event) { w.healed(e) }},
	doRejoin:      {2, func(w *world, _ *site, _ *node, e event) { w.rejoin(e.b) }},
	doReseed: {3, func(w *world, _ *site, _ *node, e event) {
		w.reseedPass(w.sites[0], e.b)
		w.followsAgain(w.sites[0])
	}},
	doRoot:     {1, func(w *world, _ *site, _ *node, e event) { w.byRoot(w.sites[0].nodes[e.b%members]) }},
	doTookOver: {0, func(w *world, _ *site, _ *node, e event) { w.tookOver(e.b%2 == 1) }}, // the first, or none
	doRecover:  {0, func(w *world, _ *site, _ *node, e event) { w.recover(e.b) }},         // in some schedules
	doSet:      {1, func(w *world, s *site, _ *node, e event) { w.set(s, e.b) }},
	doBefore:   {0, func(w *world, _ *site, _ *node, e event) { w.before, w.lineless = true, e.b%2 == 0 }}, // as well
}

// follower is a site that follows the first one.
func (w *world) follower(x int) *site { return w.sites[1+x%(len(w.sites)-1)] }

// start starts the programs of a site.
func (w *world) start(s *site) {
	if s == w.sites[0] {
		w.startArchiver(s)
	} else {
		w.startSource(s)
	}
}

// healed has all be well for a while, or ten minutes pass.
func (w *world) healed(e event) {
	if e.b%9 == 0 {
		w.advance(11 * time.Minute)
		return
	}
	if w.heal(); e.b%3 == 0 {
		for range 4 {
			w.round(time.Duration(1+e.a%9) * time.Second)
			w.check()
		}
	}
}

// do has an event happen.
func (w *world) do(e event) {
	s := w.sites[e.a%len(w.sites)]
	kinds[e.what].do(w, s, s.nodes[(e.a/3)%members], e)
	w.check()
}

// schedule is what happens in a world with so many sites.
type schedule struct {
	sites  int
	events []event
}

// play has a schedule happen, and ends with a calm time.
func play(t *testing.T, r rules, of schedule) *world {
	w := newWorld(t, r, of.sites)
	defer func() { _ = w.bucket.Close() }()
	for _, e := range of.events {
		if w.do(e); w.broken != "" {
			return w
		}
	}
	w.settle()
	return w
}

// draw makes a schedule from a seed. Some have no mishaps, and some no failures; some begin with a lease, and are about
// a takeover then, and some are about changes of sites. In some the first cluster had taken over itself,
// in others it is recovered, and in others the second site's programs are of an earlier release.
func draw(seed uint64) schedule {
	r := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a schedule is to be repeated
	calm, about := r.IntN(4), r.IntN(3)
	out := schedule{sites: 2 + r.IntN(4)/3}
	if seed%4 == 3 {
		out.events = append(out.events, event{doTookOver, 0, int(seed / 4 % 2)}) //nolint:gosec // 0 or 1
	}
	if seed%16 == 6 || seed%16 == 9 {
		out.events = append(out.events, event{doBefore, 0, int(seed / 16 % 2)}) //nolint:gosec // 0 or 1
	}
	if about == 1 {
		out.events = append(out.events, event{doPerson, 0, wantsLease}, event{doRound, 1, 1}, event{doRound, 1, 1},
			event{doRound, 1, 1}, event{doRound, 1, 1})
	}
	if about == 2 && seed%3 > 0 {
		out.events = append(out.events, taken...)
	}
	weights, all := [len(kinds)]int{}, 0
	for i, k := range kinds {
		weights[i] = k.weight
		switch {
		case calm == 1 && i == doMishap, calm == 2 && i == doFail:
			weights[i] = 0
		case calm == 3 && i == doMishap, about == 1 && i == doRenew:
			weights[i] *= 2
		}
		all += weights[i]
	}
	for range 50 + r.IntN(200) {
		e := event{0, r.IntN(1000), r.IntN(1000)}
		for left := r.IntN(all); left >= weights[e.what]; e.what++ {
			left -= weights[e.what]
		}
		switch {
		case e.what != doPerson:
		case about == 1 && e.a%2 == 0:
			e.b = acceptsLoss
		case about == 2:
			e.b %= acceptsLoss
		}
		out.events = append(out.events, e)
	}
	for i := 0; seed%4 == 2 && i < 2; i++ {
		out.events[r.IntN(len(out.events))] = event{doRecover, 0, r.IntN(1000)}
	}
	return out
}

// shorten leaves out what a failure does not need.
func shorten(t *testing.T, r rules, of schedule) schedule {
	for n := len(of.events) / 2; n > 0; n /= 2 {
		for i := 0; i+n <= len(of.events); {
			less := schedule{of.sites, slices.Delete(slices.Clone(of.events), i, i+n)}
			if play(t, r, less).broken != "" {
				of = less
			} else {
				i += n
			}
		}
	}
	return of
}

// fails reports a schedule that breaks a promise, as short as it can be.
func fails(t *testing.T, name string, of schedule) {
	t.Helper()
	of = shorten(t, shipped(), of)
	w := play(t, shipped(), of)
	text := ""
	for _, e := range of.events {
		text += fmt.Sprintf("{%d, %d, %d}, ", e.what, e.a, e.b)
	}
	t.Errorf("%s: %s\nschedule{%d, []event{%s}}\n%s", name, w.broken, of.sites, text, strings.Join(w.trace, "\n"))
}

// TestSites: whatever happens, no write is dropped silently, two sites do not both accept writes where that is promised
// and it is reported where it is not, and each wait ends. SITES_SIM_DURATION=10m tries new seeds for so long.
func TestSites(t *testing.T) {
	seeds, seed := uint64(400), uint64(0)
	if testing.Short() {
		seeds = 100
	}
	until := time.Now()
	if d, err := time.ParseDuration(os.Getenv("SITES_SIM_DURATION")); err == nil {
		seed, until = uint64(until.UnixNano()), until.Add(d) //nolint:gosec // a seed
	}
	first, seen, events := seed, coverage{}, 0
	for ; seed < first+seeds || time.Now().Before(until); seed++ {
		of := draw(seed)
		w := play(t, shipped(), of)
		if w.broken != "" {
			fails(t, fmt.Sprintf("seed %d", seed), of)
			return
		}
		for name, n := range w.seen {
			seen[name] += n
		}
		events += len(of.events)
	}
	t.Logf("%d schedules, %d events: %+v", seed-first, events, seen)
	for _, name := range situations {
		if seen[name] == 0 && !testing.Short() {
			t.Errorf("nothing is %s in any schedule", name)
		}
	}
}

// TestRegressions plays what has broken a promise.
func TestRegressions(t *testing.T) {
	for name, of := range regressions {
		if w := play(t, shipped(), of); w.broken != "" {
			fails(t, name, of)
		}
	}
}
