package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	history = "11111111-2222-4333-8444-555555555555"
	other   = "99999999-2222-4333-8444-555555555555"
)

func at(seqno int64) galera.Position { return galera.Position{UUID: history, Seqno: seqno} }

// change alters a snapshot.
type change func(*galera.Snapshot)

// memberOption alters a member.
type memberOption func(*galera.Member)

// shop is a cluster of three: recorded, at epoch 4, all Synced at 10, db-0 the writer.
func shop(changes ...change) galera.Snapshot {
	s := galera.Snapshot{
		Namespace: "default", Name: "db", Replicas: 3, ConfigRevision: "r1",
		ClusterUUID: history, Epoch: 4, Primary: "db-0", Members: make([]galera.Member, 3),
	}
	for i := range s.Members {
		s.Members[i] = galera.Member{
			Name: "db-" + string(rune('0'+i)), Ordinal: i, HeldData: true, Known: true, ConfigLoaded: "r1", Line: 1,
			Pod: galera.Pod{Exists: true, Ready: true, Role: "replica"},
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
func fresh(changes ...change) galera.Snapshot {
	return shop(append([]change{all(empty), func(s *galera.Snapshot) {
		s.ClusterUUID, s.Epoch, s.Primary = "", 0, ""
		for i := range s.Members {
			s.Members[i].HeldData, s.Members[i].Line, s.Members[i].Pod.Role = false, 0, "replica"
		}
	}}, changes...)...)
}

func db(i int, facts ...memberOption) change {
	return func(s *galera.Snapshot) {
		for _, f := range facts {
			f(&s.Members[i])
		}
	}
}

func all(facts ...memberOption) change {
	return func(s *galera.Snapshot) {
		for i := range s.Members {
			db(i, facts...)(s)
		}
	}
}

func hibernated(s *galera.Snapshot) { s.Hibernate = true }

func running(op galera.Operation) change {
	return func(s *galera.Snapshot) { s.Operation, s.Epoch = &op, op.Epoch }
}

func trust(member string, p galera.Position, epoch int64, without ...string) change {
	return func(s *galera.Snapshot) {
		s.Approval = &galera.Approval{Member: member, Position: p, Epoch: epoch, Without: without}
	}
}

func lostFor(d time.Duration) change { return func(s *galera.Snapshot) { s.NoPrimaryFor = d } }

func synced(m *galera.Member) {
	m.Phase, m.Data, m.Position = galera.PhaseRunning, galera.DataPresent, at(10)
	m.Server = &galera.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: history,
		Size: 3, Members: []string{"db-0", "db-1", "db-2"}}
}

// in is a Primary component of those members.
func in(members ...string) memberOption {
	return func(m *galera.Member) { m.Server.Members, m.Server.Size = members, len(members) }
}

func state(n galera.NodeState) memberOption { return func(m *galera.Member) { m.Server.State = n } }

// nonPrimary runs without quorum in a component of those members.
func nonPrimary(seqno int64, members ...string) memberOption {
	return func(m *galera.Member) {
		synced(m)
		m.Server.Component, m.Server.State = galera.ComponentNonPrimary, galera.NodeJoining
		m.Position, m.Pod.Ready = at(seqno), false
		in(members...)(m)
	}
}

func queue(n int64) memberOption { return func(m *galera.Member) { m.Server.ReceiveQueue = n } }

// down has its data and waits.
func down(seqno int64) memberOption {
	return func(m *galera.Member) {
		m.Server, m.Phase, m.Data, m.Position, m.Pod.Ready = nil, galera.PhaseWaiting, galera.DataPresent, at(seqno), false
	}
}

func copied(m *galera.Member) {
	down(9)(m)
	m.OtherCluster, m.Failure = true, &galera.Failure{Reason: "OtherCluster", Message: "copied"}
}

func stopped(seqno int64) memberOption {
	return func(m *galera.Member) { down(seqno)(m); m.Phase = galera.PhaseStopped }
}

func phase(p galera.Phase) memberOption { return func(m *galera.Member) { m.Phase = p } }

func empty(m *galera.Member) {
	down(0)(m)
	m.Data, m.Position = galera.DataEmpty, galera.Position{}
}

func incomplete(m *galera.Member) { empty(m); m.Data = galera.DataIncomplete }

func unreadable(m *galera.Member) {
	down(0)(m)
	m.Position, m.Phase = galera.Position{}, galera.PhaseFailed
}

// damaged has data, and an order book that cannot be read.
func damaged(seqno int64) memberOption {
	return func(m *galera.Member) {
		down(seqno)(m)
		m.Phase, m.BookDamaged, m.Line, m.Order = galera.PhaseFailed, true, 0, nil
	}
}

func foreign(seqno int64) memberOption {
	return func(m *galera.Member) { down(seqno)(m); m.Position.UUID = other }
}

func silent(m *galera.Member) {
	*m = galera.Member{Name: m.Name, Ordinal: m.Ordinal, HeldData: m.HeldData, Pod: m.Pod, SilentFor: answerTimeout}
	m.Pod.Ready = false
}

// unplaced never had a host, nor a volume.
func unplaced(m *galera.Member) {
	silent(m)
	m.Unplaced, m.HeldData, m.Pod.Waiting = true, false, true
}

// starting does not answer, and has not had its time to.
func starting(m *galera.Member) { silent(m); m.SilentFor = answerTimeout - time.Second }

func safe(m *galera.Member)         { m.SafeToBootstrap = true }
func outdatedPod(m *galera.Member)  { m.Pod.Outdated = true }
func cordonedHost(m *galera.Member) { m.Pod.Cordoned = true }
func oldConfig(m *galera.Member)    { m.RestartNeeded = true }

// named is a member of a line that an epoch began, of these names, the latest first.
func named(epoch int64, ids ...string) memberOption {
	return func(m *galera.Member) { m.Line, m.Lines = epoch, ids }
}

// firstTwo is true for db-1 and db-2.
func firstTwo(facts ...memberOption) change {
	return func(s *galera.Snapshot) { db(1, facts...)(s); db(2, facts...)(s) }
}

func inLineOf(id string) change { return func(s *galera.Snapshot) { s.Line = id } }

func line(epoch int64) memberOption { return func(m *galera.Member) { m.Line = epoch } }

// hasOrder remembers an order.
func hasOrder(id string, epoch int64, kind OrderKind, state string) memberOption {
	return func(m *galera.Member) {
		m.Order = &galera.Order{ID: id, Epoch: epoch, Kind: string(kind), State: state}
	}
}

// knows remembers an order of the epoch.
func knows(epoch int64) memberOption { return hasOrder("some", epoch, OrderStart, orderDone) }

// row is a situation and what the planner has to make of it.
type row struct {
	name    string
	s       galera.Snapshot
	action  Action
	reason  string
	blocked bool
	// contains is a part of the message.
	contains string
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
			if reported := d.Message + shown(d.Approval); !strings.Contains(reported, r.contains) {
				t.Errorf("message %q does not contain %q", reported, r.contains)
			}
			if strings.Contains(d.Message, "kubectl") {
				t.Errorf("a command in the message %q: status makes them of typed fields", d.Message)
			}
		})
	}
}

