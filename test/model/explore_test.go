package model

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/galera-operator/galera-operator/internal/plan"
)

// theme is a small world that is explored completely.
type theme struct {
	name string
	// before leads to the state the exploration begins in.
	before []Event
	events []Event
	// depth of the fast and of the full run.
	fast, full int
}

// each returns the kind for every one of n values of A.
func each(n uint8, kinds ...Kind) (out []Event) {
	for _, k := range kinds {
		for a := range n {
			out = append(out, Event{k, a, 0})
		}
	}
	return out
}

func join(lists ...[]Event) (out []Event) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

var hears = []Event{{Hear, 0, 0}, {Hear, 0, 1}, {Hear, 0, 2}}

var themes = []theme{
	{"a full crash, seen piece by piece", []Event{{Write, 2, 0}, {KillAll, 0, 0}, {Elapse, 0, 0}},
		join(hears, each(3, Agent), []Event{{SeeStatus, 0, 0}, {Reconcile, 0, 0}, {Deliver, 0, 0}, {DropMessage, 0, 0},
			{KillAgent, 2, 0}, {Kubelet, 2, 0}}), 14, 24},
	{"members that come and go, heard of late", []Event{{Round, 0, 0}, {Write, 2, 0}},
		join(hears, each(3, KillServer), []Event{{Elapse, 0, 0}, {SeeStatus, 0, 0}, {Reconcile, 0, 0}, {Deliver, 0, 0}}), 9,
		12},
	{"two operators recover", []Event{{Write, 2, 0}, {KillAll, 0, 0}, {Elapse, 0, 0}, {Elapse, 0, 0}},
		join(each(2, LookAround, Reconcile), []Event{{Elapse, 0, 0}, {Deliver, 0, 0}, {Duplicate, 0, 0}, {Deliver, 1, 0},
			{KillAgent, 2, 0}, {CrashBeforeStatus, 0, 0}}), 12, 18},
	{"partitions", []Event{{Round, 0, 0}},
		join(each(3, Write), []Event{{Partition, 1, 0}, {Partition, 6, 0}, {Partition, 2, 0}, {Shatter, 0, 0}, {Heal, 0, 0},
			{Round, 0, 0}, {Elapse, 0, 0}}), 9, 12},
	{"quorum is rebuilt while the network changes", []Event{{Shatter, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}},
		join(each(3, Regroup), []Event{{Partition, 1, 0}, {Partition, 4, 0}, {Heal, 0, 0}, {Round, 0, 0},
			{KillServer, 0, 0}}), 11, 16},
	{"two operators restart", []Event{{Round, 0, 0}, {LookAround, 1, 0}, {Configure, 0, 0}, {Round, 0, 0}},
		join(each(2, LookAround, Reconcile), []Event{{Elapse, 0, 0}, {Deliver, 0, 0}, {Duplicate, 0, 0}, {Deliver, 1, 0},
			{KillServer, 1, 0}, {Configure, 0, 0}}), 9, 12},
	{"restarts and primaries are asked for, with an operator that dies", []Event{{Round, 0, 0}, {LookAround, 1, 0},
		{AskRestart, 6, 0}, {Round, 0, 0}},
		join(each(2, LookAround, Reconcile), []Event{{Elapse, 0, 0}, {Deliver, 0, 0}, {Promote, 2, 0}, {AskRestart, 1, 0},
			{KillServer, 1, 0}, {CrashBeforeStatus, 0, 0}}), 8, 11},
	{"hibernated, and not, and again", []Event{{Round, 0, 0}, {Hibernate, 0, 0}, {Round, 0, 0}},
		[]Event{{Hibernate, 0, 0}, {Round, 0, 0}, {Elapse, 0, 0}, {LookAround, 1, 0}, {Reconcile, 1, 0}, {Deliver, 0, 0},
			{KillAgent, 2, 0}, {CrashBeforeStatus, 0, 0}}, 9, 13},
	{"a CA is replaced", []Event{{Round, 0, 0}, {LookAround, 1, 0}, {ReplaceCA, 2, 0}},
		join(each(3, Load), each(2, SeeSecrets, LookAround, Reconcile), []Event{{Elapse, 0, 0}, {KillAgent, 1, 0},
			{Kubelet, 1, 0}, {ReplaceCA, 0, 0}}), 8, 11},
	{"a switch, and back, with an operator that dies", []Event{{Round, 0, 0}, {SwitchTLS, 0, 0}, {Round, 0, 0}},
		[]Event{{SwitchTLS, 0, 0}, {Round, 0, 0}, {Elapse, 0, 0}, {LookAround, 1, 0}, {Reconcile, 1, 0}, {Deliver, 0, 0},
			{KillAgent, 2, 0}, {CrashBeforeStatus, 0, 0}}, 9, 13},
	{"a switch by re-bootstrap, and back", []Event{{Round, 0, 0}, {SwitchTLS, 0, 1}, {Round, 0, 0}},
		[]Event{{SwitchTLS, 0, 1}, {Round, 0, 0}, {Elapse, 0, 0}, {KillAgent, 0, 0}, {KillServer, 2, 0}, {Deliver, 0, 0},
			{CrashBeforeStatus, 0, 0}, {LoseStatus, 0, 0}}, 9, 13},
	{"members that leave, and are wanted again", []Event{{Round, 0, 0}, {Write, 2, 0}, {Scale, 1, 0}, {Round, 0, 0}},
		[]Event{{Scale, 0, 0}, {Scale, 2, 0}, {Round, 0, 0}, {Elapse, 0, 0}, {LookAround, 1, 0}, {Reconcile, 1, 0},
			{Write, 2, 0}, {KillAll, 0, 0}, {KillServer, 1, 0}, {CrashBeforeStatus, 0, 0}}, 7, 11},
	{"disks and approvals", []Event{{Round, 0, 0}, {Write, 2, 0}, {KillAll, 0, 0}},
		[]Event{{Round, 0, 0}, {Wipe, 2, 0}, {MachineAway, 2, 0}, {MachineBack, 2, 0}, {Approve, 0, 0}, {Minute, 0, 0},
			{Write,
				1, 0}, {KillAll, 0, 0}, {Swap, 1, 0}, {LoseStatus, 0, 0}}, 9, 13},
}

// TestExplore checks every state of small worlds of three members, up to a depth.
func TestExplore(t *testing.T) {
	t.Parallel()
	t.Logf("a state has %d bytes", unsafe.Sizeof(World{}))
	for _, th := range themes {
		for _, eager := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s (eager %t)", th.name, eager), func(t *testing.T) {
				t.Parallel()
				explore(t, th, eager)
			})
		}
	}
}

func explore(t *testing.T, th theme, eager bool) {
	began := time.Now()
	w := start(Schedule{Members: 3, Eager: eager})
	for _, e := range th.before {
		w.Step(e, plan.Plan)
	}
	x := &Explorer{Planner: plan.Plan, Events: th.events, Converge: 16, MaxStates: 1 << 20}
	depth := th.fast
	if testing.Short() {
		depth -= 3
	}
	if full() > 0 {
		depth = th.full
	}
	whole := x.Explore(w, depth)
	t.Logf("depth %d, %d states, %d steps, complete %t, %s", depth, x.States, x.Steps, whole,
		time.Since(began).Round(time.Millisecond))
	total.Add(int64(x.Steps))
	if x.Found != nil {
		s := Schedule{Members: 3, Eager: eager, Events: slices.Concat(th.before, x.Found)}
		t.Errorf("%s\n%s", x.Violation, s)
	}
}
