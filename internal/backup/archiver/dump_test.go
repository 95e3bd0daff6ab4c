package archiver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/packet"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
	"github.com/galera-operator/galera-operator/internal/backup/dump"
)

// frame sends a payload as the protocol does: in packets of less than 16 MiB.
type frame struct {
	conn     net.Conn
	sequence byte
}

func (f *frame) send(t *testing.T, size int64, payload io.Reader) {
	const most = 1<<24 - 1
	for {
		n := min(size, most)
		head := binary.LittleEndian.AppendUint32(nil, uint32(n)) //nolint:gosec // 24 bits
		head[3] = f.sequence
		f.sequence++
		if _, err := f.conn.Write(head); err != nil {
			return // the other side has ended
		}
		if _, err := io.CopyN(f.conn, payload, n); err != nil {
			if !errors.Is(err, io.ErrClosedPipe) {
				t.Error(err)
			}
			return
		}
		if size -= n; n < most {
			return
		}
	}
}

func (f *frame) event(t *testing.T, e []byte) {
	f.send(t, int64(len(e))+1, io.MultiReader(bytes.NewReader([]byte{gomysql.OK_HEADER}), bytes.NewReader(e)))
}

// dumping is a dumper of a server that does something.
func dumping(t *testing.T, serve func(f *frame)) *dump.Log {
	t.Helper()
	here, there := net.Pipe()
	go func() {
		serve(&frame{conn: there})
		_ = there.Close()
	}()
	d := dump.New(packet.NewConn(here), func(p []byte) error { return errors.New(string(p[1:])) }, refused)
	t.Cleanup(func() { d.Close() })
	return d
}

// TestLargeTransaction: a row that is larger than the memory of the pod passes through it into a segment.
func TestLargeTransaction(t *testing.T) {
	const size, most = 128 << 20, 48 << 20
	d := dumping(t, func(f *frame) {
		f.event(t, binlogtest.FormatDescription())
		f.event(t, binlogtest.Begin(0, 1, 7, 4, 0))
		f.send(t, size+1, io.MultiReader(bytes.NewReader([]byte{gomysql.OK_HEADER}), binlogtest.Large(4, size)))
		f.event(t, binlogtest.Commit(4, 9))
	})
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSpool([]age.Recipient{key.Recipient()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var g binlog.Grouper
	for kind := binlog.Outside; kind != binlog.End; {
		e, err := d.Event(t.Context(), time.Minute)
		if err != nil || e == nil {
			t.Fatalf("%d bytes, %v", len(e), err)
		}
		if kind, err = g.See(e); err != nil {
			t.Fatal(err)
		}
		if err := s.write(e); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > most {
		t.Errorf("a transaction of %d MiB has taken %d MiB", size>>20, used>>20)
	}
	if s.bytes < size || g.Done().Seqno != 9 {
		t.Errorf("%d bytes, %+v", s.bytes, g.Done())
	}
}

// TestDumper: three answers of a server are distinguished: an error, the end, and nothing for a while.
func TestDumper(t *testing.T) {
	quiet := make(chan struct{})
	for name, c := range map[string]struct {
		serve func(f *frame)
		says  string
	}{
		"an error": {func(f *frame) {
			f.send(t, 6, strings.NewReader("\xffnoway"[:6]))
		}, "nowa"},
		"the end":    {func(f *frame) { f.send(t, 1, strings.NewReader("\xfe")) }, "has ended the binary log"},
		"it is gone": {func(*frame) {}, "has ended"},
		"nothing":    {func(*frame) { <-quiet }, ""},
	} {
		d := dumping(t, c.serve)
		wait := time.Minute
		if c.says == "" {
			wait = time.Millisecond
		}
		for range 2 { // it stays so
			e, err := d.Event(t.Context(), wait)
			if e != nil || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, %v", name, e, err)
			}
		}
	}
	close(quiet)
}