// halfKept is a member with a full copy that is not on the disk yet.
func halfKept(m *galera.Member) { m.Data = galera.DataIncomplete }

// shown is an approval as printed has it, the members in their order.
func shown(a *galera.Approval) string {
	if a == nil {
		return ""
	}
	var without []string
	for as, names := range map[galera.GivenUpAs][]string{galera.Gone: a.Without, galera.StillRunning: a.Running,
		galera.Unable: a.Unable} {
		for _, name := range names {
			without = append(without, fmt.Sprintf(`{"name":%q,"as":%q}`, name, as))
		}
	}
	slices.Sort(without)
	return fmt.Sprintf(
		`{"spec":{"recovery":{"approval":{"member":%q,"history":%q,"seqno":%d,"epoch":%d,"without":[%s]}}}}`,
		a.Member, a.Position.UUID, a.Position.Seqno, a.Epoch, strings.Join(without, ","))
}

// printed is the approval that a decision asks for.
func printed(member string, seqno, epoch int64, without string, as galera.GivenUpAs) string {
	return fmt.Sprintf(
		`{"spec":{"recovery":{"approval":{"member":%q,"history":%q,"seqno":%d,"epoch":%d,"without":[{"name":%q,"as":%q}]}}}}`,
		member, history, seqno, epoch, without, as)
}
