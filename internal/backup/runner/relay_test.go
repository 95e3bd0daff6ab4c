package runner

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

var logFormat = binlogtest.FormatDescription()

// transaction n of a second.
func transaction(n uint64, second uint32) []byte {
	return append(binlogtest.Begin(0, 1, n, second, 0), binlogtest.Commit(second, n)...)
}

// segments are as they lie in a store: a chain that begins after a transaction.
type segments struct {
	key  *age.X25519Identity
	head binlog.Head
	all  [][]byte
}

func newSegments(t *testing.T, after uint64) *segments {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return &segments{key: key, head: binlog.Head{Format: binlog.FormatVersion, Number: 1, Chain: 1,
		Lines: []binlog.Line{{History: "h", ID: "a"}}, Last: binlog.GTID{Server: 1, Seq: after}}}
}

// add stores the transactions up to last.
func (s *segments) add(t *testing.T, last uint64, content ...[]byte) []byte {
	t.Helper()
	body := &bytes.Buffer{}
	sealed, err := age.Encrypt(body, s.key.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	packed, _ := zstd.NewWriter(sealed)
	_, _ = packed.Write(bytes.Join(content, nil))
	if err := errors.Join(packed.Close(), sealed.Close()); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body.Bytes())
	h := s.head
	h.PreviousSeqno, h.Seqno = int64(h.Last.Seq), int64(last)
	h.Number, h.Before, h.Previous, h.Last, h.Transactions, h.SHA256 = h.Number+1, h.Checksum, h.Last,
		binlog.GTID{Server: 1, Seq: last}, int(last-h.Last.Seq), hex.EncodeToString(sum[:])
	h.Times = binlog.Between(time.Unix(10, 0), time.Unix(20, 0), time.Time{})
	line, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s.head = h
	s.all = append(s.all, append(line, body.Bytes()...))
	return s.all[len(s.all)-1]
}

func (s *segments) relay(t *testing.T, base uint64, target binlog.Target) *relay {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), relayLog))
	if err != nil {
		t.Fatal(err)
	}
	from := binlog.GTID{Server: 1, Seq: base}
	return &relay{to: logFile{f}, cut: &policy.Cut{Base: from, Last: from, Target: target}}
}

var magic = []byte(binlog.Magic)

