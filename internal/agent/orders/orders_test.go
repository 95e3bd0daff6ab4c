package orders

import (
	"errors"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	uuid  = "90e0b86f-e577-11f1-b9b1-fa90d5744545"
	other = "11111111-2222-3333-4444-555555555555"
)

var at17 = galera.Position{UUID: uuid, Seqno: 17}

func order(kind agentapi.OrderKind, pos galera.Position) agentapi.Order {
	return agentapi.Order{ID: "x", Epoch: 5, Kind: kind, Position: pos, ClusterUUID: pos.UUID}
}

// The facts of a member that may carry out each kind; every case below spoils one thing.
func empty() Facts { return Facts{Examined: true, Data: galera.DataEmpty} }
func down() Facts  { return Facts{Examined: true, Data: galera.DataPresent, Position: at17} }
func nonPrimary() Facts {
	return Facts{Alive: true, Position: at17, Server: &agentapi.Server{Component: galera.ComponentNonPrimary}}
}

func TestJudgeAccepts(t *testing.T) {
	for name, c := range map[string]struct {
		o agentapi.Order
		f Facts
	}{
		"initialise":            {order(agentapi.OrderInitialise, galera.Position{}), empty()},
		"bootstrap":             {order(agentapi.OrderBootstrap, at17), down()},
		"rebuild":               {order(agentapi.OrderRebuildQuorum, at17), nonPrimary()},
		"rebuild behind us":     {order(agentapi.OrderRebuildQuorum, galera.Position{UUID: uuid, Seqno: 3}), nonPrimary()},
		"restart":               {order(agentapi.OrderRestart, galera.Position{}), nonPrimary()},
		"restart of a dead one": {order(agentapi.OrderRestart, galera.Position{}), down()},
		"stop":                  {order(agentapi.OrderStop, galera.Position{}), nonPrimary()},
		"start":                 {order(agentapi.OrderStart, galera.Position{}), down()},
	} {
		if v := Judge(c.o, Content{}, nil, c.f); v.Decision != Accept {
			t.Errorf("%s: %v %s", name, v.Decision, v.Message)
		}
	}
}

