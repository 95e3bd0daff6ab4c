package datadir

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/galera-operator/galera-operator/internal/atrest"
)

// encryptedTable returns a table, or an undo tablespace, of which something is encrypted, "" when none is. InnoDB
// decrypts one after the other, and starts without keys once its redo log and its dictionary are in clear: a table that
// was not decrypted yet cannot be read then, and an undo tablespace ends the server. Of a file in clear only the head
// is read.
func encryptedTable(dir string) (found string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		encrypted := false
		switch inRoot := filepath.Base(name) == name; {
		case filepath.Ext(name) == ".ibd", inRoot && (name == systemFile || strings.HasPrefix(name, "undo")):
			encrypted, err = tablespaceEncrypted(path, inRoot && name == systemFile)
		case filepath.Ext(name) == ".MAI":
			var head []byte
			head, err = readAt(path, 0, atrest.HeadSize)
			aria, bad := atrest.ParseAria(head)
			encrypted = bad == nil && aria.Encrypted
		}
		if err == nil && encrypted {
			found, err = name, fs.SkipAll
		}
		return err
	})
	return found, err
}

// tablespaceEncrypted reports whether a page that is in use is encrypted. InnoDB decrypts from the first page on, so
// that the last ones show it first.
func tablespaceEncrypted(path string, system bool) (bool, error) {
	head, err := readAt(path, 0, atrest.HeadSize)
	if err != nil {
		return false, err
	}
	format, err := atrest.ParseInnoDB(head, system) // for another file InnoDB finds better words
	if err != nil || !format.HasScheme(head) {
		return false, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	page := make([]byte, format.PageSize)
	for number := info.Size()/int64(format.PageSize) - 1; number > 0; number-- {
		if _, err := f.ReadAt(page, number*int64(format.PageSize)); err != nil {
			return false, err
		}
		if format.Judge(number, page) == atrest.Encrypted && !format.IsCopy(number, page) && !format.IsFreeIn(f, number) {
			return true, nil
		}
	}
	return false, nil
}
