package scan

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestFilesInClear: every kind of file that holds data and is in clear names itself; files without data do not count.
func TestFilesInClear(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tablespace := []byte(strings.Repeat("\x00", 4*16384))
	tablespace[25], tablespace[57] = 8, 0x15
	plain := slices.Clone(tablespace)
	copy(plain[3*16384+24:], "\x45\xbf")
	for name, content := range map[string]string{
		"app/empty.ibd": string(tablespace), "app/new.ibd": "", "app/t.frm": "x", "ib_buffer_pool": "1,2",
		"ib_logfile0": "\xf0\x9f\x97\x9d....", "grastate.dat": "# GALERA", "ddl_recovery.log": "x", "mysql/slow_log.CSV": "",
		"mariabackup.prepare.log": "x", "aria_log.00000001": "x",
	} {
		put(name, content)
	}
	read := func() seen {
		t.Helper()
		r := reader{dir: dir, full: true, most: agentapi.MaxClear}
		if err := r.read(context.Background()); err != nil {
			t.Fatal(err)
		}
		return r.out
	}
	if s := read(); s.clearFiles != 0 || s.cacheClear || s.files != 2 {
		t.Fatalf("%+v", s)
	}
	want := []string{"app/t.ibd", "app/m.MYD", "mysql/general_log.CSV", "ib_logfile1", "host-slow.log", "GRA_1_2.log"}
	for _, name := range want {
		put(name, "Phys"+strings.Repeat("x", 100))
	}
	put("app/t.ibd", string(plain))
	put("galera.cache", "x")
	s := read()
	if s.clearFiles != int64(len(want)) || !s.cacheClear {
		t.Errorf("%+v", s)
	}
	for _, name := range want {
		if !slices.ContainsFunc(s.clear, func(c string) bool { return strings.HasPrefix(c, name+": ") }) {
			t.Errorf("%s is not named: %v", name, s.clear)
		}
	}
}

