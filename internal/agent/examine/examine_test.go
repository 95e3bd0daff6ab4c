package examine

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	uuidA = "90e0b86f-e577-11f1-b9b1-fa90d5744545"
	uuidB = "11111111-2222-3333-4444-555555555555"
)

func at(seqno int64) galera.Position { return galera.Position{UUID: uuidA, Seqno: seqno} }

func TestJudgeRecovered(t *testing.T) {
	for name, c := range map[string]struct {
		pos      galera.Position
		marked   string
		want     galera.Position
		expelled galera.Position
		reason   string
	}{
		"crashed":             {at(9), uuidA, at(9), galera.Position{}, ""},
		"no grastate":         {at(9), "", at(9), galera.Position{}, ""},
		"marked by Galera":    {at(9), galera.ZeroUUID, galera.Position{}, at(9), agentapi.FailureInconsistent},
		"two histories":       {at(9), uuidB, galera.Position{}, galera.Position{}, agentapi.FailureRecovery},
		"no history":          {galera.Position{UUID: galera.ZeroUUID, Seqno: -1}, uuidA, galera.Position{}, galera.Position{}, agentapi.FailureRecovery},
		"no history at all":   {galera.Position{UUID: galera.ZeroUUID, Seqno: -1}, "", galera.Position{}, galera.Position{}, agentapi.FailureRecovery},
		"a history, no seqno": {at(-1), uuidA, galera.Position{}, galera.Position{}, agentapi.FailureRecovery},
	} {
		got := judgeRecovered(Found{Data: galera.DataPresent}, c.pos, c.marked)
		reason := ""
		if got.Trouble != nil {
			reason = got.Trouble.Reason
		}
		if got.Position != c.want || got.Expelled != c.expelled || reason != c.reason {
			t.Errorf("%s: %+v (%s)", name, got, reason)
		}
	}
}

func TestPositionArgs(t *testing.T) {
	for want, found := range map[string]Found{
		"":                                       {Position: galera.Position{}, Start: "x"},
		"--wsrep-start-position=" + uuidA + ":9": {Position: at(9)},
		"--wsrep-start-position=" + uuidA + ":9,0-1-2": {Position: at(9), Start: uuidA + ":9,0-1-2"},
	} {
		if got := strings.Join(found.Args(), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestExamineLimit(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: heldTime, 1: heldTime, 2: 2 * heldTime, 3: 4 * heldTime, 20: recoverTime} {
		if got := Limit(true, failures); got != want {
			t.Errorf("after %d failures: %s", failures, got)
		}
	}
	if Limit(false, 1) != recoverTime {
		t.Error("nobody waits for the end of this one")
	}
}
