package atrest

import (
	"bytes"
	"encoding/base64"
	"maps"
	"strings"
	"testing"
)

// TestKeyFiles: what is made can be read, and whatever else there is, is refused with a reason that quotes nothing.
func TestKeyFiles(t *testing.T) {
	file, password, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	have, err := Fingerprints(file, password)
	if err != nil || len(have) != 1 || len(have["1"]) != 32 {
		t.Fatalf("%v, %v", have, err)
	}
	other, otherPassword, _ := Make()
	if again, _ := Fingerprints(other, otherPassword); maps.Equal(have, again) {
		t.Error("two new keys have one fingerprint")
	}
	sealed := func(plain string) []byte {
		out, err := seal([]byte(plain), password, []byte("12345678"))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	key := strings.Repeat("ab", 32)
	for name, c := range map[string]struct {
		file, password []byte
		want           string
	}{
		"no file":             {nil, password, "there is no keys.enc"},
		"no password":         {file, nil, "there is no password"},
		"a newline after it":  {file, append(bytes.Clone(password), '\n'), ""},
		"another password":    {file, otherPassword, "is not its password"},
		"not encrypted":       {[]byte("1;" + key), password, "is not encrypted"},
		"cut in a block":      {file[:len(file)-3], password, "truncated"},
		"cut at a block":      {file[:len(file)-16], password, "truncated"},
		"cut in the head":     {file[:12], password, "truncated"},
		"without key 1":       {sealed("2;" + key), password, "no key 1"},
		"comments":            {sealed("# mine\n\n1;" + key + "\n"), password, ""},
		"two of one number":   {sealed("1;" + key + "\n01;" + key), password, "two keys"},
		"a short key":         {sealed("1;abcd"), password, "line 1"},
		"no hexadecimal":      {sealed("1;" + strings.Repeat("xy", 32)), password, "line 1"},
		"a number too high":   {sealed("1;" + key + "\n256;" + key), password, "line 2"},
		"too long a password": {file, bytes.Repeat([]byte("a"), 300), "more than"},
	} {
		_, err := Fingerprints(c.file, c.password)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case err != nil && (strings.Contains(err.Error(), key) || strings.Contains(err.Error(), string(password))):
			t.Errorf("%s: the error quotes a key: %v", name, err)
		}
	}
}

// TestOpenSSLFile: a file that openssl has encrypted is read.
func TestOpenSSLFile(t *testing.T) {
	// printf '1;%064d\n' 7 | openssl enc -aes-256-cbc -md sha1 -pass pass:geheim -a -A
	file, err := base64.StdEncoding.DecodeString(opensslFile)
	if err != nil {
		t.Fatal(err)
	}
	if have, err := Fingerprints(file, []byte("geheim")); err != nil || have["1"] == "" {
		t.Errorf("%v, %v", have, err)
	}
}

// TestDiffer: a key with other bytes under the same number is named, and so is a missing one.
func TestDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		needed, have map[string]string
		want         string
	}{
		"same":    {map[string]string{"1": "a"}, map[string]string{"1": "a"}, ""},
		"more":    {map[string]string{"1": "a"}, map[string]string{"1": "a", "2": "b"}, ""},
		"missing": {map[string]string{"1": "a", "2": "b"}, map[string]string{"1": "a"}, "key 2 (fingerprint b) is missing"},
		"other":   {map[string]string{"1": "a"}, map[string]string{"1": "c"}, "key 1 has other bytes"},
	} {
		if got := Differ(c.needed, c.have); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

const opensslFile = "U2FsdGVkX19NqZyCc32Gb42g/X7hXvlyRfscyN48WuFT7+nUYiyEIDyQ4hSy/8sb" +
	"bVCkEjoND7+7eGvRaYmNollr3qg0j1NDCs2YiwSSkK+zbKQ2RL6AfLyBXys73muE"
