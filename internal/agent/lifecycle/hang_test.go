package lifecycle

import (
	"maps"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestJudgeHang(t *testing.T) {
	view := func(name string, members ...string) map[string]agentapi.PeerView {
		return primary(name, func(p *agentapi.PeerView) { p.Members = members })
	}
	both := func(x, y map[string]agentapi.PeerView) map[string]agentapi.PeerView {
		out := maps.Clone(x)
		maps.Copy(out, y)
		return out
	}
	without := view("b", "b", "c")
	for name, c := range map[string]struct {
		edit       func(*Hang)
		hung, kill bool
	}{
		"the group goes on without it":  {func(*Hang) {}, true, true},
		"not for long":                  {func(h *Hang) { h.Silent = HungAfter }, false, false},
		"never answered, not for long":  {func(h *Hang) { h.Answered, h.Silent = false, HungStart }, false, false},
		"never answered":                {func(h *Hang) { h.Answered, h.Silent = false, HungStart+1 }, true, false},
		"the volume does not answer":    {func(h *Hang) { h.VolumeAnswers = false }, true, false},
		"no peer answers":               {func(h *Hang) { h.Peers = nil }, true, false},
		"it is counted":                 {func(h *Hang) { h.Peers = view("b", "a", "b") }, true, false},
		"one still counts it":           {func(h *Hang) { h.Peers = both(without, view("c", "a", "b", "c")) }, true, false},
		"one does not know its members": {func(h *Hang) { h.Peers = both(without, view("c")) }, true, false},
		"another history":               {func(h *Hang) { h.UUID = uuidB }, true, false},
		"its own history is not known":  {func(h *Hang) { h.UUID = "" }, true, false},
		"no peer is Primary": {func(h *Hang) {
			h.Peers = primary("b", func(p *agentapi.PeerView) {
				p.Component, p.Members = galera.ComponentNonPrimary,
					[]string{"b"}
			})
		}, true, false},
		"no peer is Primary, for long": {func(h *Hang) {
			h.Silent = hungNoPrimary + 1
			h.Peers = primary("b", func(p *agentapi.PeerView) {
				p.Component, p.Members = galera.ComponentNonPrimary,
					[]string{"b"}
			})
		}, true, true},
		"it refuses the login, and no peer is Primary, for long": {func(h *Hang) {
			h.Silent, h.Refused = hungNoPrimary+1, true
			h.Peers = primary("b", func(p *agentapi.PeerView) {
				p.Component, p.Members = galera.ComponentNonPrimary,
					[]string{"b"}
			})
		}, true, false},
		"it refuses the login, and the group goes on without it": {func(h *Hang) { h.Refused = true }, true, true},
		"no peer answers, for long": {func(h *Hang) { h.Silent, h.Peers = hungNoPrimary+1, nil },
			true, false},
		"it is counted, for long": {func(h *Hang) {
			h.Silent, h.Peers = hungNoPrimary+1,
				view("b", "a", "b")
		}, true, false},
		"no peer is Primary, for long, and the volume does not answer": {func(h *Hang) {
			h.Silent, h.VolumeAnswers = hungNoPrimary+1, false
			h.Peers = primary("b", func(p *agentapi.PeerView) {
				p.Component, p.Members = galera.ComponentNonPrimary,
					[]string{"b"}
			})
		}, true, false},
		"one is Primary, another has left it": {func(h *Hang) {
			h.Peers = both(without, primary("c", func(p *agentapi.PeerView) { p.Component = galera.ComponentNonPrimary }))
		}, true, true},
	} {
		h := Hang{Silent: HungAfter + 1, Answered: true, VolumeAnswers: true, Self: "a", UUID: uuidA, Peers: without}
		c.edit(&h)
		if hung, kill := JudgeHang(h); hung != c.hung || kill != c.kill {
			t.Errorf("%s: hung %v, kill %v", name, hung, kill)
		}
	}
}
