package scan

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// plainPage and encryptedPage are the content of the fourth page of a tablespace.
var (
	plainPage     = append(make([]byte, 24), "\x45\xbf"...)
	encryptedPage = func() []byte {
		p := make([]byte, 16384)
		for i := range p {
			p[i] = byte(i%251 + 1)
		}
		copy(p, []byte{0, 0, 0, 1, 0, 0, 0, 3})
		copy(p[24:], "\x45\xbf")
		copy(p[34:], []byte{0, 0, 0, 0})
		return p
	}()
)

// world is a Monitor with the data directory of a server.
type world struct {
	*testing.T
	m      *Monitor
	data   string
	events chan func()
}

func newWorld(t *testing.T, mode string) *world {
	t.Helper()
	w := &world{T: t, m: &Monitor{}, data: t.TempDir(), events: make(chan func(), 100)}
	w.m.Open(platform.Places{Data: w.data, Run: t.TempDir()}, func(event func()) { w.events <- event })
	w.m.Set(mode, true, 1)
	return w
}

// put writes a file; a tablespace has the given fourth page.
func (w *world) put(name string, content []byte) {
	w.Helper()
	path := filepath.Join(w.data, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		w.Fatal(err)
	}
}

func tablespaceWith(page []byte) []byte {
	content := make([]byte, 8*16384)
	content[25], content[57] = 8, 0x15
	copy(content[3*16384:], page)
	return content
}

// report handles the events that were posted, and returns what is reported of a mode.
func (w *world) report(mode string) agentapi.AtRestReport {
	w.Helper()
	for {
		select {
		case event := <-w.events:
			event()
			continue
		default:
		}
		r := agentapi.Report{AtRest: &agentapi.AtRestReport{Mode: mode}}
		w.m.Report(&r)
		return *r.AtRest
	}
}

// after lets the Monitor run for a while.
func (w *world) after(d time.Duration, mode string) agentapi.AtRestReport {
	w.Helper()
	time.Sleep(d)
	synctest.Wait()
	return w.report(mode)
}

// TestProofOfEarlierFilesDoesNotCount: a copy replaces the files of a volume before another server serves. From when
// the former is gone, nothing counts that was seen of them. What was seen of files that are still there counts again.
func TestProofOfEarlierFilesDoesNotCount(t *testing.T) {
	for name, c := range map[string]struct{ replaced, inPlace bool }{
		"a copy": {replaced: true}, "a copy in place": {replaced: true, inPlace: true}, "the same files": {},
	} {
		replaced := c.replaced
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const mode = agentapi.ModeEncrypts
				w := newWorld(t, mode)
				w.put("ibdata1", tablespaceWith(encryptedPage))
				w.put("app/t.ibd", tablespaceWith(encryptedPage))
				ctx, cancel := context.WithCancel(t.Context())
				defer func() { cancel(); synctest.Wait() }()
				go w.m.Run(ctx)
				proof := w.after(time.Minute, mode)
				if proof.FullAt.IsZero() || proof.ClearFiles != 0 {
					t.Fatalf("%+v", proof)
				}
				w.m.Set(mode, false, 2)
				if got := w.report(mode); !got.FullAt.IsZero() {
					t.Errorf("while no server serves: %+v", got)
				}
				if got := w.after(time.Minute, mode); !got.FullAt.IsZero() {
					t.Errorf("while the next server does not serve yet: %+v", got)
				}
				if c.inPlace { // as rsync does it
					if err := w.m.Forget(); err != nil {
						t.Fatal(err)
					}
					w.put("app/t.ibd", tablespaceWith(plainPage))
				} else if replaced {
					old := filepath.Join(t.TempDir(), "old")
					if err := os.Rename(filepath.Join(w.data, "ibdata1"), old); err != nil {
						t.Fatal(err)
					}
					w.put("ibdata1", tablespaceWith(encryptedPage))
					w.put("app/t.ibd", tablespaceWith(plainPage))
				}
				w.m.Set(mode, true, 2)
				if got := w.report(mode); !got.FullAt.IsZero() {
					t.Errorf("before the files are known: %+v", got)
				}
				if got := w.after(time.Second, mode); got.FullAt.IsZero() != replaced {
					t.Errorf("once the files are known: %+v", got)
				}
				got := w.after(30*time.Second, mode)
				if replaced && got.ClearFiles != 1 || !replaced && !got.FullAt.Equal(proof.FullAt) {
					t.Errorf("before %+v, now %+v", proof, got)
				}
			})
		})
	}
}

// TestForgottenProofDoesNotReturn: neither a check that ends late nor the next agent brings back what was seen of files
// that a copy has replaced. The next agent has what was seen of files that are still there.
func TestForgottenProofDoesNotReturn(t *testing.T) {
	const mode = agentapi.ModeEncrypts
	w := newWorld(t, mode)
	w.put("ibdata1", tablespaceWith(encryptedPage))
	of, proof := w.m.now(), kept{Of: identity(w.data), Result: agentapi.AtRestReport{Mode: mode, FullAt: time.Now()}}
	next := func() agentapi.AtRestReport {
		successor := &Monitor{}
		successor.Open(w.m.places, func(func()) {})
		return successor.confirm(server{mode: mode})
	}
	w.m.keep(of, proof)
	if next().FullAt.IsZero() {
		t.Error("a new agent knows nothing of files that are still there")
	}
	w.m.Set(mode, false, 0)
	if err := w.m.Forget(); err != nil {
		t.Fatal(err)
	}
	if w.m.keep(of, proof); !next().FullAt.IsZero() {
		t.Error("a late check brings it back")
	}
}

