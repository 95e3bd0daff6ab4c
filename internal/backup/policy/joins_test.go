package policy

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestJoins: a follower goes on in another chain only where nothing can be missing between the two.
func TestJoins(t *testing.T) {
	t.Parallel()
	end := binlog.GTID{Server: 1, Seq: 7}
	for name, tc := range map[string]struct {
		edit func(before, h *binlog.Head)
		want bool
	}{
		"it begins where the one before ends": {func(_, _ *binlog.Head) {}, true},
		"it is no beginning":                  {func(_, h *binlog.Head) { h.Begins = false }, false},
		"a segment is missing":                {func(_, h *binlog.Head) { h.Number++ }, false},
		"the one before was exchanged":        {func(before, _ *binlog.Head) { before.Checksum = "other" }, false},
		"it cannot be read":                   {func(_, h *binlog.Head) { h.Unreadable = "cut off" }, false},
		"the one before cannot be read":       {func(before, _ *binlog.Head) { before.Unreadable = "cut off" }, false},
		"transactions are missing":            {func(_, h *binlog.Head) { h.Last.Seq++ }, false},
		"it begins earlier":                   {func(_, h *binlog.Head) { h.Last.Seq-- }, false},
		"both are empty": {func(before, h *binlog.Head) {
			before.Last, h.Last = binlog.GTID{}, binlog.GTID{}
		}, false},
		"another transaction of the number": {func(_, h *binlog.Head) { h.LastSum = "other" }, false},
		"its content is not known": {func(before, h *binlog.Head) {
			before.LastSum, h.LastSum = "", ""
		}, false},
		"another line of history":          {func(_, h *binlog.Head) { h.Lines[0].ID = "b" }, false},
		"another history":                  {func(_, h *binlog.Head) { h.Lines[0].History = "i" }, false},
		"its history is not known":         {func(before, h *binlog.Head) { before.Lines, h.Lines = nil, nil }, false},
		"another session, and all is held": {func(_, h *binlog.Head) { h.Session = "later" }, true},
		"another session, and not all is held": {func(_, h *binlog.Head) {
			h.Session, h.Seqno = "later", 71
		}, false},
		"not all is held":                   {func(_, h *binlog.Head) { h.Seqno = 71 }, false},
		"more than all is held":             {func(before, _ *binlog.Head) { before.Held = 71 }, true},
		"what is held is not known":         {func(before, _ *binlog.Head) { before.Held = 0 }, false},
		"where the nodes were is not known": {func(_, h *binlog.Head) { h.Seqno = 0 }, false},
		"what another server wrote": {func(_, h *binlog.Head) {
			h.Foreign = []binlog.GTID{{Domain: 4, Server: 2, Seq: 9}}
		}, false},
		"what another server wrote before": {func(before, h *binlog.Head) {
			before.Foreign = []binlog.GTID{{Domain: 4, Server: 2, Seq: 9}}
			h.Foreign = before.Foreign
		}, true},
	} {
		before := binlog.Head{Number: 4, Chain: 1, Last: end, LastSum: "sum", Checksum: "before", Held: 70,
			Lines: []binlog.Line{{History: "h", ID: "z"}, {History: "h", ID: "a"}}}
		h := binlog.Head{Number: 5, Chain: 5, Begins: true, Before: "before", Last: end, LastSum: "sum", Seqno: 70,
			Lines: []binlog.Line{{History: "h", ID: "a"}}}
		tc.edit(&before, &h)
		if got := Joins(before, h); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
