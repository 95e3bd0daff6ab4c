package logs

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

func parse(line string) Entry {
	return Entry{Time: time.Unix(1800000000, 0).UTC(), Level: slog.LevelWarn, Subsystem: "WSREP", Thread: "7", Text: line}
}

// TestFormats: the same records as text and as JSON; the format may change at any time, also for loggers that were made
// before.
func TestFormats(t *testing.T) {
	var out bytes.Buffer
	s := New(&out)
	logger := s.Logger().With("member", "shop-0").WithGroup("g")
	logger.Info("one", "a", 1)
	s.Line("mariadbd", "a line", parse)
	s.SetFormat(JSON)
	logger.Warn("two", "a", 2)
	s.Line("mariadbd", "a \"line\" \xff", parse)
	s.Line("mariadbd", "no form", Whole)
	s.SetFormat(Text)
	logger.Info("three")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 6 || !strings.Contains(lines[0], "msg=one member=shop-0 g.a=1") || lines[1] != "a line" ||
		!strings.Contains(lines[5], "msg=three") {
		t.Fatalf("%q", lines)
	}
	for i, want := range map[int]map[string]any{
		2: {"level": "WARN", "msg": "two", "member": "shop-0", "g": map[string]any{"a": 2.0}},
		3: {"time": "2027-01-15T08:00:00Z", "level": "WARN", "msg": `a "line" \xff`, "source": "mariadbd",
			"subsystem": "WSREP", "thread": "7"},
		4: {"level": "INFO", "msg": "no form", "source": "mariadbd"},
	} {
		var got map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Errorf("%s: %v", lines[i], err)
			continue
		}
		if i != 3 {
			delete(got, "time")
		}
		if a, b := encode(got), encode(want); a != b {
			t.Errorf("%s, want %s", a, b)
		}
	}
}

func encode(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// TestWriter: what a program prints in pieces comes as lines, and the last one without an end.
func TestWriter(t *testing.T) {
	var out bytes.Buffer
	s := New(&out)
	w := s.Writer("sysbench")
	for _, piece := range []string{"a", "b\nc\r\n", "", "d", "\n", strings.Repeat("x", longest), "end"} {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "ab\nc\nd\n"+strings.Repeat("x", longest)+"\nend\n"; got != want {
		t.Errorf("%.60q", got)
	}
}

// TestWholeRecords: many at a time are not torn.
func TestWholeRecords(t *testing.T) {
	var out bytes.Buffer
	s := New(&out)
	s.SetFormat(JSON)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				s.Logger().Info(strings.Repeat("y", 1000))
				s.Line("mariadbd", strings.Repeat("z", 1000), Whole)
			}
		})
	}
	all.Wait()
	n := 0
	for line := range strings.Lines(out.String()) {
		n++
		if !json.Valid([]byte(line)) {
			t.Fatalf("torn: %.80s", line)
		}
	}
	if n != 1600 {
		t.Errorf("%d records", n)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Format{"": Text, "text": Text, "json": JSON} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	if _, err := Parse("console"); err == nil {
		t.Error("console is taken")
	}
}
