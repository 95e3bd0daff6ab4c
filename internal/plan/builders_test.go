package plan

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/cluster"
)

const (
	history = "11111111-2222-4333-8444-555555555555"
	other   = "99999999-2222-4333-8444-555555555555"
)

func at(seqno int64) cluster.Position { return cluster.Position{UUID: history, Seqno: seqno} }

// change alters a snapshot.
type change func(*cluster.Snapshot)

// is alters a member.
type is func(*cluster.Member)

// shop is a cluster of three: recorded, at epoch 4, all Synced at 10, db-0 the writer.
func shop(changes ...change) cluster.Snapshot {
	s := cluster.Snapshot{
		Namespace: "default", Name: "db", Replicas: 3, ConfigRevision: "r1",
		ClusterUUID: history, Epoch: 4, Primary: "db-0", Members: make([]cluster.Member, 3),
	}
	for i := range s.Members {
		s.Members[i] = cluster.Member{
			Name: "db-" + string(rune('0'+i)), Ordinal: i, HeldData: true, Known: true, ConfigLoaded: "r1", Line: 1,
			Pod: cluster.Pod{Exists: true, Ready: true, Role: "replica"},
		}
		synced(&s.Members[i])
	}
	s.Members[0].Pod.Role = rolePrimary
	for _, c := range changes {
		c(&s)
	}
	return s
}

// fresh is a cluster in which nothing has ever been started.
func fresh(changes ...change) cluster.Snapshot {
	return shop(append([]change{all(empty), func(s *cluster.Snapshot) {
		s.ClusterUUID, s.Epoch, s.Primary = "", 0, ""
		for i := range s.Members {
			s.Members[i].HeldData, s.Members[i].Line, s.Members[i].Pod.Role = false, 0, "replica"
		}
	}}, changes...)...)
}

func db(i int, facts ...is) change {
	return func(s *cluster.Snapshot) {
		for _, f := range facts {
			f(&s.Members[i])
		}
	}
}

func all(facts ...is) change {
	return func(s *cluster.Snapshot) {
		for i := range s.Members {
			db(i, facts...)(s)
		}
	}
}

func suspended(s *cluster.Snapshot) { s.Suspend = true }

func running(op cluster.Operation) change {
	return func(s *cluster.Snapshot) { s.Operation, s.Epoch = &op, op.Epoch }
}

func trust(member string, p cluster.Position, epoch int64, without ...string) change {
	return func(s *cluster.Snapshot) {
		s.Trust = &cluster.Trust{Member: member, Position: p, Epoch: epoch, Without: without}
	}
}

func lostFor(d time.Duration) change { return func(s *cluster.Snapshot) { s.NoPrimaryFor = d } }

func synced(m *cluster.Member) {
	m.Phase, m.Data, m.Position = cluster.PhaseRunning, cluster.DataPresent, at(10)
	m.Server = &cluster.Server{Component: cluster.ComponentPrimary, State: cluster.NodeSynced, ClusterUUID: history,
		Size: 3, Members: []string{"db-0", "db-1", "db-2"}}
}

// in is a Primary component of those members.
func in(members ...string) is {
	return func(m *cluster.Member) { m.Server.Members, m.Server.Size = members, len(members) }
}

func state(n cluster.NodeState) is { return func(m *cluster.Member) { m.Server.State = n } }

// nonPrimary runs without quorum in a component of those members.
func nonPrimary(seqno int64, members ...string) is {
	return func(m *cluster.Member) {
		synced(m)
		m.Server.Component, m.Server.State = cluster.ComponentNonPrimary, cluster.NodeJoining
		m.Position, m.Pod.Ready = at(seqno), false
		in(members...)(m)
	}
}

func queue(n int64) is { return func(m *cluster.Member) { m.Server.ReceiveQueue = n } }

// down has its data and waits.
func down(seqno int64) is {
	return func(m *cluster.Member) {
		m.Server, m.Phase, m.Data, m.Position, m.Pod.Ready = nil, cluster.PhaseWaiting, cluster.DataPresent, at(seqno), false
	}
}

func stopped(seqno int64) is {
	return func(m *cluster.Member) { down(seqno)(m); m.Phase = cluster.PhaseStopped }
}

func phase(p cluster.Phase) is { return func(m *cluster.Member) { m.Phase = p } }

func empty(m *cluster.Member) {
	down(0)(m)
	m.Data, m.Position = cluster.DataEmpty, cluster.Position{}
}

func incomplete(m *cluster.Member) { empty(m); m.Data = cluster.DataIncomplete }

func unreadable(m *cluster.Member) {
	down(0)(m)
	m.Position, m.Phase = cluster.Position{}, cluster.PhaseFailed
}

// damaged has data, and an order book that cannot be read.
func damaged(seqno int64) is {
	return func(m *cluster.Member) {
		down(seqno)(m)
		m.Phase, m.BookDamaged, m.Line, m.Order = cluster.PhaseFailed, true, 0, nil
	}
}

func foreign(seqno int64) is {
	return func(m *cluster.Member) { down(seqno)(m); m.Position.UUID = other }
}

func silent(m *cluster.Member) {
	*m = cluster.Member{Name: m.Name, Ordinal: m.Ordinal, HeldData: m.HeldData, Pod: m.Pod}
	m.Pod.Ready = false
}

func safe(m *cluster.Member)        { m.SafeToBootstrap = true }
func outdatedPod(m *cluster.Member) { m.Pod.Outdated = true }
func oldConfig(m *cluster.Member)   { m.RestartNeeded = true }
func line(epoch int64) is           { return func(m *cluster.Member) { m.Line = epoch } }

// told remembers an order.
func told(id string, epoch int64, kind OrderKind, state string) is {
	return func(m *cluster.Member) {
		m.Order = &cluster.Order{ID: id, Epoch: epoch, Kind: string(kind), State: state}
	}
}

// knows remembers an order of the epoch.
func knows(epoch int64) is { return told("some", epoch, OrderStart, orderDone) }

// row is a situation and what the planner has to make of it.
type row struct {
	name    string
	s       cluster.Snapshot
	action  Action
	reason  string
	blocked bool
	// says is part of the message.
	says string
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			d := Plan(r.s)
			if !reflect.DeepEqual(d.Action, r.action) {
				t.Errorf("action\n got %#v\nwant %#v\n(%s: %s)", d.Action, r.action, d.Reason, d.Message)
			}
			if r.reason != "" && d.Reason != r.reason {
				t.Errorf("reason %s, want %s", d.Reason, r.reason)
			}
			if d.Blocked != r.blocked {
				t.Errorf("blocked %t, want %t", d.Blocked, r.blocked)
			}
			if !strings.Contains(d.Message, r.says) {
				t.Errorf("message %q does not say %q", d.Message, r.says)
			}
		})
	}
}

// halfKept is a member with a full copy that is not on the disk yet.
func halfKept(m *cluster.Member) { m.Data = cluster.DataIncomplete }
