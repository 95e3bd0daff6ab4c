package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// InstallKeys copies the mounted keys to where mariadbd reads them, when they have the fingerprints that are wanted.
func InstallKeys(p platform.Places, wanted map[string]string) error {
	file, password, err := readKeys(p.Keys, wanted)
	if err != nil {
		return err
	}
	if have, havePassword, err := readKeys(p.KeyFiles(), wanted); err == nil && string(have) == string(file) &&
		string(havePassword) == string(password) {
		return nil
	}
	next := p.KeyFiles() + ".new"
	if err := errors.Join(os.RemoveAll(next), os.Mkdir(next, 0o700)); err != nil {
		return err
	}
	for name, data := range map[string][]byte{atrest.KeyFile: file, atrest.PasswordFile: password} {
		if err := WriteFile(filepath.Join(next, name), data, 0o400); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(p.KeyFiles()); err != nil {
		return err
	}
	return os.Rename(next, p.KeyFiles())
}

// OwnKeys returns the fingerprints of the keys in mariadbd's own copy.
func OwnKeys(p platform.Places) (map[string]string, error) {
	file, err := readKeyFile(p.KeyFiles(), atrest.KeyFile)
	if err != nil {
		return nil, err
	}
	password, err := readKeyFile(p.KeyFiles(), atrest.PasswordFile)
	if err != nil {
		return nil, err
	}
	return atrest.Fingerprints(file, password)
}

// readKeys reads both files from a directory, and refuses keys other than those that are wanted.
func readKeys(dir string, wanted map[string]string) (file, password []byte, err error) {
	if file, err = readKeyFile(dir, atrest.KeyFile); err != nil {
		return nil, nil, err
	}
	if password, err = readKeyFile(dir, atrest.PasswordFile); err != nil {
		return nil, nil, err
	}
	have, err := atrest.Fingerprints(file, password)
	if err != nil {
		return nil, nil, fmt.Errorf("the encryption keys cannot be used: %w", err)
	}
	if why := atrest.Differ(wanted, have); why != "" {
		return nil, nil, fmt.Errorf("the encryption keys are not those of the data: %s", why)
	}
	return file, password, nil
}

func readKeyFile(dir, name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the encryption keys are missing: there is no %s in the Secret", name)
	}
	return data, err
}

// HasKeys reports whether mariadbd's own copy has the keys of these fingerprints.
func HasKeys(p platform.Places, wanted map[string]string) bool {
	_, _, err := readKeys(p.KeyFiles(), wanted)
	return err == nil
}