func TestJudgeRefuses(t *testing.T) {
	initialise, bootstrap, rebuild := order(agentapi.OrderInitialise, galera.Position{}),
		order(agentapi.OrderBootstrap, at17), order(agentapi.OrderRebuildQuorum, at17)
	primary := agentapi.PeerView{Name: "p", Component: galera.ComponentPrimary, ClusterUUID: uuid}
	for name, c := range map[string]struct {
		o    agentapi.Order
		f    Facts
		edit func(*agentapi.Order, *Facts)
		says string
	}{
		"initialise over data": {initialise, empty(),
			func(_ *agentapi.Order, f *Facts) { f.Data = galera.DataPresent }, "not Empty"},
		"initialise over half a copy": {initialise, empty(),
			func(_ *agentapi.Order, f *Facts) { f.Data = galera.DataIncomplete }, "not Empty"},
		"initialise an old cluster": {initialise, empty(), func(o *agentapi.Order, _ *Facts) { o.ClusterUUID = uuid },
			"history"},
		"initialise next to a Primary": {initialise, empty(),
			func(_ *agentapi.Order, f *Facts) { f.Peers = []agentapi.PeerView{primary} }, "p is in a Primary"},
		"initialise next to a forming": {initialise, empty(),
			func(_ *agentapi.Order, f *Facts) { f.Peers = []agentapi.PeerView{{Name: "p", Forming: true}} }, "p is being made"},
		"bootstrap next to a forming": {bootstrap, down(),
			func(_ *agentapi.Order, f *Facts) { f.Peers = []agentapi.PeerView{{Name: "p", Forming: true}} }, "p is being made"},
		"rebuild next to a forming": {rebuild, nonPrimary(),
			func(_ *agentapi.Order, f *Facts) { f.Peers = []agentapi.PeerView{{Name: "p", Forming: true}} }, "p is being made"},
		"initialise next to data": {initialise, empty(), func(_ *agentapi.Order, f *Facts) {
			f.Peers = []agentapi.PeerView{{Name: "q", Data: galera.DataPresent}}
		}, "q holds data"},
		"initialise next to a position": {initialise, empty(),
			func(_ *agentapi.Order, f *Facts) { f.Peers = []agentapi.PeerView{{Name: "q", Position: at17}} }, "q holds data"},
		"initialise a running one": {initialise, empty(), func(_ *agentapi.Order, f *Facts) { f.Alive = true },
			"running"},
		"initialise without config": {initialise, empty(), func(_ *agentapi.Order, f *Facts) { f.Blocked = "why" },
			"why"},
		"bootstrap nothing": {bootstrap, down(), func(_ *agentapi.Order, f *Facts) { f.Data = galera.DataEmpty },
			"no complete database"},
		"bootstrap half a copy": {bootstrap, down(),
			func(_ *agentapi.Order, f *Facts) { f.Data = galera.DataIncomplete }, "no complete database"},
		"bootstrap at an unknown place": {bootstrap, down(),
			func(_ *agentapi.Order, f *Facts) { f.Position = galera.Position{} }, "not known"},
		"bootstrap for another seqno": {bootstrap, down(), func(o *agentapi.Order, _ *Facts) { o.Position.Seqno-- },
			"decided for"},
		"bootstrap for a later seqno": {bootstrap, down(), func(o *agentapi.Order, _ *Facts) { o.Position.Seqno++ },
			"decided for"},
		"bootstrap for another uuid": {bootstrap, down(), func(o *agentapi.Order, _ *Facts) { o.Position.UUID = other },
			"decided for"},
		"bootstrap without a position": {bootstrap, down(),
			func(o *agentapi.Order, _ *Facts) { o.Position = galera.Position{} }, "names no position"},
		"bootstrap of another cluster": {bootstrap, down(), func(o *agentapi.Order, _ *Facts) { o.ClusterUUID = other },
			"the cluster's UUID"},
		"bootstrap next to a Primary": {bootstrap, down(),
			func(_ *agentapi.Order, f *Facts) { f.Peers = []agentapi.PeerView{primary} }, "p is in a Primary"},
		"next to a Primary that was given up": {bootstrap, down(), func(o *agentapi.Order, f *Facts) {
			o.GivenUp, f.Peers = []string{"p"}, []agentapi.PeerView{primary}
		}, "p is in a Primary"},
		"next to one that is being made so and was given up": {bootstrap, down(), func(o *agentapi.Order, f *Facts) {
			o.GivenUp, f.Peers = []string{"p"}, []agentapi.PeerView{{Name: "p", Forming: true}}
		}, "p is being made"},
		"behind a peer, another was given up": {bootstrap, down(), func(o *agentapi.Order, f *Facts) {
			o.GivenUp, f.Peers = []string{"p"}, []agentapi.PeerView{{Name: "p", Data: galera.DataPresent, Position: at18},
				{Name: "q", Data: galera.DataPresent, Position: at18}}
		}, "q is ahead"},
		"bootstrap behind a peer": {bootstrap, down(), func(_ *agentapi.Order, f *Facts) {
			f.Peers = []agentapi.PeerView{{Name: "q", Data: galera.DataPresent,
				Position: galera.Position{UUID: uuid, Seqno: 18}}}
		}, "q is ahead"},
		"bootstrap a running one": {bootstrap, down(), func(_ *agentapi.Order, f *Facts) { f.Alive = true }, "running"},
		"rebuild on a dead one": {rebuild, nonPrimary(), func(_ *agentapi.Order, f *Facts) { f.Server = nil },
			"does not answer"},
		"rebuild on a Primary one": {rebuild, nonPrimary(),
			func(_ *agentapi.Order, f *Facts) { f.Server = &agentapi.Server{Component: galera.ComponentPrimary} },
			"not non-Primary"},
		"rebuild, disconnected": {rebuild, nonPrimary(), func(_ *agentapi.Order, f *Facts) {
			f.Server = &agentapi.Server{Component: galera.ComponentDisconnected}
		}, "not non-Primary"},
		"rebuild next to a Primary": {rebuild, nonPrimary(),
			func(_ *agentapi.Order, f *Facts) { f.Peers = []agentapi.PeerView{primary} }, "p is in a Primary"},
		"rebuild behind": {rebuild, nonPrimary(), func(o *agentapi.Order, _ *Facts) { o.Position.Seqno = 18 },
			"decided for"},
		"rebuild for another uuid": {rebuild, nonPrimary(), func(o *agentapi.Order, _ *Facts) { o.Position.UUID = other },
			"decided for"},
		"rebuild without position": {rebuild, nonPrimary(),
			func(o *agentapi.Order, _ *Facts) { o.Position = galera.Position{} }, "names no position"},
		"rebuild at unknown place": {rebuild, nonPrimary(),
			func(_ *agentapi.Order, f *Facts) { f.Position = galera.Position{} }, "not known"},
	} {
		o, f := c.o, c.f
		c.edit(&o, &f)
		v := Judge(o, Content{}, nil, f)
		if v.Decision != Refuse || !strings.Contains(v.Message, c.says) {
			t.Errorf("%s: %v %q, want a refusal that contains %q", name, v.Decision, v.Message, c.says)
		}
	}
}

var at18 = galera.Position{UUID: uuid, Seqno: 18}

func TestGivenUpMemberMayBeAhead(t *testing.T) {
	o, f := order(agentapi.OrderBootstrap, at17), down()
	o.GivenUp = []string{"p", "q"}
	f.Peers = []agentapi.PeerView{{Name: "q", Data: galera.DataPresent, Position: at18}}
	if v := Judge(o, Content{}, nil, f); v.Decision != Accept {
		t.Errorf("%v %s", v.Decision, v.Message)
	}
}

