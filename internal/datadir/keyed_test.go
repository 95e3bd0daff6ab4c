package datadir

import (
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckKeys: a server is not started on what it cannot read. Data in clear need no keys, whichever were used
// before.
func TestCheckKeys(t *testing.T) {
	const pageSize = 16 << 10
	redo := func(encrypted bool) []byte {
		head := []byte{0, 'P', 'h', 'y', 's'}
		if encrypted {
			head[0] = 0x80
		}
		return head
	}
	system := func(version uint32) []byte {
		out := make([]byte, 12*pageSize)
		binary.BigEndian.PutUint16(out[24:], 8)
		binary.BigEndian.PutUint32(out[54:], 0x15) // full_crc32, pages of 16 KiB
		page := out[dictionaryPage*pageSize : (dictionaryPage+1)*pageSize]
		for i := range page {
			page[i] = byte(i*7 + 1)
		}
		binary.BigEndian.PutUint32(page, version)
		binary.BigEndian.PutUint16(page[24:], 6)
		return out
	}
	a, b := map[string]string{"1": "a"}, map[string]string{"1": "b", "2": "c"}
	for name, c := range map[string]struct {
		redo, system   []byte
		recorded, have map[string]string
		refused        string
	}{
		"no files":                        {nil, nil, nil, nil, ""},
		"in clear":                        {redo(false), system(0), nil, nil, ""},
		"in clear, formerly encrypted":    {redo(false), system(0), a, nil, ""},
		"in clear, and other keys now":    {redo(false), system(0), a, b, ""},
		"encrypted, the same keys":        {redo(true), system(1), a, a, ""},
		"encrypted, nothing recorded":     {redo(true), system(1), nil, a, ""},
		"encrypted, no keys":              {redo(true), system(1), a, nil, "ib_logfile0"},
		"the log alone, no keys":          {redo(true), system(0), nil, nil, "no keys"},
		"the system alone, no keys":       {redo(false), system(1), nil, nil, "ibdata1"},
		"encrypted, other keys":           {redo(true), system(1), a, b, "key 1 has other bytes"},
		"the system alone, other keys":    {redo(false), system(1), a, b, "key 1 has other bytes"},
		"encrypted, a key is missing":     {redo(true), system(1), b, map[string]string{"1": "b"}, "key 2"},
		"what begins with no tablespace":  {redo(false), make([]byte, pageSize), a, nil, ""},
		"a system tablespace that is cut": {redo(false), system(1)[:dictionaryPage*pageSize], a, nil, ""},
	} {
		dir, m := t.TempDir(), Markers{Dir: t.TempDir()}
		for file, data := range map[string][]byte{"ib_logfile0": c.redo, "ibdata1": c.system} {
			if data == nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.SetKeys(c.recorded); err != nil {
			t.Fatal(err)
		}
		err := CheckKeys(dir, m, c.have)
		var refused *KeysError
		if errors.As(err, &refused) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRecordedKeys: a server without keys does not make the node forget which ones the data may need.
func TestRecordedKeys(t *testing.T) {
	m := Markers{Dir: t.TempDir()}
	for _, next := range []map[string]string{{"1": "a"}, nil} {
		if err := m.SetKeys(next); err != nil {
			t.Fatal(err)
		}
		if got, err := m.keys(); err != nil || got["1"] != "a" {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// TestWrongKeysAreNotRecorded: keys that were never used on encrypted data are not taken for theirs, so that the right
// ones can be given afterwards.
func TestWrongKeysAreNotRecorded(t *testing.T) {
	right, wrong := map[string]string{"1": "a"}, map[string]string{"1": "b"}
	for name, c := range map[string]struct {
		redo           []byte
		recorded, want map[string]string
	}{
		"encrypted, nothing recorded":    {[]byte{0x80, 'P', 'h', 'y', 's'}, nil, nil},
		"encrypted, and replaced by SST": {[]byte{0x80, 'P', 'h', 'y', 's'}, right, wrong},
		"in clear, nothing recorded":     {[]byte{0, 'P', 'h', 'y', 's'}, nil, wrong},
		"in clear, formerly encrypted":   {[]byte{0, 'P', 'h', 'y', 's'}, right, wrong},
		"no files":                       {nil, nil, wrong},
	} {
		dir, m := t.TempDir(), Markers{Dir: t.TempDir()}
		if c.redo != nil {
			if err := os.WriteFile(filepath.Join(dir, "ib_logfile0"), c.redo, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.SetKeys(c.recorded); err != nil {
			t.Fatal(err)
		}
		if err := m.ExpectKeys(dir, wrong); err != nil {
			t.Fatal(err)
		}
		if got, err := m.keys(); err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if err := CheckKeys(dir, m, right); c.want == nil && err != nil {
			t.Errorf("%s: the right keys: %v", name, err)
		}
	}
}
