package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/galera-operator/galera-operator/internal/atrest"
)

const keysFile = "keys.json"

// dictionaryPage of the system tablespace is always in use, and is one of those that InnoDB encrypts: it cannot start
// without reading it.
const dictionaryPage = 7

// KeysError is why no server can be started on a data directory with the keys that there are.
type KeysError struct{ why string }

func (e *KeysError) Error() string { return e.why }

// CheckKeys returns a KeysError when a server with these keys, nil for none, cannot read the data directory: what it
// reads first is encrypted, and there are no keys, or other ones than the server before had. It starts nothing: such a
// server would fail in its own words, again and again.
func CheckKeys(dir string, m Markers, have map[string]string) error {
	file, err := encryptedFile(dir)
	if err != nil || file == "" {
		return err
	}
	if have == nil {
		return &KeysError{fmt.Sprintf("the data on the volume are encrypted (%s), and the node is given no keys for them: "+
			"nothing is started, and nothing is changed", file)}
	}
	needed, err := m.keys()
	if err != nil {
		return err
	}
	if why := atrest.Differ(needed, have); why != "" {
		return &KeysError{fmt.Sprintf("the data on the volume are encrypted (%s), and not with the keys of the cluster: %s. "+
			"Nothing is started, and nothing is changed", file, why)}
	}
	return nil
}

// encryptedFile returns which of the files that InnoDB needs for its start is encrypted, "" when none is.
func encryptedFile(dir string) (string, error) {
	const redo, system = "ib_logfile0", "ibdata1"
	head, err := readAt(filepath.Join(dir, redo), 0, 4)
	if err != nil || atrest.RedoEncrypted(head) {
		return redo, err
	}
	if head, err = readAt(filepath.Join(dir, system), 0, atrest.HeadSize); err != nil {
		return "", err
	}
	format, err := atrest.ParseInnoDB(head, true)
	if err != nil {
		return "", nil //nolint:nilerr // InnoDB finds better words for it
	}
	page, err := readAt(filepath.Join(dir, system), int64(dictionaryPage*format.PageSize), format.PageSize)
	if err == nil && format.Judge(dictionaryPage, page) == atrest.Encrypted {
		return system, nil
	}
	return "", err
}

// readAt reads a part of a file, as much as there is of it.
func readAt(path string, at int64, size int) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	out := make([]byte, size)
	n, err := f.ReadAt(out, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out[:n], err
}

// keys returns the fingerprints of the keys that the last server here had, nil when none had any, or none is known.
func (m Markers) keys() (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(m.Dir, keysFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out map[string]string
	err = json.Unmarshal(data, &out)
	return out, err
}

// ExpectKeys records the fingerprints of the keys that a server is about to be started with, unless the data are
// encrypted and it is not known with which keys: wrong ones on record would exclude the right ones. SetKeys records
// those once a server has read the data with them.
func (m Markers) ExpectKeys(dir string, fingerprints map[string]string) error {
	if recorded, err := m.keys(); err == nil && recorded == nil {
		if file, err := encryptedFile(dir); err != nil || file != "" {
			return nil //nolint:nilerr // what cannot be read may be encrypted
		}
	}
	return m.SetKeys(fingerprints)
}

// SetKeys records the fingerprints of the keys that a server has. Without keys the former ones stay on record: they
// count only while something is encrypted.
func (m Markers) SetKeys(fingerprints map[string]string) error {
	if len(fingerprints) == 0 {
		return nil
	}
	data, err := json.Marshal(fingerprints)
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(m.Dir, keysFile), data, 0o600)
}
