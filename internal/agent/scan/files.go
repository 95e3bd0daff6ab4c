// Package scan is the agent's component that proves the encryption at rest: it reads the files of the data directory as
// anyone with the disk could, and reports what is in clear. It asks the server nothing.
package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galera-operator/galera-operator/internal/atrest"
)

const (
	// samplePages is how many pages of a file are read each minute, sampleFiles of how many files.
	samplePages = 4
	sampleFiles = 256
	// rate bounds the look at all pages, in bytes per second.
	rate = 64 << 20
	// again is how often a page that looks clear is read again before it counts, after a pause: the server may have been
	// writing it.
	again      = 3
	againPause = 200 * time.Millisecond
	// clearPages is how many pages in clear of a file are counted: the rest of it need not be read.
	clearPages = 4
)

// errEnough ends the reading of a file of which enough is known.
var errEnough = errors.New("enough of the file is known")

// seen is what was read of a data directory.
type seen struct {
	files, pages, clearFiles int64
	clear                    []string
	cacheClear               bool
	// encryptedFiles hold something encrypted; encrypted names some of them.
	encryptedFiles int64
	encrypted      []string
}

// reader reads files, all of them or a sample.
type reader struct {
	dir  string
	full bool
	// clears reports whether the server writes in clear: files that are encrypted are named then, and the others are not
	// read to the end of what is in clear.
	clears bool
	// most is how many files are named.
	most int
	out  seen
	// progress, where it is set, receives what was seen so far: with every file in clear, and now and then.
	progress func(seen)
	reported time.Time
	// pageSize is that of the system tablespace, which the temporary one has too.
	pageSize int
}

