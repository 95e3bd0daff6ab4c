package datadir

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// The same key, encrypted by openssl with one password and, as docs/encryption.md has it, with another one.
const (
	sealedOnce, passwordOnce   = "U2FsdGVkX183BemAZHckF0zKaWuRLLgJ4U5gROB3LiyIbvB3y88JBL2LNMnEr8PCT9foVjel0tB7RPbBwmq2HazHd5M74iH3TEtYApwr6xirCkoZltzT/+KKThZo3Tmg", "85ca0d171581ee04289945c1c9dc2f0c"
	sealedTwice, passwordTwice = "U2FsdGVkX19ZYX1Dt1nTggnRZdKXskIWQKXMmM69JKlJ294WO81uJ76wAmrujfbr4P0nVDlT8lSeyds5xyyWA1hzXiE2pfRUQgpd2mKtGBsuZ3QSYlucvAPTYPU0Sj7u", "19c0017c734ebf4c5e802d4da5d85a8e"
)

// TestPasswordOfTheKeysIsReplaced: keys that are encrypted with another password are the same keys, and mariadbd's copy
// is replaced, which its user alone can read. One of the two files alone is refused, and replaces nothing.
func TestPasswordOfTheKeysIsReplaced(t *testing.T) {
	p := platform.Places{Keys: t.TempDir(), Run: t.TempDir()}
	mount := func(sealed, password string) {
		t.Helper()
		file, err := base64.StdEncoding.DecodeString(sealed)
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{atrest.KeyFile: file, atrest.PasswordFile: []byte(password + "\n")} {
			if err := os.WriteFile(filepath.Join(p.Keys, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	own := func() string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(p.KeyFiles(), atrest.PasswordFile))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	mount(sealedOnce, passwordOnce)
	wanted, err := atrest.Fingerprints(must(base64.StdEncoding.DecodeString(sealedOnce)), []byte(passwordOnce))
	if err != nil {
		t.Fatal(err)
	}
	if err := InstallKeys(p, wanted); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{p.KeyFiles(): fs.ModeDir | 0o700,
		filepath.Join(p.KeyFiles(), atrest.KeyFile): 0o400, filepath.Join(p.KeyFiles(), atrest.PasswordFile): 0o400} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %s", path, info.Mode(), err, want)
		}
	}
	mount(sealedOnce, passwordTwice)
	if err := InstallKeys(p, wanted); err == nil || own() != passwordOnce+"\n" {
		t.Errorf("%v, and the password %q", err, own())
	}
	mount(sealedTwice, passwordTwice)
	if err := InstallKeys(p, wanted); err != nil || own() != passwordTwice+"\n" || !HasKeys(p, wanted) {
		t.Errorf("%v, and the password %q", err, own())
	}
}

func must(data []byte, _ error) []byte { return data }
