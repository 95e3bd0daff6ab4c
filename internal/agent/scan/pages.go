package scan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galera-operator/galera-operator/internal/atrest"
)

// isSystem reports whether a file is one of the system tablespace.
func isSystem(name string) bool { return strings.HasPrefix(name, "ibdata") }

func (r *reader) innodb(ctx context.Context, name string, f *os.File, size int64, head []byte) error {
	if _, err := atrest.ParseInnoDB(head, isSystem(name)); err != nil {
		if nothing, err := holdsNothing(ctx, f); nothing || err != nil {
			return err
		}
	}
	s, err := r.tablespaceOf(name, f)
	if err != nil {
		return err
	}
	defer s.former.close()
	format, space := s.format, s.all
	if isSystem(name) {
		r.pageSize = format.PageSize
	}
	return r.each(ctx, name, f, size, format.PageSize, func(number int64, page []byte) atrest.PageKind {
		number += s.before / int64(format.PageSize)
		v := format.Judge(number, page)
		switch {
		case v == atrest.Clear && format.IsFreeIn(space, number):
			return atrest.Freed
		case v == atrest.Clear && format.IsCopy(number, page):
			return atrest.Copied
		case r.clears && v == atrest.Encrypted && (format.IsCopy(number, page) || format.IsFreeIn(space, number)):
			return atrest.MetadataOnly // InnoDB does not read it: a copy only when its page is torn
		}
		return v
	})
}

// holdsNothing reports whether a file has zeros alone, as while a tablespace is being made.
func holdsNothing(ctx context.Context, f *os.File) (bool, error) {
	chunk := make([]byte, atrest.HeadSize)
	for at := int64(0); ; at += int64(len(chunk)) {
		n, err := f.ReadAt(chunk, at)
		if bytes.Count(chunk[:n], []byte{0}) < n {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return false, err
		}
	}
}

// aria checks the pages of a table. Whether the table is encrypted at all stands in its index.
func (r *reader) aria(ctx context.Context, name string, f *os.File, size int64) error {
	index, err := os.Open(filepath.Join(r.dir, strings.TrimSuffix(name, ".MAD")+".MAI"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(filepath.Join(r.dir, name)); err != nil {
			return err // the table was dropped
		}
		return fmt.Errorf("%w: its index file is missing", errUnjudged)
	}
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
	case err != nil:
		return fmt.Errorf("%w: its index file: %w", errUnjudged, err)
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
	total := size / int64(pageSize)
	if total == 0 {
		return fmt.Errorf("%w: it is shorter than a page", errUnjudged)
	}
	page, good := make([]byte, pageSize), false
	var bad, freed, copied int64
	check := func(number int64) error {
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
		case v == atrest.Copied:
			copied++
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
	err := read(ctx, total, int64(pageSize), check)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	r.out.files++
	if r.full {
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) //nolint:gosec // descriptors are small
	}
	if good {
		r.encrypted(name)
	}
	r.pagesInClear(name, err != nil, bad, freed, copied)
	return nil
}

// pagesInClear counts a file by its pages in clear: those in use, and those that are not.
func (r *reader) pagesInClear(name string, atLeast bool, bad, freed, copied int64) {
	if freed+copied > 0 && !r.clears {
		r.out.unused, r.out.unusedPages = append(r.out.unused, name), r.out.unusedPages+freed+copied
	}
	end := "a restart of the node overwrites them"
	if r.overwritten {
		end = "the last restart of the node has not overwritten them, its log explains why"
	}
	switch {
	case atLeast && bad > 0:
		r.out.used = true
		r.clear(name, fmt.Sprintf("at least %d of its pages are in clear", bad))
	case bad > 0:
		r.out.used = true
		r.clear(name, fmt.Sprintf("%d of its pages are in clear", bad+freed+copied))
	case copied > 0:
		r.clear(name, fmt.Sprintf("%d of its pages are in clear: they are copies of pages in InnoDB's doublewrite buffer, "+
			"and %s", freed+copied, end))
	case freed > 0:
		r.clear(name, fmt.Sprintf("%d of its pages are in clear: they are free, and %s", freed, end))
	}
}

// sample checks some pages.
func sample(_ context.Context, total, _ int64, check func(int64) error) error {
	for range min(samplePages, total) {
		if err := check(rand.Int64N(total)); err != nil {
			return err
		}
	}
	return nil
}

// whole checks all pages, at a bounded rate.
func whole(ctx context.Context, total, pageSize int64, check func(int64) error) error {
	const between = 1024
	began := time.Now()
	for number := range total {
		if err := check(number); err != nil {
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

// page reads and judges one page. One that looks clear where it should not is read again: the server may have been
// writing it.
func (r *reader) page(ctx context.Context, f *os.File, number int64, page []byte,
	judge func(int64, []byte) atrest.PageKind) (v atrest.PageKind, err error) {
	for attempt := range again {
		if _, err := f.ReadAt(page, number*int64(len(page))); err != nil {
			if errors.Is(err, io.EOF) {
				return atrest.Empty, nil // the file has become smaller
			}
			return v, err
		}
		if v = judge(number, page); v != atrest.Clear || r.clears || attempt == again-1 {
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