// read looks at every file of the directory.
func (r *reader) read(ctx context.Context) error {
	var names []string
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.Type().IsRegular():
			name, _ := filepath.Rel(r.dir, path)
			names = append(names, name)
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if !r.full && len(names) > sampleFiles {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:sampleFiles]
	}
	for _, name := range names {
		if err := r.file(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// file looks at one file.
func (r *reader) file(ctx context.Context, name string) error {
	base := filepath.Base(name)
	if base == "galera.cache" || strings.HasPrefix(base, "gcache.page.") {
		r.out.cacheClear = true
		return nil
	}
	f, err := os.Open(filepath.Join(r.dir, name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	head := make([]byte, atrest.HeadSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return r.kind(ctx, name, f, info.Size(), head[:n])
}

// kind looks at a file of a kind that holds data; others are left out.
func (r *reader) kind(ctx context.Context, name string, f *os.File, size int64, head []byte) error {
	base := filepath.Base(name)
	inRoot := base == name
	switch ext := filepath.Ext(base); {
	case inRoot && strings.HasPrefix(base, "ibtmp"):
		if r.clears {
			return nil // it is made anew by each server
		}
		if r.pageSize == 0 {
			r.pageSize = 16 << 10
		}
		format := atrest.InnoDB{PageSize: r.pageSize}
		return r.each(ctx, name, f, size, r.pageSize, func(_ int64, page []byte) atrest.PageKind {
			return format.JudgeTemporary(page)
		})
	case ext == ".ibd", inRoot && strings.HasPrefix(base, "undo"), inRoot && strings.HasPrefix(base, "ibdata"):
		return r.innodb(ctx, name, f, size, head)
	case inRoot && strings.HasPrefix(base, "ib_logfile"):
		r.count(name, atrest.RedoEncrypted(head), "the redo log is in clear")
	case ext == ".MAI":
		if a, err := atrest.ParseAria(head); err == nil {
			r.count(name, a.Encrypted, "the table is in clear: only tables with ROW_FORMAT=PAGE can be encrypted")
		}
	case ext == ".MAD":
		return r.aria(ctx, name, f, size)
	case ext == ".MYD" || ext == ".CSV" || ext == ".ARZ":
		r.count(name, false, "tables of this engine cannot be encrypted: use InnoDB")
	case inRoot && (ext == ".log" || strings.HasPrefix(base, "GRA_")) && !strings.HasPrefix(base, "ddl_recovery") &&
		!strings.HasPrefix(base, "mariabackup.") && base != "tc.log":
		r.count(name, false, "MariaDB writes it in clear: statements or rows may stand in it")
	case inRoot && atrest.IsBinlog(head):
		if encrypted, known := atrest.BinlogEncrypted(head); known {
			r.count(name, encrypted, "the binary log is in clear")
		}
	}
	return nil
}

// count counts a file that is judged by its beginning.
func (r *reader) count(name string, encrypted bool, why string) {
	r.out.files++
	if encrypted {
		r.encrypted(name)
	} else {
		r.clear(name, why)
	}
}

// encrypted counts a file that holds something encrypted.
func (r *reader) encrypted(name string) {
	r.out.encryptedFiles++
	if r.clears && len(r.out.encrypted) < r.most {
		r.out.encrypted = append(r.out.encrypted, name)
	}
}

func (r *reader) clear(name, why string) {
	r.out.clearFiles++
	if len(r.out.clear) < r.most && !r.clears {
		r.out.clear = append(r.out.clear, name+": "+why)
	}
	r.reported = time.Time{}
	r.report()
}

// report hands on what was seen so far, at most every sampleEvery but for files in clear.
func (r *reader) report() {
	if now := time.Now(); r.progress != nil && now.Sub(r.reported) >= sampleEvery {
		r.reported = now
		so := r.out
		so.clear = slices.Clone(so.clear)
		r.progress(so)
	}
}

func (r *reader) innodb(ctx context.Context, name string, f *os.File, size int64, head []byte) error {
	system := strings.HasPrefix(name, "ibdata")
	format, err := atrest.ParseInnoDB(head, system)
	if errors.Is(err, atrest.ErrNoPage) {
		return nil // it is being made
	}
	if err != nil {
		return err
	}
	if system {
		r.pageSize = format.PageSize
	}
	return r.each(ctx, name, f, size, format.PageSize, func(number int64, page []byte) atrest.PageKind {
		v := format.Judge(number, page)
		switch {
		case v == atrest.Clear && isFree(f, format, number):
			return atrest.Freed
		case r.clears && v == atrest.Encrypted && (format.IsCopy(number, page) || isFree(f, format, number)):
			return atrest.MetadataOnly // InnoDB does not read it: a copy only when its page is torn
		}
		return v
	})
}

// isFree reports whether InnoDB does not use a page.
func isFree(f *os.File, format atrest.InnoDB, number int64) bool {
	at, known := format.Descriptors(number)
	if !known || at == number {
		return false
	}
	descriptors := make([]byte, format.PageSize)
	_, err := f.ReadAt(descriptors, at*int64(format.PageSize))
	return err == nil && format.IsFree(number, descriptors)
}

// aria looks at the pages of a table. Whether the table is encrypted at all stands in its index.
func (r *reader) aria(ctx context.Context, name string, f *os.File, size int64) error {
	index, err := os.Open(filepath.Join(r.dir, strings.TrimSuffix(name, ".MAD")+".MAI"))
	if err != nil {
		return err
	}
	defer func() { _ = index.Close() }()
	head := make([]byte, atrest.HeadSize)
	n, err := index.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	a, err := atrest.ParseAria(head[:n])
	switch {
	case errors.Is(err, atrest.ErrNoAria):
		return nil // it is being made
	case err != nil:
		return err
	case !a.Encrypted:
		r.count(name, false, "the table is in clear: only tables with ROW_FORMAT=PAGE can be encrypted")
		return nil
	}
	if dir := filepath.Dir(name); dir != "mysql" && dir != "sys" && dir != "." && !r.clears {
		r.count(name, false, "its changes are in clear in aria_log: use InnoDB")
		return nil
	}
	if r.clears {
		r.count(name, true, "")
		return nil
	}
	return r.each(ctx, name, f, size, a.BlockSize, a.Judge)
}

// each reads pages of a file: all, or a sample.
func (r *reader) each(ctx context.Context, name string, f *os.File, size int64, pageSize int,
	judge func(int64, []byte) atrest.PageKind) error {
	r.out.files++
	total := size / int64(pageSize)
	page, bad, freed, good := make([]byte, pageSize), int64(0), int64(0), false
	look := func(number int64) error {
		v, err := r.page(ctx, f, number, page, judge)
		if err == nil && v != atrest.Empty {
			r.out.pages++
		}
		r.report()
		good = good || v == atrest.Encrypted
		switch {
		case err != nil:
		case v == atrest.Clear:
			bad++
		case v == atrest.Freed:
			freed++
		}
		if err == nil && (!r.clears && bad >= clearPages || r.clears && good) {
			return errEnough
		}
		return err
	}
	read := sample
	if r.full {
		read = whole
	}
	err := read(ctx, total, int64(pageSize), look)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if r.full {
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) //nolint:gosec // descriptors are small
	}
	if good {
		r.encrypted(name)
	}
	switch {
	case err != nil && bad > 0:
		r.clear(name, fmt.Sprintf("at least %d of its pages are in clear", bad))
	case bad > 0:
		r.clear(name, fmt.Sprintf("%d of its pages are in clear", bad+freed))
	case freed > 0:
		r.clear(name, fmt.Sprintf("%d of its pages are in clear: they are free, and InnoDB overwrites them when it uses them "+
			"again", freed))
	}
	return nil
}

// sample looks at some pages.
func sample(_ context.Context, total, _ int64, look func(int64) error) error {
	for range min(samplePages, total) {
		if err := look(rand.Int64N(total)); err != nil {
			return err
		}
	}
	return nil
}

// whole looks at all pages, at a bounded rate.
func whole(ctx context.Context, total, pageSize int64, look func(int64) error) error {
	const between = 1024
	began := time.Now()
	for number := range total {
		if err := look(number); err != nil {
			return err
		}
		if number%between != between-1 {
			continue
		}
		due := time.Duration(float64(number*pageSize) / rate * float64(time.Second))
		if err := pause(ctx, due-time.Since(began)); err != nil {
			return err
		}
	}
	return nil
}

// page reads and judges one page. One that looks clear is read again: the server may have been writing it.
func (r *reader) page(ctx context.Context, f *os.File, number int64, page []byte,
	judge func(int64, []byte) atrest.PageKind) (v atrest.PageKind, err error) {
	for attempt := range again {
		if _, err := f.ReadAt(page, number*int64(len(page))); err != nil {
			if errors.Is(err, io.EOF) {
				return atrest.Empty, nil // the file has become smaller
			}
			return v, err
		}
		if v = judge(number, page); v != atrest.Clear || attempt == again-1 {
			break
		}
		if err := pause(ctx, againPause); err != nil {
			return v, err
		}
	}
	return v, nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
