package mbstream

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
)

// TestWriter: a stream is made of chunks with magic, kind, name, length, offset and checksum, and each file has an end.
// TestAdoptedServer has MariaDB's own mbstream unpack one.
func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	large := bytes.Repeat([]byte("abcdefg\n"), maxChunk/8+1)
	for _, f := range []struct {
		name string
		text []byte
	}{{"shop/t.ibd", large}, {"shop/db.opt", nil}} {
		if err := w.Begin(f.name); err != nil {
			t.Fatal(err)
		}
		if n, err := w.Write(f.text); n != len(f.text) || err != nil {
			t.Fatal(n, err)
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	have, order := map[string][]byte{}, ""
	for r := out.Bytes(); len(r) > 0; {
		if string(r[:8]) != Magic || r[8] != 0 {
			t.Fatalf("no chunk begins with %q", r[:9])
		}
		kind, n := r[9], binary.LittleEndian.Uint32(r[10:])
		name := string(r[14 : 14+n])
		order += string(kind)
		if r = r[14+n:]; kind == eof {
			continue
		}
		size, at, sum := binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint64(r[8:]), binary.LittleEndian.Uint32(r[16:])
		data := r[20 : 20+size]
		if at != uint64(len(have[name])) || crc32.ChecksumIEEE(data) != sum {
			t.Errorf("%s: a chunk at %d of %d, with another checksum", name, at, len(have[name]))
		}
		have[name], r = append(have[name], data...), r[20+size:]
	}
	if order != "PPEE" || !bytes.Equal(have["shop/t.ibd"], large) {
		t.Errorf("%s, %d bytes", order, len(have["shop/t.ibd"]))
	}
	for _, name := range []string{"", strings.Repeat("x", MaxPath+1)} {
		if w.Begin(name) == nil {
			t.Errorf("a file called %.9q is begun", name)
		}
	}
}
