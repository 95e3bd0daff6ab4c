package serving

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

// kept is a connection that keeps what is sent.
type kept struct {
	net.Conn
	bytes.Buffer
}

func (k *kept) Read(p []byte) (int, error)         { return k.Buffer.Read(p) }
func (k *kept) Write(p []byte) (int, error)        { return k.Buffer.Write(p) }
func (k *kept) SetWriteDeadline(_ time.Time) error { return nil }

// TestEventsAreSentWithoutChecksums: the archive has events as the nodes have written them, by default with checksums,
// which would not be those of the headers that are sent.
func TestEventsAreSentWithoutChecksums(t *testing.T) {
	k := &kept{}
	s := &sender{packets: newPackets(k)}
	sent := func(e binlog.Event) binlog.Event {
		t.Helper()
		k.Reset()
		if err := s.event(e); err != nil {
			t.Fatal(err)
		}
		if err := s.out.Flush(); err != nil {
			t.Fatal(err)
		}
		return binlog.Event(k.Bytes()[5:]) // after the packet's head, and OK
	}
	commit := func(sum ...byte) binlog.Event {
		e := binlogtest.Commit(7, 3)
		e = append(e[:len(e)-sumSize], sum...)
		binary.LittleEndian.PutUint32(e[atSize:], uint32(len(e)))
		return e
	}
	format := binlog.Event(binlogtest.FormatDescription())
	for name, sums := range map[string]bool{"with": true, "without": false} {
		f := slices.Clone(format)
		if !sums {
			f[len(f)-sumSize-1] = 0
		}
		s.at = begin
		if got := sent(f); len(got) != len(f) || got.Check() != nil || got.Sums() || got.Starts() {
			t.Errorf("%s: the format is %v", name, got)
		}
		e := commit()
		if sums {
			e = commit(1, 2, 3, 4)
		}
		got := sent(e)
		if got.Check() != nil || !bytes.Equal(got[headerSize:], commit()[headerSize:]) ||
			s.at != uint32(begin+len(f)+len(got)) {
			t.Errorf("%s: %v of %v, at %d", name, got, e, s.at)
		}
	}
}
