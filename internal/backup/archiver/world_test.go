package archiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob/fileblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// interval of the archivers in these tests.
const interval = 2 * time.Second

// world is a cluster of three servers and a store, on a clock of its own.
type world struct {
	t       *testing.T
	a, b, c *server
	dir     string // the store
	key     *age.X25519Identity
	store   *archive
	session string
	ended   string // up to which the cluster has followed a source
	alone   bool   // the cluster has a alone
	*archiver
	stop func()
}

// play runs a script in a world where the transactions 1 to 5 are older than the archive, and an archiver is at work.
func play(t *testing.T, script func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, session: "s1", dir: t.TempDir() + "/store", a: newServer("a"), b: newServer("b"), c: newServer("c")}
		w.commit(1, 2, 3, 4, 5)
		if err := os.Mkdir(w.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		bucket, err := fileblob.OpenBucket(w.dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
		if err != nil {
			t.Fatal(err)
		}
		if w.key, err = age.GenerateX25519Identity(); err != nil {
			t.Fatal(err)
		}
		if w.store, err = newArchive(bucket, task.Archive{Dir: "demo/shop/1",
			Recipients: []string{w.key.Recipient().String()}}); err != nil {
			t.Fatal(err)
		}
		w.archiver, w.stop = w.start()
		defer func() { w.stop() }()
		w.pass(retryFirst + time.Millisecond) // it has begun
		script(w)
	})
}

// start has another archiver at work.
func (w *world) start() (a *archiver, stop func()) {
	a = &archiver{task: task.Archive{IntervalSeconds: int(interval / time.Second), Session: w.session, Ended: w.ended},
		store:   w.store,
		reports: &board{}, find: w.find, refused: map[string]string{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.run(ctx)
	}()
	return a, func() {
		cancel()
		<-done
	}
}

// latest is what is reported now.
func (b *board) latest() (now task.Archived) {
	b.set(func(a *task.Archived) { now = *a })
	return now
}

// hears has the clock of the API server be one of before.
func (b *board) hears(of asked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = of
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) servers() []*server { return []*server{w.a, w.b, w.c} }

// commit has transactions on every server.
func (w *world) commit(numbers ...uint64) {
	for _, n := range numbers {
		for _, s := range w.servers() {
			s.commit(n)
		}
	}
}

// foreign has a transaction of another server replicated to every server.
func (w *world) foreign(number uint64) {
	for _, s := range w.servers() {
		s.commitAs(binlog.GTID{Domain: 5, Server: 9, Seq: number}, "foreign")
	}
}

// find implements archiver.find.
func (w *world) find(context.Context) (synced []source, away map[string]string, err error) {
	away = map[string]string{}
	all := w.servers()
	if w.alone {
		all = all[:1]
	}
	for _, s := range all {
		if why := s.serves(); why != nil {
			away[s.host] = why.Error()
			continue
		}
		synced = append(synced, s)
	}
	if len(synced) == 0 {
		err = errors.New("no node serves")
	}
	return synced, away, err
}

// vanish takes the store away, until what it returns is called.
func (w *world) vanish() (comeBack func()) {
	check := func(err error) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	check(os.Rename(w.dir, w.dir+".away"))
	check(os.WriteFile(w.dir, nil, 0o600))
	return func() {
		check(os.Remove(w.dir))
		check(os.Rename(w.dir+".away", w.dir))
	}
}

// heads are what the store has.
func (w *world) heads() (out []binlog.Head) {
	w.t.Helper()
	all, err := w.store.list(context.Background(), w.store.dir+"/")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, n := range all {
		h, err := w.store.head(context.Background(), n)
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, h)
	}
	return out
}

// archived is what the store has, in short: @5 where it begins, 6-8 for a segment's first and last transaction.
func (w *world) archived() string {
	w.t.Helper()
	var out []string
	for i, h := range w.heads() {
		if h.Number != uint64(i+1) {
			w.t.Errorf("the segment %d has the number %d", i+1, h.Number)
		}
		if i > 0 && !h.Begins && h.Previous.Seq != w.heads()[i-1].Last.Seq {
			w.t.Errorf("the segment %d goes on after %s", h.Number, h.Previous)
		}
		switch {
		case h.Begins:
			out = append(out, fmt.Sprintf("@%d", h.Last.Seq))
			continue
		case h.Continues:
			out = append(out, ">"+h.Line().ID)
			continue
		}
		out = append(out, fmt.Sprintf("%d-%d", h.First.Seq, h.Last.Seq))
	}
	return strings.Join(out, " ")
}

func (w *world) expect(want string) {
	w.t.Helper()
	if have := w.archived(); have != want {
		w.t.Errorf("the store has %q instead of %q", have, want)
	}
}

