package binlog

import (
	"bytes"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

// FuzzEvents: whatever a binary log holds is grouped, or refused.
func FuzzEvents(f *testing.F) {
	whole := bytes.Join([][]byte{binlogtest.FormatDescription(), binlogtest.Begin(1, 2, 3, 4, 0),
		binlogtest.Change(4, 7, 1, "row"),
		binlogtest.Statement(4, "COMMIT"), binlogtest.Commit(4, 9)}, nil)
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Fuzz(func(t *testing.T, log []byte) {
		r, g, read := bytes.NewReader(log), &Grouper{}, 0
		for {
			e, err := Next(r, &Buffer{})
			if err != nil {
				break
			}
			if read += len(e); read > len(log) {
				t.Fatalf("%d bytes were read of %d", read, len(log))
			}
			_ = e.Check()
			if _, err := g.See(e); err != nil {
				break
			}
		}
	})
}

// FuzzHead: whatever stands at the beginning of a segment is read as it is written, or refused.
func FuzzHead(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"format":1,"number":1}` + "\nrest"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, size, err := Decode(text); err == nil && (size <= 0 || size > len(text)) {
			t.Errorf("the head of %q has %d bytes", text, size)
		}
	})
}
