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
	redo := redoHead
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
		if err := m.SetKeys(dir, c.recorded); err != nil {
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
	dir, m := t.TempDir(), Markers{Dir: t.TempDir()}
	for _, next := range []map[string]string{{"1": "a"}, nil} {
		if err := m.SetKeys(dir, next); err != nil {
			t.Fatal(err)
		}
		if got, ever, err := m.keys(dir); err != nil || !ever || got["1"] != "a" {
			t.Errorf("%v, %v, %v", got, ever, err)
		}
	}
}

// TestWrongKeysAreNotRecorded: keys of a server that was started, and has not read the data, are not taken for theirs,
// so that the right ones can be given afterwards.
func TestWrongKeysAreNotRecorded(t *testing.T) {
	right, wrong := map[string]string{"1": "a"}, map[string]string{"1": "b"}
	for name, recorded := range map[string]map[string]string{"nothing recorded": nil, "recorded": right} {
		dir, m := t.TempDir(), Markers{Dir: t.TempDir()}
		put(t, dir, redoFile, redoHead(true))
		if err := m.SetKeys(dir, recorded); err != nil {
			t.Fatal(err)
		}
		if err := m.ExpectKeys(wrong); err != nil {
			t.Fatal(err)
		}
		if got, ever, err := m.keys(dir); err != nil || !ever || !maps.Equal(got, recorded) {
			t.Errorf("%s: %v, %v, %v", name, got, ever, err)
		}
		if err := CheckKeys(dir, m, right); err != nil {
			t.Errorf("%s: the right keys: %v", name, err)
		}
	}
	m := Markers{Dir: t.TempDir()}
	if err := m.ExpectKeys(nil); err != nil {
		t.Fatal(err)
	}
	if _, ever, err := m.keys(t.TempDir()); ever || err != nil {
		t.Errorf("a server without keys counts as one that had some: %v", err)
	}
}

// TestNoteOfOtherData: a note counts for the data that it was written of. Data that were given other keys by a release
// that writes none have another redo log, and are not refused for ever. What cannot be read is no note.
func TestNoteOfOtherData(t *testing.T) {
	former, now := map[string]string{"1": "a"}, map[string]string{"1": "b"}
	again := append(redoHead(true), 1)
	for name, change := range map[string]func(dir string, m Markers){
		"other keys meanwhile":   func(dir string, _ Markers) { put(t, dir, redoFile, again) },
		"of another format":      func(_ string, m Markers) { put(t, m.Dir, keysFile, []byte(`{"1":"a"}`)) },
		"of another kind":        func(_ string, m Markers) { put(t, m.Dir, keysFile, []byte(`["a"]`)) },
		"torn":                   func(_ string, m Markers) { put(t, m.Dir, keysFile, []byte(`{"ke`)) },
		"a server was started":   func(_ string, m Markers) { put(t, m.Dir, keysFile, []byte("{}\n")) },
		"a log that was removed": func(dir string, _ Markers) { remove(t, dir, redoFile) },
	} {
		dir, m := t.TempDir(), Markers{Dir: t.TempDir()}
		put(t, dir, redoFile, redoHead(true))
		if err := m.SetKeys(dir, former); err != nil {
			t.Fatal(err)
		}
		if CheckKeys(dir, m, now) == nil {
			t.Errorf("%s: other keys are not refused", name)
		}
		change(dir, m)
		if err := CheckKeys(dir, m, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := m.SetKeys(dir, now); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, redoFile)); err == nil && CheckKeys(dir, m, former) == nil {
			t.Errorf("%s: the former keys are not refused afterwards", name)
		}
	}
}

