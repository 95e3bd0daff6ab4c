package binlog

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

func event(kind byte, second uint32, body ...byte) Event {
	return binlogtest.Event(kind, 1, second, body...)
}

func begin(seq uint64, flags byte) Event { return binlogtest.Begin(0, 1, seq, 100, flags) }

func statement(text string) Event { return binlogtest.Statement(100, text) }

func rows(table byte, flags byte, image string) Event {
	return binlogtest.Change(105, table, flags, image)
}

var format Event = binlogtest.FormatDescription()

// see gives the kinds of a stream's events, and the last transaction.
func see(t *testing.T, events ...Event) (kinds []int, last Transaction) {
	t.Helper()
	var g Grouper
	for _, e := range events {
		k, err := g.See(e)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, k)
	}
	return kinds, g.Done()
}

func TestGrouper(t *testing.T) {
	var xid Event = binlogtest.Commit(106, 9)
	for name, c := range map[string]struct {
		events []Event
		want   []int
	}{
		"a transaction": {[]Event{format, begin(1, 0), event(160, 105, 'x'), rows(7, 1, "a"), xid},
			[]int{Format, Begin, Inside, Inside, End}},
		"a DDL statement": {[]Event{format, begin(1, standalone), statement("CREATE TABLE t (i INT)")},
			[]int{Format, Begin, End}},
		"an engine without Xid": {[]Event{format, begin(1, 0), rows(7, 1, "a"), statement("COMMIT")},
			[]int{Format, Begin, Inside, End}},
		"a statement that is no end": {[]Event{format, begin(1, 0), statement("SAVEPOINT a"), xid},
			[]int{Format, Begin, Inside, End}},
		"what is outside": {[]Event{format, event(27, 0), event(163, 0), begin(1, 0), xid, event(161, 0)},
			[]int{Format, Outside, Outside, Begin, End, Outside}},
		"one that is cut off": {[]Event{format, begin(1, 0), format, begin(1, 0), xid},
			[]int{Format, Begin, Format, Begin, End}},
	} {
		kinds, _ := see(t, c.events...)
		if len(kinds) != len(c.want) {
			t.Fatalf("%s: %v", name, kinds)
		}
		for i := range kinds {
			if kinds[i] != c.want[i] {
				t.Errorf("%s: %v instead of %v", name, kinds, c.want)
				break
			}
		}
	}
}

// TestSum: two nodes give the same transaction other tables' numbers, times and flags; another content is another
// transaction.
func TestSum(t *testing.T) {
	var xid Event = binlogtest.Commit(106, 9)
	_, a := see(t, format, begin(1, 0), rows(7, 1, "a"), xid)
	_, b := see(t, format, begin(1, 0), rows(32, 5, "a"), xid)
	_, c := see(t, format, begin(1, 0), rows(7, 1, "b"), xid)
	_, d := see(t, format, begin(1, 0), rows(7, 1, "a"), binlogtest.Commit(106, 8))
	if a.Sum != b.Sum || a.Sum == c.Sum || a.Sum == d.Sum || a.GTID.Seq != 1 || a.GTID.Server != 1 ||
		a.Time.Unix() != 106 {
		t.Errorf("%+v %+v %+v %+v", a, b, c, d)
	}
	_, e := see(t, format, begin(2, standalone), statement("DROP TABLE a"))
	_, f := see(t, format, begin(2, standalone), statement("DROP TABLE b"))
	if e.Sum == f.Sum {
		t.Error("another statement is the same transaction")
	}
}

func TestNext(t *testing.T) {
	r := bytes.NewReader(append(append([]byte{}, format...), begin(1, 0)[:20]...))
	if e, err := Next(r, &Buffer{}); err != nil || !e.IsFormat() || !e.Sums() {
		t.Errorf("%v %v", e, err)
	}
	if _, err := Next(r, &Buffer{}); !errors.Is(err, errEvent) {
		t.Errorf("an event that is cut off: %v", err)
	}
	if _, err := Next(bytes.NewReader(nil), &Buffer{}); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
	if _, err := Next(bytes.NewReader(make([]byte, 40)), &Buffer{}); !errors.Is(err, errEvent) {
		t.Errorf("no event: %v", err)
	}
	if (Event{1, 2}).Check() == nil {
		t.Error("a fragment is an event")
	}
}

// TestMicroseconds: a statement whose microseconds the server has logged has them, and nothing else has: rows, other
// statements, and what is more than one statement. The binary log is of MariaDB 11.8.9.
func TestMicroseconds(t *testing.T) {
	log, err := os.ReadFile("testdata/statements-11.8.bin")
	if err != nil {
		t.Fatal(err)
	}
	have := map[uint64]string{}
	var g Grouper
	for r := bytes.NewReader(log[len(Magic):]); ; {
		var b Buffer
		e, err := Next(r, &b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kind, err := g.See(e)
		if err != nil {
			t.Fatal(err)
		}
		if d := g.Done(); kind == End {
			have[d.GTID.Seq] = d.Time.Format(time.RFC3339Nano)
			if d.Exact != (d.Time.Nanosecond() != 0) {
				t.Errorf("%d: %v, exact %v", d.GTID.Seq, d.Time, d.Exact)
			}
		}
		b.Close()
	}
	want := map[uint64]string{2: "2026-11-27T00:53:35Z", 3: "2026-11-27T00:53:35Z", // CREATE TABLE, INSERT
		4: "2026-11-27T00:53:35.353629Z", 5: "2026-11-27T00:53:35.364467Z", // CREATE TRIGGER
		6: "2026-11-27T00:53:35.405704Z",                     // ALTER TABLE
		7: "2026-11-27T00:53:35Z", 8: "2026-11-27T00:53:35Z"} // CREATE TABLE … SELECT, DROP TABLE
	if !maps.Equal(have, want) {
		t.Errorf("%v", have)
	}
}
