package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// errTaken is the error of a file that is not created because there is one.
var errTaken = errors.New("the file exists")

// isFiles reports whether a store is a volume.
func isFiles(b *Bucket) bool {
	var info os.FileInfo
	return b.As(&info)
}

// syncFile and linkFile are what the kernel is asked for. Tests replace them: no disk of theirs fails.
var (
	syncFile = (*os.File).Sync
	linkFile = os.Link
)

// file is what is written to a volume, under a name of its own until it is complete. The library renames it then.
type file struct {
	*os.File
	mode mode
}

// end makes sure that the content survives a loss of power before the file gets its name. A name is taken by a link,
// which fails where there is a file, anyone who has made it: the library would look first, and overwrite what another
// process has created since.
func (f file) end() error {
	if err := syncFile(f.File); err != nil {
		return err
	}
	if f.mode == replace {
		return nil
	}
	err := linkFile(f.Name(), f.name())
	switch {
	case errors.Is(err, fs.ErrExist):
		return errTaken
	case err != nil && f.mode == create && noLinks(err):
		if _, err = os.Lstat(f.name()); err == nil {
			return errTaken
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// name is the file's name once it is complete: the library appends a time and ".tmp".
func (f file) name() string {
	name := strings.TrimSuffix(f.Name(), ".tmp")
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// keep has the names of the file, and of the directories that were made for it, survive a loss of power.
func (f file) keep(key string) error {
	dir := filepath.Dir(f.name())
	for range strings.Count(key, "/") + 1 {
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		err = syncFile(d)
		_ = d.Close()
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
			// some file systems sync no directories
			return err
		}
		dir = filepath.Dir(dir)
	}
	return nil
}

// noLinks reports whether a file system has none.
func noLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK)
}