func TestOrderIsKnownWithAnyMembersGivenUp(t *testing.T) {
	sent := order(agentapi.OrderBootstrap, at17)
	sent.GivenUp = []string{"q"}
	book := Content{HighestEpoch: 5, Records: []agentapi.OrderRecord{{Order: sent, State: agentapi.OrderDone}}}
	for _, givenUp := range [][]string{{"q"}, nil, {"p", "q"}} {
		again := order(agentapi.OrderBootstrap, at17)
		again.GivenUp = givenUp
		if v := Judge(again, book, nil, down()); v.Decision != Repeat {
			t.Errorf("%v: %v %s", givenUp, v.Decision, v.Message)
		}
	}
}

func TestJudgeAgainstTheOrderBook(t *testing.T) {
	bootstrap := order(agentapi.OrderBootstrap, at17)
	known := Content{HighestEpoch: 5, Records: []agentapi.OrderRecord{{Order: bootstrap, State: agentapi.OrderDone}}}
	changed := bootstrap
	changed.Position.Seqno = 18
	second := bootstrap
	second.ID = "y"
	restart := order(agentapi.OrderRestart, galera.Position{})
	running := order(agentapi.OrderBootstrap, at17)
	running.ID = "running"
	for name, c := range map[string]struct {
		o       agentapi.Order
		book    Content
		damaged error
		edit    func(*Facts)
		want    Decision
	}{
		"known":                         {bootstrap, known, nil, nil, Repeat},
		"known, other content":          {changed, known, nil, nil, RefuseUnrecorded},
		"old epoch":                     {bootstrap, Content{HighestEpoch: 6}, nil, nil, RefuseUnrecorded},
		"same epoch":                    {bootstrap, Content{HighestEpoch: 5}, nil, nil, Accept},
		"second bootstrap in the epoch": {second, Content{HighestEpoch: 5, Formed: FormedBy{5, "x"}}, nil, nil, Refuse},
		"bootstrap in a later epoch":    {second, Content{HighestEpoch: 4, Formed: FormedBy{4, "x"}}, nil, nil, Accept},
		"damaged book":                  {bootstrap, Content{}, errors.New("torn"), nil, RefuseUnrecorded},
		"no id": {agentapi.Order{Epoch: 1, Kind: agentapi.OrderStop}, Content{}, nil, nil,
			RefuseUnrecorded},
		"no epoch": {agentapi.Order{ID: "x", Kind: agentapi.OrderStop}, Content{}, nil, nil,
			RefuseUnrecorded},
		"unknown kind": {agentapi.Order{ID: "x", Epoch: 1, Kind: "Explode"}, Content{}, nil, nil,
			RefuseUnrecorded},
		"restart of a stopped member": {restart, Content{Held: true}, nil, nil, Refuse},
		"not examined yet":            {bootstrap, Content{}, nil, func(f *Facts) { f.Examined = false }, Busy},
		"after crashes in a row":      {bootstrap, Content{}, nil, func(f *Facts) { f.CrashedIn = 1 }, Busy},
		"draining":                    {bootstrap, Content{}, nil, func(f *Facts) { f.Draining = true }, Busy},
		"in the middle of another":    {restart, Content{}, nil, func(f *Facts) { f.Current = &running }, Busy},
		"stop goes before all": {order(agentapi.OrderStop, galera.Position{}), Content{}, nil,
			func(f *Facts) { f.Current = &running }, Accept},
		"the other may be cut": {restart, Content{}, nil, func(f *Facts) { f.Current, f.Cut = &running, true },
			Accept},
	} {
		f := down()
		if c.edit != nil {
			c.edit(&f)
		}
		if v := Judge(c.o, c.book, c.damaged, f); v.Decision != c.want {
			t.Errorf("%s: %v (%s), want %v", name, v.Decision, v.Message, c.want)
		}
	}
}

// TestNotAlone: a database that took a while to make becomes the first component only if no other member has begun, or
// holds data.
func TestNotAlone(t *testing.T) {
	for want, p := range map[string]agentapi.PeerView{
		"":                           {Name: "b", Data: galera.DataEmpty},
		"b is in a Primary":          {Name: "b", Component: galera.ComponentPrimary, Data: galera.DataPresent},
		"b is being made Primary":    {Name: "b", Forming: true},
		"b holds data (Present":      {Name: "b", Data: galera.DataPresent, Position: at17},
		"b holds data (, position 9": {Name: "b", Position: at17},
	} {
		if got := NotAlone([]agentapi.PeerView{{Name: "a"}, p}); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
	if got := NotAlone(nil); got != "" {
		t.Errorf("no one answers: %q", got)
	}
}