// TestClearFilesAreReportedAtOnce: a file in clear is named while the others are still being read, and is not read to
// its end.
func TestClearFilesAreReportedAtOnce(t *testing.T) {
	dir := t.TempDir()
	content := make([]byte, 64*16384)
	content[25], content[57] = 8, 0x15
	for page := 1; page < 64; page++ {
		copy(content[page*16384+24:], "\x45\xbf")
	}
	if err := os.WriteFile(filepath.Join(dir, "t.ibd"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	var reports []seen
	r := reader{dir: dir, full: true, most: agentapi.MaxClear, progress: func(s seen) { reports = append(reports, s) }}
	if err := r.read(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(reports) == 0 || reports[len(reports)-1].clearFiles != 1 || r.out.pages > 1+clearPages {
		t.Errorf("%+v, %d pages", reports, r.out.pages)
	}
	if want := "t.ibd: at least 4 of its pages are in clear"; !slices.Contains(r.out.clear, want) {
		t.Errorf("%v", r.out.clear)
	}
}

// TestClearPagesAreReadOnce: what is to be in clear is read without a pause after each page, or decrypting a cluster of
// some GiB would wait for days.
func TestClearPagesAreReadOnce(t *testing.T) {
	dir := t.TempDir()
	content := make([]byte, 128*16384)
	content[25], content[57] = 8, 0x15
	for page := 1; page < 128; page++ {
		copy(content[page*16384+24:], "\x45\xbf")
	}
	if err := os.WriteFile(filepath.Join(dir, "t.ibd"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	const pauses = 127 * (again - 1) * againPause // 51 s
	ctx, cancel := context.WithTimeout(t.Context(), pauses/4)
	defer cancel()
	r := reader{dir: dir, full: true, clears: true, most: agentapi.MaxClear}
	if err := r.read(ctx); err != nil || r.out.clearFiles != 1 || r.out.encryptedFiles != 0 || r.out.pages != 128 {
		t.Errorf("%+v, %v", r.out, err)
	}
}

// TestIdentity: a database that takes the place of another one is another one.
func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ibdata1")
	write := func() string {
		t.Helper()
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		return identity(dir)
	}
	if identity(dir) != "" {
		t.Error("a directory without a database has an identity")
	}
	one := write()
	if one == "" || write() != one {
		t.Errorf("the identity %q changes with what is written", one)
	}
	old := filepath.Join(dir, "old") // kept, so that its number is not used again within one tick of the clock
	if err := os.Rename(file, old); err != nil {
		t.Fatal(err)
	}
	if write() == one {
		t.Errorf("another file has the identity %q", one)
	}
}

// TestEncryptedFiles: of a server that writes in clear each file names itself that still holds something encrypted.
// Copies of pages in the doublewrite buffer, and the temporary tablespace, do not count.
func TestEncryptedFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, content []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tablespace := func(pages int) []byte {
		content := make([]byte, pages*16384)
		content[25], content[57] = 8, 0x15
		return content
	}
	// page makes a page of the tablespace an encrypted one, of that number.
	page := func(content []byte, at int, number byte) {
		p := content[at*16384 : (at+1)*16384]
		for i := range p {
			p[i] = byte(i%251 + 1)
		}
		copy(p, []byte{0, 0, 0, 1, 0, 0, 0, number})
		copy(p[24:], "\x45\xbf")
		copy(p[34:], []byte{0, 0, 0, 0})
	}
	system, table, plain := tablespace(8), tablespace(8), tablespace(8)
	page(system, 6, 3) // the copy of another page
	copy(plain[3*16384+24:], "\x45\xbf")
	put("ibdata1", system)
	put("ibtmp1", []byte(strings.Repeat("x", 3*16384)))
	put("app/plain.ibd", plain)
	put("ib_logfile0", []byte("Phys...."))
	read := func() seen {
		t.Helper()
		r := reader{dir: dir, full: true, clears: true, most: agentapi.MaxClear}
		if err := r.read(context.Background()); err != nil {
			t.Fatal(err)
		}
		return r.out
	}
	if s := read(); s.encryptedFiles != 0 || s.clearFiles == 0 || len(s.clear) > 0 {
		t.Errorf("%+v", s)
	}
	page(table, 5, 5)
	page(system, 4, 4)
	put("app/t.ibd", table)
	put("ibdata1", system)
	put("ib_logfile0", []byte("\xf0\x9f\x97\x9d...."))
	if s := read(); s.encryptedFiles != 3 || !slices.Equal(slices.Sorted(slices.Values(s.encrypted)),
		[]string{"app/t.ibd", "ib_logfile0", "ibdata1"}) {
		t.Errorf("%+v", s)
	}
}

// TestPace: what changes is read again shortly, what does not ever less often, and what takes long less often.
func TestPace(t *testing.T) {
	var m Monitor
	now := time.Now()
	last := agentapi.AtRestReport{}
	for i, step := range []struct {
		clear int64
		took  time.Duration
		want  time.Duration
	}{
		{9, time.Second, 10 * time.Second}, {9, time.Second, 20 * time.Second}, {9, time.Second, 40 * time.Second},
		{8, time.Second, 10 * time.Second}, {8, time.Hour, 3 * time.Hour},
	} {
		next := agentapi.AtRestReport{FullAt: now, ClearFiles: step.clear}
		if m.pace(last, next, step.took); m.again != step.want {
			t.Errorf("check %d: again after %s, want %s", i, m.again, step.want)
		}
		last = next
	}
}

// TestFreedPages: a page that InnoDB has freed is still in clear, and named as such; encrypted, it needs no key.
func TestFreedPages(t *testing.T) {
	dir := t.TempDir()
	content := make([]byte, 8*16384)
	content[25], content[57] = 8, 0x15
	for _, free := range []int{3, 5} {
		content[150+24+free*2/8] |= 1 << (free * 2 % 8)
	}
	copy(content[3*16384+24:], "\x00\x02") // undo, in clear
	for i := range 16384 {
		content[5*16384+i] = byte(i%251 + 1)
	}
	copy(content[5*16384:], []byte{0, 0, 0, 1})
	copy(content[5*16384+24:], "\x45\xbf")
	content[4*16384+40] = 9 // reserved, with nothing in it
	if err := os.WriteFile(filepath.Join(dir, "undo001"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, clears := range []bool{false, true} {
		r := reader{dir: dir, full: true, clears: clears, most: agentapi.MaxClear}
		if err := r.read(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r.out.clearFiles != 1 || clears && r.out.encryptedFiles != 0 || (r.out.unusedPages == 0) != clears {
			t.Errorf("clears %v: %+v", clears, r.out)
		}
		if !clears && (len(r.out.clear) != 1 || !strings.HasPrefix(r.out.clear[0],
			"undo001: 1 of its pages are in clear: they are free")) {
			t.Errorf("%v", r.out.clear)
		}
	}
}

// TestCopiesOfPages: a copy in clear in the doublewrite buffer has rows on the disk, counts, and is named as what it
// is.
func TestCopiesOfPages(t *testing.T) {
	dir := t.TempDir()
	content := make([]byte, 8*16384)
	content[25], content[57] = 8, 0x15
	copy(content[6*16384:], []byte{0, 0, 0, 0, 0, 0, 0, 9})
	copy(content[6*16384+24:], "\x45\xbf")
	content[6*16384+37] = 5 // of another tablespace
	if err := os.WriteFile(filepath.Join(dir, "ibdata1"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	r := reader{dir: dir, full: true, most: agentapi.MaxClear}
	if err := r.read(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r.out.clearFiles != 1 || len(r.out.clear) != 1 ||
		!strings.HasPrefix(r.out.clear[0], "ibdata1: 1 of its pages are in clear: they are copies") {
		t.Errorf("%+v", r.out)
	}
}

// TestSystemTablespaceOfSeveralFiles: the second file has no header, and is judged by the first one's.
func TestSystemTablespaceOfSeveralFiles(t *testing.T) {
	const size = 16384
	first, encrypted := make([]byte, 4*size), make([]byte, size)
	first[25], first[57] = 8, 0x15
	first[150+24+5*2/8] |= 1 << (5 * 2 % 8) // page 5 is free
	for i := range encrypted {
		encrypted[i] = byte(i%251 + 1)
	}
	copy(encrypted, []byte{0, 0, 0, 1, 0, 0, 0, 4})
	copy(encrypted[24:], "\x45\xbf")
	copy(encrypted[34:], []byte{0, 0, 0, 0}) // of this tablespace
	inClear := slices.Clone(encrypted)
	copy(inClear, []byte{0, 0, 0, 0, 0, 0, 0, 4})
	for name, tc := range map[string]struct {
		pages  [][]byte
		clears bool
		want   seen
		named  string
	}{
		"encrypted": {[][]byte{encrypted}, false, seen{files: 2, encryptedFiles: 1}, ""},
		"in clear":  {[][]byte{inClear}, false, seen{files: 2, clearFiles: 1}, "1 of its pages are in clear"},
		"free": {[][]byte{encrypted, inClear}, false, seen{files: 2, encryptedFiles: 1, clearFiles: 1},
			"they are free"},
		"encrypted, to be in clear": {[][]byte{encrypted}, true, seen{files: 2, encryptedFiles: 1}, "ibdata2"},
		"in clear, to be in clear":  {[][]byte{inClear}, true, seen{files: 2, clearFiles: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range map[string][]byte{"ibdata1": first, "ibdata2": slices.Concat(tc.pages...)} {
				if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := reader{dir: dir, full: true, most: agentapi.MaxClear, clears: tc.clears}
			if err := r.read(context.Background()); err != nil {
				t.Fatal(err)
			}
			got := r.out
			if got.files != tc.want.files || got.encryptedFiles != tc.want.encryptedFiles || got.unknownFiles != 0 ||
				got.clearFiles != tc.want.clearFiles || !strings.Contains(fmt.Sprint(got.clear, got.encrypted), tc.named) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestEncryptedFilesAreReportedAtOnce: of a server that writes in clear, a file that holds something encrypted is named
// while the others are still being read.
func TestEncryptedFilesAreReportedAtOnce(t *testing.T) {
	dir := t.TempDir()
	zeros := make([]byte, 2*16384)
	zeros[25], zeros[57] = 8, 0x15
	for name, content := range map[string][]byte{"a.ibd": zeros, "ib_logfile0": []byte("\xf0\x9f\x97\x9d....")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var reports []seen
	r := reader{dir: dir, full: true, clears: true, most: 1, progress: func(s seen) { reports = append(reports, s) }}
	if err := r.read(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(reports) == 0 || !slices.Equal(reports[len(reports)-1].encrypted, []string{"ib_logfile0"}) {
		t.Errorf("%+v", reports)
	}
}
