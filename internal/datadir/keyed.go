package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/galera-operator/galera-operator/internal/atrest"
)

const (
	keysFile   = "keys.json"
	redoFile   = "ib_logfile0"
	systemFile = "ibdata1"
)

// dictionaryPage of the system tablespace is always in use, and is one of those that InnoDB encrypts: it cannot start
// without reading it.
const dictionaryPage = 7

// KeysError is why no server can be started on a data directory with the keys that there are.
type KeysError struct{ why string }

func (e *KeysError) Error() string { return e.why }

// CheckKeys returns a KeysError when a server with these keys, nil for none, cannot read the data directory: something
// is encrypted, and there are no keys, or other ones than the server before had. It starts nothing: such a server would
// fail in its own words, again and again, or serve without some of its tables.
func CheckKeys(dir string, m Markers, have map[string]string) error {
	needed, ever, err := m.keys(dir)
	if err != nil {
		return err
	}
	file, err := encryptedFile(dir)
	if err == nil && file == "" && ever && (have == nil || atrest.Differ(needed, have) != "") {
		file, err = encryptedTable(dir) // all are looked at only where data were encrypted once
	}
	if err != nil || file == "" {
		return err
	}
	if have == nil {
		return &KeysError{fmt.Sprintf("the data on the volume are encrypted (%s), and the node is given no keys for them: "+
			"nothing is started, and nothing is changed", file)}
	}
	if why := atrest.Differ(needed, have); why != "" {
		return &KeysError{fmt.Sprintf("the data on the volume are encrypted (%s), and not with the keys of the cluster: %s. "+
			"Nothing is started, and nothing is changed", file, why)}
	}
	return nil
}

// encryptedFile returns which of the files that InnoDB needs for its start is encrypted, "" when none is.
func encryptedFile(dir string) (string, error) {
	head, err := readAt(filepath.Join(dir, redoFile), 0, 4)
	if err != nil || atrest.RedoEncrypted(head) {
		return redoFile, err
	}
	if head, err = readAt(filepath.Join(dir, systemFile), 0, atrest.HeadSize); err != nil {
		return "", err
	}
	format, err := atrest.ParseInnoDB(head, true)
	if err != nil {
		return "", nil //nolint:nilerr // InnoDB finds better words for it
	}
	page, err := readAt(filepath.Join(dir, systemFile), int64(dictionaryPage*format.PageSize), format.PageSize)
	if err == nil && format.Judge(dictionaryPage, page) == atrest.Encrypted {
		return systemFile, nil
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

// keysNote is what is on record of the keys that the data may be encrypted with.
type keysNote struct {
	// Keys are the fingerprints of the keys that a server has read the data with, by number.
	Keys map[string]string `json:"keys,omitempty"`
	// Redo identifies the redo log that this server had. InnoDB makes another one whenever it begins or ceases to
	// encrypt it: data that were given other keys meanwhile, by a release that writes no note, have another one, too.
	Redo string `json:"redo,omitempty"`
}

// keys returns the fingerprints of the keys that the data were last read with, nil when that is not known, and whether
// a server with keys was ever about to be started on them. A note that is not of these data, or cannot be read, says no
// more than that.
func (m Markers) keys(dir string) (needed map[string]string, ever bool, err error) {
	data, err := os.ReadFile(filepath.Join(m.Dir, keysFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var note keysNote
	redo, err := redoIdentity(dir)
	if err != nil || json.Unmarshal(data, &note) != nil || note.Redo != redo {
		return nil, true, err
	}
	return note.Keys, true, nil
}

// redoIdentity identifies InnoDB's redo log by its head: where it begins, and what its key is made of.
func redoIdentity(dir string) (string, error) {
	const head = 512
	data, err := readAt(filepath.Join(dir, redoFile), 0, head)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// ExpectKeys notes that a server with keys is about to be started. With which ones is noted by SetKeys, once it has
// read the data with them: wrong ones on record would exclude the right ones.
func (m Markers) ExpectKeys(fingerprints map[string]string) error {
	path := filepath.Join(m.Dir, keysFile)
	if _, err := os.Lstat(path); err == nil || len(fingerprints) == 0 {
		return nil
	}
	return WriteFile(path, []byte("{}\n"), 0o600)
}

// SetKeys notes the fingerprints of the keys that a server has read the data with. Without keys the former ones stay on
// record: they count only while something is encrypted.
func (m Markers) SetKeys(dir string, fingerprints map[string]string) error {
	if len(fingerprints) == 0 {
		return nil
	}
	redo, err := redoIdentity(dir)
	if err != nil {
		return err
	}
	data, err := json.Marshal(keysNote{Keys: fingerprints, Redo: redo})
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(m.Dir, keysFile), data, 0o600)
}
