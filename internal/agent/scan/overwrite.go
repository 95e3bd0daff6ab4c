package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
)

// InnoDB encrypts the pages that it uses. What is in clear in a page that it has freed, or in a copy that the
// doublewrite buffer keeps, stays there until it happens to use that page again, and no statement has it do so for
// certain. While no server runs, these pages can be overwritten: InnoDB makes a free page without reading it, and reads
// a copy only to repair what a crash has torn. It overwrites pages with zeros itself where it scrubs those that it
// frees.

// Overwrite overwrites the pages in clear that the last server, which encrypted, did not use any more, as the last
// check of all pages has found them. That server must have been stopped in order, and no other one have been started.
// It returns how many pages it has overwritten.
func (m *Monitor) Overwrite(ctx context.Context) (pages int, err error) {
	k := m.found()
	if k.Result.Mode != agentapi.ModeEncrypts || len(k.Unused) == 0 || k.Of == "" || k.Of != identity(m.places.Data) {
		return 0, nil
	}
	pages, err = (&reader{dir: m.places.Data}).overwriteFiles(ctx, k.Unused)
	if ctx.Err() != nil {
		return pages, err
	}
	// All is read anew. What is left then, though InnoDB used nothing else in clear, another restart does not end.
	m.keep(m.now(), kept{Of: k.Of, Result: agentapi.AtRestReport{Mode: k.Result.Mode},
		Overwritten: k.Overwritten || k.Result.UnusedPages > 0})
	return pages, err
}

// Interrupted records that a server that was to stop has ended otherwise, so that nothing may be overwritten. Another
// restart would often end like that one: none is asked for any more. It reports whether one was.
func (m *Monitor) Interrupted() bool {
	k := m.found()
	if k.Result.UnusedPages == 0 {
		return false
	}
	k.Result.UnusedPages, k.Overwritten = 0, true
	m.keep(m.now(), k)
	return true
}

// overwriteFiles overwrites what files have in clear in pages that are not in use. Meanwhile no server can start: each
// locks the system tablespace, and no other file of InnoDB by default.
func (r *reader) overwriteFiles(ctx context.Context, names []string) (pages int, err error) {
	system, err := os.OpenFile(filepath.Join(r.dir, "ibdata1"), os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, system.Close()) }()
	if err := unix.FcntlFlock(system.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		return 0, fmt.Errorf("the data are in use: %w", err)
	}
	for _, name := range names {
		n, failed := r.overwrite(ctx, name)
		pages += n
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, failed))
		}
	}
	return pages, err
}

// overwrite overwrites what a file has in clear in pages that are not in use.
func (r *reader) overwrite(ctx context.Context, name string) (pages int, err error) {
	f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s, err := r.tablespaceOf(name, f)
	if err != nil {
		return 0, err
	}
	defer s.former.close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	unused, size := s.format.Unused(s.all), int64(s.format.PageSize)
	page, zeros := make([]byte, size), make([]byte, size)
	for at := int64(0); at+size <= info.Size() && err == nil; at += size {
		number := (s.before + at) / size
		if !unused.Free(number) && !unused.Buffers(number) {
			continue
		}
		if _, err = f.ReadAt(page, at); err == nil && unused.InClear(number, page) {
			_, err = f.WriteAt(zeros, at)
			pages++
		}
		if err == nil {
			err = ctx.Err()
		}
	}
	if pages == 0 {
		return 0, err
	}
	return pages, errors.Join(err, f.Sync())
}

// opened is a tablespace of which one file is read.
type opened struct {
	format atrest.InnoDB
	// former are the files before that one, all all up to it, and before is how many bytes come before it.
	former, all tablespace
	before      int64
}

// tablespaceOf reads the format of the tablespace that a file belongs to. The former files are to be closed.
func (r *reader) tablespaceOf(name string, f *os.File) (opened, error) {
	head := make([]byte, atrest.HeadSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return opened{}, err
	}
	s := opened{all: tablespace{f}}
	if s.format, err = atrest.ParseInnoDB(head[:n], isSystem(name)); err == nil {
		return s, nil
	}
	s.former, s.before = r.earlier(name)
	if s.format, err = s.former.format(); err != nil {
		s.former.close()
		return opened{}, fmt.Errorf("%w: %w", errUnjudged, err)
	}
	s.all = slices.Concat(s.former, tablespace{f})
	return s, nil
}
