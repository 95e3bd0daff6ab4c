package process

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	uuidA = "90e0b86f-e577-11f1-b9b1-fa90d5744545"
	uuidB = "11111111-2222-3333-4444-555555555555"
)

func at(seqno int64) galera.Position { return galera.Position{UUID: uuidA, Seqno: seqno} }

func TestJudgeRecovered(t *testing.T) {
	joined := func(from galera.Position, transfer bool) *datadir.Joining {
		return &datadir.Joining{From: from, SST: transfer}
	}
	none := galera.Position{}
	for name, c := range map[string]struct {
		pos    galera.Position
		uuid   string
		note   *datadir.Joining
		want   galera.Position
		marked bool
		reason string
	}{
		"crashed":                            {at(9), uuidA, nil, at(9), false, ""},
		"no grastate":                        {at(9), "", nil, at(9), false, ""},
		"marked by Galera":                   {at(9), galera.ZeroUUID, nil, at(9), true, ""},
		"a joiner that received nothing":     {at(9), galera.ZeroUUID, joined(at(9), false), at(9), false, ""},
		"a joiner that applied something":    {at(9), galera.ZeroUUID, joined(at(8), false), at(9), true, ""},
		"a joiner whose transfer had begun":  {at(9), galera.ZeroUUID, joined(at(9), true), at(9), true, ""},
		"a joiner of which nothing is known": {at(9), galera.ZeroUUID, joined(none, false), at(9), true, ""},
		"two histories":                      {at(9), uuidB, nil, none, false, agentapi.FailureRecovery},
		"no history": {galera.Position{UUID: galera.ZeroUUID, Seqno: -1}, uuidA, nil, none, false,
			agentapi.FailureRecovery},
		"no history at all": {galera.Position{UUID: galera.ZeroUUID, Seqno: -1}, "", nil, none, false,
			agentapi.FailureRecovery},
		"a history, no seqno": {at(-1), uuidA, nil, none, false, agentapi.FailureRecovery},
	} {
		got := judgeRecovered(Found{Data: galera.DataPresent}, c.pos, c.uuid, c.note)
		reason := ""
		if got.Trouble != nil {
			reason = got.Trouble.Reason
		}
		if got.Position != c.want || got.Marked != c.marked || reason != c.reason {
			t.Errorf("%s: %+v (%s)", name, got, reason)
		}
	}
}

func TestPositionArgs(t *testing.T) {
	for want, found := range map[string]Found{
		"":                                       {Position: galera.Position{}, StartPosition: "x", Data: galera.DataPresent},
		"--wsrep-start-position=" + uuidA + ":9": {Position: at(9), Data: galera.DataPresent},
		"--wsrep-start-position=" + uuidA + ":9,0-1-2": {Position: at(9), StartPosition: uuidA + ":9,0-1-2",
			Data: galera.DataPresent},
	} {
		if got := strings.Join(found.Args(true), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestArgsOfACopy: Galera asks for a full copy when it gets no position; a bootstrap gets it all the same.
func TestArgsOfACopy(t *testing.T) {
	for _, f := range []Found{{Marked: true}, {VotedOut: true}, {NeedsSST: true}, {Newer: "12"}} {
		f.Data, f.Position = galera.DataPresent, at(9)
		if f.Args(true) != nil || f.Args(false) == nil {
			t.Errorf("%+v: %v, %v", f, f.Args(true), f.Args(false))
		}
	}
}

func TestExamineLimit(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: heldTimeout, 1: heldTimeout, 2: 2 * heldTimeout,
		3: 4 * heldTimeout, 20: recoverTimeout} {
		if got := examineLimit(true, failures); got != want {
			t.Errorf("after %d failures: %s", failures, got)
		}
	}
	if examineLimit(false, 1) != recoverTimeout {
		t.Error("the end of this one is not waited for")
	}
}