// TestCheckEndsWithItsServer: what a check sees of the files of one server does not count for the next one, which may
// have others.
func TestCheckEndsWithItsServer(t *testing.T) {
	const mode = agentapi.ModeEncrypts
	w := newWorld(t, mode)
	w.put("ibdata1", tablespaceWith(encryptedPage))
	w.put("app/m.MYD", []byte("rows"))
	post := w.m.post
	w.m.post = func(event func()) { // the check reports the file in clear
		w.m.Set(mode, true, 2)
		post(event)
	}
	now := w.m.now()
	if result, ended := w.m.checkUntilGone(t.Context(), now, agentapi.AtRestReport{Mode: mode}); !ended {
		t.Errorf("it has not ended: %+v", result)
	}
	if got := w.report(mode); got.ClearFiles != 0 {
		t.Errorf("%+v", got)
	}
}

// TestFullCheckReportsWhatItFinds: what contradicts the proof before is reported while the other files are being read.
func TestFullCheckReportsWhatItFinds(t *testing.T) {
	for name, c := range map[string]struct {
		mode string
		file string
		data []byte
		want func(agentapi.AtRestReport) []string
	}{
		"in clear": {agentapi.ModeEncrypts, "app/t.ibd", tablespaceWith(plainPage),
			func(r agentapi.AtRestReport) []string { return r.Clear }},
		"encrypted": {agentapi.ModeHolds, "app/t.ibd", tablespaceWith(encryptedPage),
			func(r agentapi.AtRestReport) []string { return r.Encrypted }},
		"unknown": {agentapi.ModeEncrypts, "app/t.ibd", []byte(strings.Repeat("x", 16384)),
			func(r agentapi.AtRestReport) []string { return r.Unknown }},
		"unknown, of a server that writes in clear": {agentapi.ModeHolds, "app/t.MAI", []byte("x"),
			func(r agentapi.AtRestReport) []string { return r.Unknown }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c.mode)
				w.put(c.file, c.data)
				w.put("later.ibd", tablespaceWith(nil))
				proof := agentapi.AtRestReport{Mode: c.mode, Files: 2, FullAt: time.Now().Add(-fullEvery)}
				w.m.publish(w.m.now(), proof)
				w.m.check(t.Context(), w.m.now(), proof)
				got := w.report(c.mode)
				if named := c.want(got); len(named) != 1 || !strings.HasPrefix(named[0], c.file) ||
					!got.FullAt.Equal(proof.FullAt) {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// TestSampleIsReadDuringAFullCheck: a file that changes after its turn is found all the same, while a check of all
// pages takes hours.
func TestSampleIsReadDuringAFullCheck(t *testing.T) {
	w := newWorld(t, agentapi.ModeEncrypts)
	w.put("app/m.MYD", []byte("x"))
	before := agentapi.AtRestReport{Mode: agentapi.ModeEncrypts, Files: 1, FullAt: time.Now()}
	w.m.progress(t.Context(), w.m.now(), before, seen{files: 1})
	if got := w.report(agentapi.ModeEncrypts); got.ClearFiles != 1 || got.SampledAt.IsZero() {
		t.Errorf("%+v", got)
	}
}

// TestUnjudgedFiles: a file that does not look like what it is called is neither encrypted nor in clear, and names
// itself. One of zeros has nothing in it.
func TestUnjudgedFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wide := append([]byte("\xfe\xfe\x09\x00\x00\x00\x40\x00"), make([]byte, 0x3ff0)...) // it ends before its 16 KiB
		for _, mode := range []string{agentapi.ModeEncrypts, agentapi.ModeHolds} {
			w := newWorld(t, mode)
			w.put("app/zeros.ibd", make([]byte, 4*16384))
			w.put("app/empty.MAD", nil)
			w.put("binlog.000002", []byte("\xfebin")) // just begun
			want := map[string][]byte{
				"app/damaged.ibd": []byte(strings.Repeat("x", 16384)), "app/late.ibd": append(make([]byte, 3*16384), "rows"...),
				"app/short.ibd": tablespaceWith(nil)[:100], "undo001": []byte(strings.Repeat("x", 16384)),
				"app/wide.MAI": wide, "app/wide.MAD": []byte("rows"), "app/alone.MAD": []byte("rows"),
				"binlog.000001": append([]byte("\xfebin"), strings.Repeat("x", 1000)...),
			}
			for name, content := range want {
				w.put(name, content)
			}
			got := w.m.check(t.Context(), w.m.now(), agentapi.AtRestReport{Mode: mode})
			if got.UnknownFiles != int64(len(want)) || got.ClearFiles+got.EncryptedFiles != 0 || got.Files != int64(len(want)) {
				t.Errorf("%s: %+v", mode, got)
			}
			for name := range want {
				if !slices.ContainsFunc(got.Unknown, func(s string) bool { return strings.HasPrefix(s, name+": ") }) {
					t.Errorf("%s: %s is not named: %v", mode, name, got.Unknown)
				}
			}
			if !w.m.left(got) {
				t.Errorf("%s: they are not checked again before a day is over", mode)
			}
		}
	})
}
