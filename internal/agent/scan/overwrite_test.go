package scan

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const pageSize = 16384

// clearPage is a page in clear of that number.
func clearPage(number uint32) []byte {
	p := slices.Clone(encryptedPage)
	binary.BigEndian.PutUint64(p, uint64(number))
	return p
}

// space is a tablespace whose page 3 is free, and whose pages from 7 on have never been used.
func space(pages map[int][]byte) []byte {
	content := make([]byte, 200*pageSize)
	content[25], content[57], content[53] = 8, 0x15, 7
	content[150+24] = 1 << 6
	for number, page := range pages {
		copy(content[number*pageSize:], page)
	}
	return content
}

// system is a system tablespace with the doublewrite buffer from page 64 on.
func system(pages map[int][]byte) []byte {
	content := space(pages)
	content[53] = 200
	header := content[5*pageSize : 6*pageSize]
	header[25] = 7
	copy(header[pageSize-190:], []byte{0x1f, 0xff, 0xbd, 0x5f, 0, 0, 0, 64, 0, 0, 0, 128})
	return content
}

// TestOverwrite: what is in clear in pages that InnoDB does not use asks for a restart once nothing else is, and is
// overwritten by it. It asks for no second one. Nothing else changes.
func TestOverwrite(t *testing.T) {
	const mode = agentapi.ModeEncrypts
	foreign := clearPage(9) // a free page with another one's number is not known
	for name, c := range map[string]struct {
		undo      map[int][]byte
		before    func(*world)
		unused    int64
		overwrote int
		left      string // of the file, after the restart
	}{
		"free": {undo: map[int][]byte{2: encryptedPage, 3: clearPage(3), 8: clearPage(8), 9: encryptedPage}, unused: 3,
			overwrote: 3},
		"in use, too": {undo: map[int][]byte{2: clearPage(2), 3: clearPage(3)}, overwrote: 2,
			left: "undo001: 1 of its pages are in clear"},
		"not known": {undo: map[int][]byte{3: foreign, 8: clearPage(8)}, unused: 3, overwrote: 2,
			left: "they are free, and the last restart of the node has not overwritten them"},
		"another volume": {undo: map[int][]byte{3: clearPage(3)}, unused: 2, left: "they are free, and a restart",
			before: func(w *world) {
				w.put("moved", nil)
				content := system(map[int][]byte{70: clearPage(3)})
				if err := os.Rename(filepath.Join(w.data, "ibdata1"), filepath.Join(w.data, "moved")); err != nil {
					w.Fatal(err)
				}
				w.put("ibdata1", content)
			}},
		"an SST since": {undo: map[int][]byte{3: clearPage(3)}, unused: 2, left: "they are free, and a restart",
			before: func(w *world) {
				if err := w.m.Forget(); err != nil {
					w.Fatal(err)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, mode)
				w.put("ibdata1", system(map[int][]byte{70: clearPage(3), 71: encryptedPage}))
				w.put("undo001", space(c.undo))
				ctx, cancel := context.WithCancel(t.Context())
				defer func() { cancel(); synctest.Wait() }()
				go w.m.Run(ctx)
				if got := w.after(time.Minute, mode); got.ClearFiles != 2 || got.UnusedPages != c.unused {
					t.Errorf("at first: %+v", got)
				}
				w.m.Set(mode, false, 0)
				if c.before != nil {
					c.before(w)
				}
				overwrote, err := w.m.Overwrite(ctx)
				if err != nil || overwrote != c.overwrote {
					t.Errorf("overwrote %d, %v", overwrote, err)
				}
				w.unchanged(c.undo)
				w.m.Set(mode, true, 2)
				got := w.after(time.Minute, mode)
				if got.FullAt.IsZero() || (c.left == "") != (got.ClearFiles == 0) ||
					!strings.Contains(strings.Join(got.Clear, " "), c.left) {
					t.Errorf("after the restart: %+v", got)
				}
				if again := got.UnusedPages > 0; again != (c.before != nil) {
					t.Errorf("another restart: %t, %+v", again, got)
				}
			})
		})
	}
}

// TestStopThatFailed: after a server that was to stop has ended otherwise, no other restart is asked for, as that one
// may end so, too. The next stop in order still has the pages overwritten.
func TestStopThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mode = agentapi.ModeEncrypts
		w := newWorld(t, mode)
		w.put("ibdata1", system(map[int][]byte{70: clearPage(3)}))
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()
		go w.m.Run(ctx)
		if got := w.after(time.Minute, mode); got.UnusedPages != 1 {
			t.Errorf("at first: %+v", got)
		}
		w.m.Set(mode, false, 0)
		if !w.m.Interrupted() || w.m.Interrupted() {
			t.Error("whether a restart was asked for is not known")
		}
		w.m.Set(mode, true, 2)
		for _, after := range []time.Duration{time.Second, time.Minute} { // as it was kept, and read anew
			if got := w.after(after, mode); got.UnusedPages != 0 || got.ClearFiles != 1 {
				t.Errorf("after %s: %+v", after, got)
			}
		}
		w.m.Set(mode, false, 0)
		if pages, err := w.m.Overwrite(ctx); pages != 1 || err != nil {
			t.Errorf("overwrote %d, %v", pages, err)
		}
		w.m.Set(mode, true, 3)
		if got := w.after(time.Minute, mode); got.FullAt.IsZero() || got.ClearFiles != 0 {
			t.Errorf("in the end: %+v", got)
		}
	})
}

// unchanged: of the pages that were written to undo001, each is as it was, or overwritten where it was in clear.
func (w *world) unchanged(pages map[int][]byte) {
	w.Helper()
	content, err := os.ReadFile(filepath.Join(w.data, "undo001"))
	if err != nil {
		w.Fatal(err)
	}
	for number, page := range pages {
		now := content[number*pageSize : (number+1)*pageSize]
		inClear := page[3] == 0 && binary.BigEndian.Uint32(page[4:]) == uint32(number)
		if same := bytes.Equal(now, page); !same && (!inClear || !bytes.Equal(now, make([]byte, pageSize))) {
			w.Errorf("page %d was changed", number)
		}
		content = slices.Replace(content, number*pageSize, (number+1)*pageSize, make([]byte, pageSize)...)
	}
	if !bytes.Equal(content, space(nil)) {
		w.Error("another page was changed")
	}
}

// TestDataInUseAreNotOverwritten: a server has the system tablespace locked, and none of the other files.
func TestDataInUseAreNotOverwritten(t *testing.T) {
	w := newWorld(t, agentapi.ModeEncrypts)
	w.put("ibdata1", system(map[int][]byte{70: clearPage(3)}))
	w.put("undo001", space(map[int][]byte{3: clearPage(3)}))
	f, err := os.OpenFile(filepath.Join(w.data, "ibdata1"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil { // as InnoDB does
		t.Fatal(err)
	}
	r := reader{dir: w.data}
	if pages, err := r.overwriteFiles(t.Context(), []string{"ibdata1", "undo001"}); pages != 0 || err == nil {
		t.Errorf("%d, %v", pages, err)
	}
	content, err := os.ReadFile(filepath.Join(w.data, "undo001"))
	if err != nil || !bytes.Equal(content, space(map[int][]byte{3: clearPage(3)})) {
		t.Errorf("it was changed: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if pages, err := r.overwriteFiles(t.Context(), []string{"ibdata1", "undo001"}); pages != 2 || err != nil {
		t.Errorf("afterwards: %d, %v", pages, err)
	}
}