// TestRelay: the relay log has exactly the transactions after the base, up to the target, whatever is cut off, or lies
// beyond.
func TestRelay(t *testing.T) {
	half := binlogtest.Begin(0, 1, 6, 16, 0)
	s := newSegments(t, 2)
	s.add(t, 5, magic, logFormat, transaction(3, 13), transaction(4, 14), transaction(5, 15), half)
	s.add(t, 8, magic, logFormat, transaction(6, 16), transaction(7, 17), transaction(8, 12))
	for name, c := range map[string]struct {
		target binlog.Target
		want   [][]byte
		last   uint64
		late   int
	}{
		"latest": {binlog.Target{Latest: true}, [][]byte{logFormat, transaction(4, 14), transaction(5, 15), logFormat,
			transaction(6, 16), transaction(7, 17), transaction(8, 12)}, 8, 0},
		"a time": {binlog.Target{Time: time.Unix(17, 0)}, [][]byte{logFormat, transaction(4, 14), transaction(5, 15),
			logFormat, transaction(6, 16)}, 6, 1},
		"a GTID": {binlog.Target{GTID: binlog.GTID{Server: 1, Seq: 5}},
			[][]byte{logFormat, transaction(4, 14), transaction(5, 15), logFormat}, 5, 0},
		"the base's": {binlog.Target{Time: time.Unix(14, 0)}, [][]byte{logFormat}, 3, 1},
	} {
		w := s.relay(t, 3, c.target)
		for i, text := range s.all {
			if err := w.add(bytes.NewReader(text), uint64(i+2), []age.Identity{s.key}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		have, _ := os.ReadFile(w.to.(logFile).Name())
		if want := append([]byte(binlog.Magic), bytes.Join(c.want, nil)...); !bytes.Equal(have, want) ||
			w.cut.Last.Seq != c.last || w.cut.Late != c.late {
			t.Errorf("%s: %d bytes instead of %d, up to %s, %d late", name, len(have), len(want), w.cut.Last, w.cut.Late)
		}
		if err := w.cut.Done(s.head.Checksum); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRelayDamage: a segment that was altered, cut off or exchanged is an error, and reports which.
func TestRelayDamage(t *testing.T) {
	log := func(content ...[]byte) []byte {
		s := newSegments(t, 3)
		_ = s.add(t, 4, content...)
		return s.all[0]
	}
	s := newSegments(t, 3)
	good := s.add(t, 4, magic, logFormat, transaction(4, 14))
	further := s.add(t, 5, magic, logFormat, transaction(5, 15))
	altered := bytes.Clone(good)
	altered[len(altered)-3] ^= 1
	again := newSegments(t, 3)
	again.key = s.key
	exchanged := again.add(t, 4, magic, logFormat, transaction(4, 15))
	head, _, _ := bytes.Cut(good, []byte{'\n'})
	_, body, _ := bytes.Cut(exchanged, []byte{'\n'})
	with := func(content ...[]byte) []byte {
		x := newSegments(t, 3)
		x.key = s.key
		return x.add(t, 4, content...)
	}
	for name, c := range map[string]struct {
		segments [][]byte
		says     string
	}{
		"altered":                 {[][]byte{altered}, ""},
		"cut off":                 {[][]byte{good[:len(good)-5]}, ""},
		"for another key":         {[][]byte{log(magic, logFormat, transaction(4, 14))}, "private keys"},
		"empty":                   {[][]byte{nil}, "no head"},
		"no segment":              {[][]byte{[]byte("{}\nxxxx")}, "format"},
		"nothing":                 {[][]byte{with()}, "no binary log"},
		"no binary log":           {[][]byte{with([]byte("some text"))}, "no binary log"},
		"half an event":           {[][]byte{with(magic, logFormat, transaction(4, 14)[:30])}, "not an event"},
		"without its transaction": {[][]byte{with(magic, logFormat)}, "0 transactions"},
		"with one more": {[][]byte{with(magic, logFormat, transaction(4, 14), transaction(5, 15))},
			"2 transactions"},
		"with another one":          {[][]byte{with(magic, logFormat, transaction(5, 14))}, "are missing"},
		"the content of another":    {[][]byte{slices.Concat(head, []byte{'\n'}, body)}, "not what its head names"},
		"twice":                     {[][]byte{good, good}, "names itself"},
		"the second one first":      {[][]byte{further}, "names itself"},
		"after one of another time": {[][]byte{exchanged, further}, "exchanged"},
	} {
		w := s.relay(t, 3, binlog.Target{Latest: true})
		var err error
		for i, text := range c.segments {
			if err = w.add(bytes.NewReader(text), uint64(i+2), []age.Identity{s.key}); err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRelayBreaksOff: a store that breaks off within a segment, after transactions of it were taken, is asked for that
// segment again, and the relay log is the same. It is no damage.
func TestRelayBreaksOff(t *testing.T) {
	const size = 400 << 10
	image := make([]byte, size) // which no compression makes shorter
	_, _ = rand.NewChaCha8([32]byte{}).Read(image)
	s := newSegments(t, 5)
	s.add(t, 6, magic, logFormat, transaction(6, 16))
	s.add(t, 9, magic, logFormat, transaction(7, 17), binlogtest.Begin(0, 1, 8, 17, 0),
		binlogtest.Change(17, 7, 1, string(image)), binlogtest.Commit(17, 8), transaction(9, 18))
	f := storetest.NewFake(t, nil)
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	for i, text := range s.all {
		f.Put(path.Join(binlog.Dir(archiveOf), binlog.Key(uint64(i+2))), text) //nolint:gosec // two
	}
	relayed := func(breaks int) (*relay, []byte) {
		t.Helper()
		if breaks > 0 {
			f.BreakOff(path.Join(binlog.Dir(archiveOf), binlog.Key(3)), breaks)
		}
		w := s.relay(t, 5, binlog.Target{Latest: true})
		if err := w.all(t.Context(), bucket, binlog.Dir(archiveOf), task.Replay{From: 2, To: 3, Sum: s.head.Checksum},
			[]age.Identity{s.key}); err != nil {
			t.Fatalf("broken off after %d bytes: %v", breaks, err)
		}
		text, _ := os.ReadFile(w.to.(logFile).Name())
		return w, text
	}
	whole, want := relayed(0)
	w, have := relayed(len(s.all[1]) - size/4)
	if whole.count != 4 || w.count != 4 || w.size != int64(len(want)) || !bytes.Equal(have, want) {
		t.Errorf("%d transactions of %d bytes, %d bytes; not %d of %d", w.count, w.size, len(have), whole.count, len(want))
	}
}

func TestSettings(t *testing.T) {
	have := settings(map[string]string{"lower_case_table_names": "1", "log_bin": "x", "skip_slave_start": "1",
		"datadir": "/x", "innodb_buffer_pool_size": "2G", "wsrep_slave_threads": "4", "read_only": "ON"})
	if len(have) != 2 || have[0] != "--innodb-buffer-pool-size=2G" || have[1] != "--lower-case-table-names=1" {
		t.Errorf("%v", have)
	}
}

// TestLargeRow: a row that is larger than the memory of the pod is replayed.
func TestLargeRow(t *testing.T) {
	const size, most = 128 << 20, 16 << 20
	sink := &discard{}
	w := &relay{to: sink, cut: &policy.Cut{Target: binlog.Target{Latest: true}}, out: bufio.NewWriterSize(sink, 1<<20)}
	h := binlog.Head{Number: 1, Transactions: 1, Last: binlog.GTID{Server: 1, Seq: 7},
		Holes: []binlog.Hole{{Next: binlog.GTID{
			Server: 1, Seq: 7}}}}
	h.Previous = binlog.GTID{Server: 1, Seq: 6}
	if err := w.cut.Segment(h, 1); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := w.copy(io.MultiReader(strings.NewReader(binlog.Magic), bytes.NewReader(binlogtest.FormatDescription()),
		bytes.NewReader(binlogtest.Begin(0, 1, 7, 4, 0)), binlogtest.Large(4, size),
		bytes.NewReader(binlogtest.Commit(4, 9))))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err != nil || used > most || w.count != 1 || w.size < size {
		t.Errorf("%d transactions of %d bytes have taken %d MiB: %v", w.count, w.size, used>>20, err)
	}
}

// discard is a sink that keeps nothing.
type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }
func (*discard) Truncate(int64) error        { return nil }

// TestUnusable: a backup that does not lead to a target is not damaged, and neither is the archive.
func TestUnusable(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reason string
	}{
		"nothing":                       {nil, ""},
		"a segment that is another one": {errors.New("its content is not what its head names"), task.ReasonBackupDamaged},
		"numbers that differ": {policy.Unsuitable{Why: "the backup ends at 0-1-14"},
			task.ReasonPointInTimeUnavailable},
		"a key that does not open it": {fatal(task.ReasonWrongKey, errors.New("none")), task.ReasonWrongKey},
		"a store that does not go on": {because(task.ReasonStoreUnreachable, errors.New("reset")),
			task.ReasonStoreUnreachable},
	} {
		err := unusable("000000001", c.err)
		if reason, _ := explain(err); c.err == nil && err != nil || c.err != nil && reason != c.reason {
			t.Errorf("%s: %q, %v", name, reason, err)
		}
	}
}
