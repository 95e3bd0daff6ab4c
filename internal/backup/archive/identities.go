package archive

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// Identities returns the private keys, from every file that is mounted in a directory.
func Identities(dir string) ([]age.Identity, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []age.Identity
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		keys, err := age.ParseIdentities(bytes.NewReader(text))
		if err != nil {
			// Never the error itself: it may quote the key.
			return nil, fmt.Errorf("the private key in %q of the Secret is no age identity (AGE-SECRET-KEY-1…)", f.Name())
		}
		out = append(out, keys...)
	}
	if len(out) == 0 {
		return nil, errors.New("the Secret with the private keys is empty")
	}
	return out, nil
}