// TestSingleEncryptedFiles: where keys were used once, a table that was not decrypted before the keys went is found.
// What InnoDB does not read, and a file without an encryption scheme, do not count. Where no keys were ever
// used no table is looked at.
func TestSingleEncryptedFiles(t *testing.T) {
	const pageSize, pages = 16 << 10, 12
	space := func(scheme byte, edit func(space, page []byte, number int)) []byte {
		out := make([]byte, pages*pageSize)
		binary.BigEndian.PutUint16(out[24:], 8)
		binary.BigEndian.PutUint32(out[54:], 0x15) // full_crc32, pages of 16 KiB
		copy(out[10428:], append([]byte("s\x0e\x0cREt"), scheme))
		for number := 1; number < pages; number++ {
			edit(out, out[number*pageSize:(number+1)*pageSize], number)
		}
		return out
	}
	encrypt := func(page []byte, number int) {
		for i := range page {
			page[i] = byte(i*7 + 1)
		}
		binary.BigEndian.PutUint32(page, 1)
		binary.BigEndian.PutUint32(page[4:], uint32(number)) //nolint:gosec // small
		binary.BigEndian.PutUint16(page[24:], 17855)
		binary.BigEndian.PutUint32(page[34:], 0)
	}
	only := func(encrypted int) func(_, page []byte, number int) {
		return func(_, page []byte, number int) {
			if number == encrypted {
				encrypt(page, number)
			}
		}
	}
	free := func(space, page []byte, number int) {
		only(3)(space, page, number)
		space[150+24] |= 1 << 6 // in the descriptor of the first extent
	}
	copied := func(space, page []byte, number int) {
		if only(3)(space, page, number); number == 3 {
			page[7] = 9
		}
	}
	aria := func(scheme byte) []byte {
		head := append([]byte{0xfe, 0xfe, 9}, make([]byte, 61)...)
		head[7] = 64
		head[64-22], head[64-21] = scheme, 20
		return head
	}
	for name, c := range map[string]struct {
		file    string
		data    []byte
		refused bool
	}{
		"a table":                           {"app/t.ibd", space(1, only(pages-1)), true},
		"a table, the first page":           {"app/t.ibd", space(1, only(1)), true},
		"a table without a scheme":          {"app/t.ibd", space(0, only(3)), false},
		"a table that is decrypted":         {"app/t.ibd", space(1, only(0)), false},
		"a page that is free":               {"app/t.ibd", space(1, free), false},
		"a copy of a page":                  {"ibdata1", space(1, copied), false},
		"a page of the system":              {"ibdata1", space(1, only(9)), true},
		"an undo tablespace":                {"undo002", space(1, only(3)), true},
		"a file of that name elsewhere":     {"app/undo002", space(1, only(3)), false},
		"an Aria table":                     {"app/a.MAI", aria(1), true},
		"an Aria table in clear":            {"app/a.MAI", aria(0), false},
		"what begins with no tablespace":    {"app/t.ibd", make([]byte, pageSize), false},
		"what has not the size of one page": {"app/t.ibd", space(1, only(3))[:100], false},
	} {
		dir := t.TempDir()
		put(t, dir, redoFile, redoHead(false))
		put(t, dir, c.file, c.data)
		m := Markers{Dir: t.TempDir()}
		if err := CheckKeys(dir, m, nil); err != nil {
			t.Errorf("%s: looked at without cause: %v", name, err)
		}
		right, wrong := map[string]string{"1": "a"}, map[string]string{"1": "b"}
		if err := m.ExpectKeys(right); err != nil {
			t.Fatal(err)
		}
		if err := CheckKeys(dir, m, nil); (err != nil) != c.refused {
			t.Errorf("%s, of a server that was not seen to serve: %v", name, err)
		}
		if err := m.SetKeys(dir, right); err != nil {
			t.Fatal(err)
		}
		var refused *KeysError
		for _, have := range []map[string]string{nil, wrong} {
			err := CheckKeys(dir, m, have)
			if errors.As(err, &refused) != c.refused || !c.refused && err != nil ||
				c.refused && !strings.Contains(err.Error(), c.file) {
				t.Errorf("%s, %v: %v", name, have, err)
			}
		}
		if err := CheckKeys(dir, m, right); err != nil {
			t.Errorf("%s: the right keys: %v", name, err)
		}
	}
}

// redoHead is the beginning of a redo log.
func redoHead(encrypted bool) []byte {
	if encrypted {
		return []byte{0x80, 'P', 'h', 'y', 's'}
	}
	return []byte{0, 'P', 'h', 'y', 's'}
}

func put(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}
