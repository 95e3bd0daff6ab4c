package scan

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/atrest"
)

// tablespace is the files of a tablespace, one after another. The system tablespace may have several, ibdata1, ibdata2
// and so on: its header is in the first one alone, and its pages are numbered throughout.
type tablespace []*os.File

// earlier opens the files of the system tablespace before one of them, and returns their size; none for any other file.
func (r *reader) earlier(name string) (t tablespace, size int64) {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "ibdata"))
	for i := 1; err == nil && i < n; i++ {
		var f *os.File
		if f, err = os.Open(filepath.Join(r.dir, fmt.Sprintf("ibdata%d", i))); err != nil {
			break
		}
		t = append(t, f)
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			size += info.Size()
		}
	}
	if err != nil {
		t.close()
		return nil, 0
	}
	return t, size
}

// format is what the header in the first file has.
func (t tablespace) format() (atrest.InnoDB, error) {
	if len(t) == 0 {
		return atrest.InnoDB{}, atrest.ErrNoPage
	}
	head := make([]byte, atrest.HeadSize)
	n, err := t[0].ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return atrest.InnoDB{}, err
	}
	return atrest.ParseInnoDB(head[:n], true)
}

// ReadAt reads what lies at an offset of the whole tablespace. No page is in two files.
func (t tablespace) ReadAt(page []byte, at int64) (int, error) {
	for _, f := range t {
		info, err := f.Stat()
		if err != nil {
			return 0, err
		}
		if at < info.Size() {
			return f.ReadAt(page, at)
		}
		at -= info.Size()
	}
	return 0, io.EOF
}

func (t tablespace) close() {
	for _, f := range t {
		_ = f.Close()
	}
}
