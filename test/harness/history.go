package harness

import (
	"fmt"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Moment is what a cluster held after a transaction, or after a recovery that has lost some.
type Moment struct {
	// Begin and End enclose when it was committed.
	Begin, End time.Time
	// GTID of the transaction, "" when it is not known.
	GTID     string
	Contents Contents
}

// History is what a cluster held, in the order of time. Numbers of GTIDs repeat after a loss.
type History struct{ Moments []Moment }

func (h *History) add(m Moment) { h.Moments = append(h.Moments, m) }

// At returns the moments that the cluster may have been at just before a time: two if a transaction was in progress.
func (h *History) At(t time.Time) (out []int) {
	for i, m := range h.Moments {
		begun := i == 0 || m.Begin.Before(t)
		ended := i+1 < len(h.Moments) && h.Moments[i+1].End.Before(t)
		if begun && !ended {
			out = append(out, i)
		}
	}
	return out
}

// Of returns the moments with a GTID: one for each line of history that has it.
func (h *History) Of(gtid string) (out []int) {
	for i, m := range h.Moments {
		if m.GTID == gtid {
			out = append(out, i)
		}
	}
	return out
}

// Advances reports whether no earlier moment has the number of this one's GTID, or a later one: it is of one line of
// history only.
func (h *History) Advances(i int) bool {
	g, err := binlog.Parse(h.Moments[i].GTID)
	for _, m := range h.Moments[:i] {
		if before, wrong := binlog.Parse(m.GTID); wrong == nil && before.Seq >= g.Seq {
			return false
		}
	}
	return err == nil
}

// Compare returns an error unless contents are those of one of the moments, row by row.
func (h *History) Compare(have string, moments []int) error {
	for _, i := range moments {
		if h.Moments[i].Contents.String() == have {
			return nil
		}
	}
	if len(moments) == 0 {
		return fmt.Errorf("it holds data, and none were expected:\n%s", firstLine(have))
	}
	what := "no moment"
	for i, m := range h.Moments {
		if m.Contents.String() == have {
			what = fmt.Sprintf("the moment %d (%s)", i, m.GTID)
		}
	}
	return fmt.Errorf("it holds what %s had, and it must hold that of one of %v; the first row that differs:\n%s", what,
		moments, firstDifference(h.Moments[moments[0]].Contents.String(), have))
}

// firstDifference names the first row that differs.
func firstDifference(want, have string) string {
	w, h := strings.Split(want, "\n"), strings.Split(have, "\n")
	for i := range max(len(w), len(h)) {
		if i >= len(w) || i >= len(h) || w[i] != h[i] {
			return fmt.Sprintf("row %d: want %q, have %q", i+1, rowAt(w, i), rowAt(h, i))
		}
	}
	return "none"
}

func rowAt(rows []string, i int) string {
	if i < len(rows) {
		return rows[i]
	}
	return ""
}