// content is the binary log in a segment.
func (w *world) content(number uint64) []byte {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(w.store.key(number))))
	if err != nil {
		w.t.Fatal(err)
	}
	_, size, err := binlog.Decode(text)
	if err != nil {
		w.t.Fatal(err)
	}
	opened, err := age.Decrypt(bytes.NewReader(text[size:]), w.key)
	if err != nil {
		w.t.Fatal(err)
	}
	unpacked, err := zstd.NewReader(opened, zstd.WithDecoderConcurrency(1))
	if err != nil {
		w.t.Fatal(err)
	}
	defer unpacked.Close()
	out, err := io.ReadAll(unpacked)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// server is a node with its binary log.
type server struct {
	host string

	mu      sync.Mutex
	log     []logged
	format  []byte
	purged  uint64 // numbers before it are gone
	down    error
	silent  bool          // it gives no event
	slow    time.Duration // what an event needs to be read
	takes   time.Duration // until an event comes, meanwhile there is none
	file    int           // of the binary log that is written
	rotated map[int]bool  // files that do not begin with a start of the server
	lines   []binlog.Line
	view    string
	since   int64         // it has a binary log of its own since then
	views   int64         // how many seqnos the group's views have taken
	ahead   time.Duration // of its clock
	hangs   bool          // it answers no question
	applied string        // of a source
	changed chan struct{}
}

// logged is an event, and the last transaction that is complete with it.
type logged struct {
	event []byte
	gtid  binlog.GTID // its transaction's
	last  bool
	file  int
}

func newServer(host string) *server {
	return &server{host: host, format: binlogtest.FormatDescription(), changed: make(chan struct{}),
		lines: []binlog.Line{line("a", 0)}, since: 1, rotated: map[int]bool{}}
}

func line(id string, start int64) binlog.Line {
	return binlog.Line{History: "h", ID: id, Epoch: int64(id[0]), Start: start}
}

// restart has the server begin another file of its binary log.
func (s *server) restart() { s.do(func() { s.file++ }) }

// rotate has the server go on in another file of its binary log.
func (s *server) rotate() {
	s.do(func() {
		s.file++
		s.rotated[s.file] = true
	})
}

// recovered has all servers go on in another line of history.
func (w *world) recovered(lines ...binlog.Line) {
	for _, s := range w.servers() {
		s.do(func() { s.lines, s.view = lines, "after "+lines[0].ID })
	}
}

// do changes a server, and wakes those that follow it.
func (s *server) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// commit has a transaction.
func (s *server) commit(number uint64) { s.commitAs(binlog.GTID{Server: 1, Seq: number}, "row") }

// commitAs has one of another name or content. Without content it is not complete.
func (s *server) commitAs(g binlog.GTID, row string) { s.add(g, transaction(g, row)...) }

func transaction(g binlog.GTID, row string) [][]byte {
	out := [][]byte{binlogtest.Begin(g.Domain, g.Server, g.Seq, 100+uint32(g.Seq), 0)}
	if row == "" {
		return out
	}
	return append(out, binlogtest.Change(100, 7, 0, row), binlogtest.Commit(100+uint32(g.Seq), g.Seq))
}

// add has events of a transaction.
func (s *server) add(g binlog.GTID, events ...[]byte) {
	s.do(func() {
		for i, e := range events {
			s.log = append(s.log, logged{e, g, i > 0 && i == len(events)-1, s.file})
		}
	})
}

func (s *server) fail(why string) {
	s.do(func() {
		s.down = errors.New(why)
		if why == "" {
			s.down = nil
		}
	})
}

func (s *server) serves() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

func (s *server) name() string { return s.host }

func (s *server) close() {}

func (s *server) position(ctx context.Context) (at position, err error) {
	s.mu.Lock()
	hangs := s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return at, ctx.Err()
	}
	at.local = binlog.GTID{Domain: 1, Server: 1}
	all := map[binlog.GTID]string{}
	for _, l := range s.log {
		if l.last {
			all[binlog.GTID{Domain: l.gtid.Domain, Server: l.gtid.Server * min(l.gtid.Domain, 1)}] = l.gtid.String()
		}
	}
	at.sort(strings.Join(slices.Collect(maps.Values(all)), ","))
	at.applied = s.applied
	at.Lines, at.view, at.seqno = s.lines, s.view, int64(at.last.Seq)+s.views
	at.before = at.seqno
	if at.since = s.since; s.down == nil {
		at.ahead = s.ahead
	}
	return at, s.down
}

func (s *server) open(after []string) (events, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, _ := binlog.In(strings.Join(after, ","), 0)
	return &following{server: s, from: from}, nil
}
