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

	"github.com/galera-operator/galera-operator/internal/atrest"
)

const (
	// samplePages is how many pages of a file are read each minute, sampleFiles of how many files.
	samplePages = 4
	sampleFiles = 256
	// rate bounds the check of all pages, in bytes per second.
	rate = 64 << 20
	// again is how often a page that looks clear is read again before it counts, after a pause: the server may have been
	// writing it.
	again      = 3
	againPause = 200 * time.Millisecond
	// clearPages is how many pages in clear of a file are counted: the rest of it need not be read.
	clearPages = 4
	// bareBinlog is more than what a binary log begins with, in bytes.
	bareBinlog = 512
)

var (
	// errEnough ends the reading of a file of which enough is known.
	errEnough = errors.New("enough of the file is known")
	// errUnjudged is returned for a file of a kind that holds data, but does not look like one.
	errUnjudged = errors.New("it is not known whether it is encrypted")
)

// seen is what was read of a data directory.
type seen struct {
	files, pages, clearFiles int64
	clear                    []string
	cacheClear               bool
	// encryptedFiles hold something encrypted; encrypted names some of them.
	encryptedFiles int64
	encrypted      []string
	// unknownFiles could not be judged; unknown names some of them.
	unknownFiles int64
	unknown      []string
	// unused are the files of InnoDB with pages in clear that are not in use; unusedPages counts these pages. used
	// reports whether a page that is in use is in clear in some file.
	unused      []string
	unusedPages int64
	used        bool
}

// reader reads files, all of them or a sample.
type reader struct {
	dir  string
	full bool
	// clears reports whether the server writes in clear: files that are encrypted are named then, and the others are not
	// read to the end of what is in clear.
	clears bool
	// overwritten reports whether the server was started after such pages were overwritten.
	overwritten bool
	// most is how many files are named.
	most int
	out  seen
	// progress, where it is set, receives what was seen so far: with every file in clear, and now and then.
	progress func(seen)
	reported time.Time
	// pageSize is that of the system tablespace, which the temporary one has too.
	pageSize int
}

// read checks every file of the directory.
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
		if err := r.judge(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// judge checks one file. What cannot be judged is checked again, because the server may be making the file, and
// counts then. A file that was deleted meanwhile does not count.
func (r *reader) judge(ctx context.Context, name string) error {
	for attempt := 1; ; attempt++ {
		err := r.file(ctx, name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil || errors.Is(err, fs.ErrNotExist):
			return nil
		case attempt == again || !errors.Is(err, errUnjudged):
			r.unjudged(name, err)
			return nil
		}
		if err := pause(ctx, againPause); err != nil {
			return err
		}
	}
}

// file checks one file.
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

// kind checks a file of a kind that holds data; others are left out.
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
		a, err := atrest.ParseAria(head)
		if err != nil {
			return fmt.Errorf("%w: %w", errUnjudged, err)
		}
		r.count(name, a.Encrypted, "the table is in clear: only tables with ROW_FORMAT=PAGE can be encrypted")
	case ext == ".MAD":
		return r.aria(ctx, name, f, size)
	case ext == ".MYD" || ext == ".CSV" || ext == ".ARZ":
		r.count(name, false, "tables of this engine cannot be encrypted: use InnoDB")
	case inRoot && (ext == ".log" || strings.HasPrefix(base, "GRA_")) && !strings.HasPrefix(base, "ddl_recovery") &&
		!strings.HasPrefix(base, "mariabackup.") && base != "tc.log":
		r.count(name, false, "MariaDB writes it in clear: statements or rows may stand in it")
	case inRoot && atrest.IsBinlog(head):
		encrypted, known := atrest.BinlogEncrypted(head)
		switch {
		case known:
			r.count(name, encrypted, "the binary log is in clear")
		case size > bareBinlog:
			return fmt.Errorf("%w: the first events of the binary log cannot be read", errUnjudged)
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
	if !r.clears {
		return
	}
	if len(r.out.encrypted) < r.most {
		r.out.encrypted = append(r.out.encrypted, name)
	}
	r.found()
}

func (r *reader) clear(name, why string) {
	r.out.clearFiles++
	if r.clears {
		return
	}
	if len(r.out.clear) < r.most {
		r.out.clear = append(r.out.clear, name+": "+why)
	}
	r.found()
}

// unjudged counts a file that may be in clear, and may be encrypted.
func (r *reader) unjudged(name string, why error) {
	r.out.files++
	r.out.unknownFiles++
	if len(r.out.unknown) < r.most {
		r.out.unknown = append(r.out.unknown, name+": "+why.Error())
	}
	r.found()
}

// found hands on at once what contradicts a proof.
func (r *reader) found() {
	r.reported = time.Time{}
	r.report()
}

// report hands on what was seen so far, at most every sampleEvery but for what contradicts a proof.
func (r *reader) report() {
	if now := time.Now(); r.progress != nil && now.Sub(r.reported) >= sampleEvery {
		r.reported = now
		so := r.out
		so.clear, so.encrypted, so.unknown = slices.Clone(so.clear), slices.Clone(so.encrypted), slices.Clone(so.unknown)
		r.progress(so)
	}
}
