package atrest

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// noise is content as a cipher makes it.
func noise(size int) []byte {
	out := make([]byte, size)
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixture
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// innodbPage is a page of full_crc32, or of the format before it, as MariaDB writes it.
func innodbPage(full bool, kind uint16, version uint32, plain bool) []byte {
	page := noise(16 << 10)
	if plain {
		clear(page[innodbData:])
		copy(page[99:], "infimum\x00")
		copy(page[112:], "supremum")
	}
	at := 26
	if full {
		at = 0
	}
	binary.BigEndian.PutUint32(page[at:], version)
	binary.BigEndian.PutUint16(page[24:], kind)
	return page
}

// TestPagesOfInnoDB: the mark of a page counts, and what is marked and looks plain does not.
func TestPagesOfInnoDB(t *testing.T) {
	readable := innodbPage(true, pageIndex, 1, false)
	copy(readable[99:], "infimum\x00")
	for name, c := range map[string]struct {
		full, system bool
		number       int64
		page         []byte
		want         PageKind
	}{
		"encrypted":                        {true, false, 3, innodbPage(true, pageIndex, 1, false), Encrypted},
		"encrypted, before full_crc32":     {false, false, 3, innodbPage(false, pageIndex, 1, false), Encrypted},
		"in clear":                         {true, false, 3, innodbPage(true, pageIndex, 0, true), Clear},
		"in clear, before full_crc32":      {false, false, 3, innodbPage(false, pageIndex, 0, true), Clear},
		"no mark on noise":                 {true, false, 3, innodbPage(true, pageIndex, 0, false), Clear},
		"marked, but an index can be read": {true, false, 3, readable, Clear},
		"marked, but full of zeros":        {true, false, 3, innodbPage(true, 6, 1, true), Clear},
		"compressed behind a hole":         {true, false, 3, innodbPage(true, pageCompressed|7, 1, true), Encrypted},
		"header":                           {true, false, 0, innodbPage(true, pageSpaceHeader, 0, true), MetadataOnly},
		"descriptors":                      {true, false, 16384, innodbPage(true, pageDescriptors, 0, true), MetadataOnly},
		"transactions of the system":       {true, true, 5, innodbPage(true, pageTransaction, 0, true), MetadataOnly},
		"transactions of another":          {true, false, 5, innodbPage(true, pageTransaction, 0, true), Clear},
		"undo":                             {true, false, 50, innodbPage(true, 2, 0, true), Clear},
		"never written":                    {true, false, 7, make([]byte, 16<<10), Empty},
		"cut off":                          {true, false, 7, make([]byte, 100), Empty},
	} {
		f := InnoDB{PageSize: 16 << 10, full: c.full, system: c.system}
		if got := f.Judge(c.number, c.page); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	temporary := InnoDB{PageSize: 16 << 10, full: true}
	if got := temporary.JudgeTemporary(innodbPage(true, pageIndex, 0, false)); got != Encrypted {
		t.Errorf("an encrypted temporary page: %d", got)
	}
	if got := temporary.JudgeTemporary(innodbPage(true, pageIndex, 0, true)); got != Clear {
		t.Errorf("a temporary page in clear: %d", got)
	}
}

// TestFormatsOfInnoDB: the size of pages is read from the header, by both of its layouts.
func TestFormatsOfInnoDB(t *testing.T) {
	head := func(flags uint32, kind uint16) []byte {
		out := make([]byte, HeadSize)
		binary.BigEndian.PutUint16(out[24:], kind)
		binary.BigEndian.PutUint32(out[innodbFlags:], flags)
		return out
	}
	for name, c := range map[string]struct {
		head []byte
		size int // 0: refused
		full bool
	}{
		"11.8, 16 KiB":              {head(0x15, pageSpaceHeader), 16 << 10, true},
		"PAGE_COMPRESSED":           {head(0x35, pageSpaceHeader), 16 << 10, true},
		"4 KiB":                     {head(0x13, pageSpaceHeader), 4 << 10, true},
		"64 KiB":                    {head(0x17, pageSpaceHeader), 64 << 10, true},
		"ROW_FORMAT=COMPRESSED":     {head(0x29, pageSpaceHeader), 8 << 10, false},
		"of before 10.5":            {head(0, pageSpaceHeader), 16 << 10, false},
		"of before 10.5, of 32 KiB": {head(6<<6, pageSpaceHeader), 32 << 10, false},
		"no header":                 {head(0x15, pageIndex), 0, false},
		"a size there is not":       {head(0x1f, pageSpaceHeader), 0, false},
		"zeros":                     {make([]byte, HeadSize), 0, false},
		"cut off":                   {[]byte{1, 2, 3}, 0, false},
	} {
		f, err := ParseInnoDB(c.head, false)
		if (err == nil) != (c.size > 0) || err == nil && (f.PageSize != c.size || f.full != c.full) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// ariaHeader is the beginning of an index file as 11.8 writes it; scheme is behind it.
func ariaHeader(encrypted bool) []byte {
	out := make([]byte, HeadSize)
	copy(out, []byte{0xfe, 0xfe, 0x09, 0x03, 0x0c, 0x00, 0x01, 0xd6, 0x00, 0xd7, 0x00, 0x87, 0x00, 0xef})
	out[0x1d6-21] = 20
	if encrypted {
		out[0x1d6-22] = 1
	}
	return out
}

// TestAria: a table's index shows whether it is encrypted, and each page of its data has a mark.
func TestAria(t *testing.T) {
	for encrypted := range map[bool]bool{true: true, false: true} {
		if a, err := ParseAria(ariaHeader(encrypted)); err != nil || a.Encrypted != encrypted {
			t.Errorf("%v: %+v, %v", encrypted, a, err)
		}
	}
	wide := make([]byte, HeadSize) // of a table with many columns
	copy(wide, ariaHeader(false)[:14])
	wide[6], wide[7] = 0xf0, 0
	wide[0xf000-ariaSchemeSize+1] = ariaSchemeSize - 2
	if a, err := ParseAria(wide); err != nil || a.Encrypted {
		t.Errorf("a wide table in clear: %+v, %v", a, err)
	}
	wide[0xf000-ariaSchemeSize] = 1
	if a, err := ParseAria(wide); err != nil || !a.Encrypted {
		t.Errorf("a wide table that is encrypted: %+v, %v", a, err)
	}
	for name, bad := range map[string][]byte{"short": {0xfe}, "another file": make([]byte, HeadSize),
		"cut off": ariaHeader(true)[:200]} {
		if _, err := ParseAria(bad); err == nil {
			t.Errorf("%s is taken for a table", name)
		}
	}
	page := func(kind byte, at int, version uint32, plain bool) []byte {
		out := noise(ariaBlockSize)
		if plain {
			clear(out[20:])
		}
		out[7] = kind
		binary.LittleEndian.PutUint32(out[at:], version)
		return out
	}
	a := Aria{Encrypted: true, BlockSize: ariaBlockSize}
	for name, c := range map[string]struct {
		number int64
		page   []byte
		want   PageKind
	}{
		"rows":                      {1, page(ariaHead, ariaHeadVersion, 1, false), Encrypted},
		"tails":                     {1, page(ariaTail, ariaHeadVersion, 1, false), Encrypted},
		"a blob":                    {1, page(ariaBlob, ariaBlobVersion, 1, false), Encrypted},
		"rows in clear":             {1, page(ariaHead, ariaHeadVersion, 77, false), Clear},
		"a blob in clear":           {1, page(ariaBlob, ariaBlobVersion, 0, false), Clear},
		"marked, but full of zeros": {1, page(ariaHead, ariaHeadVersion, 1, true), Clear},
		"the first bitmap":          {0, page(7, ariaHeadVersion, 9, true), MetadataOnly},
		"the second bitmap":         {21825, page(7, ariaHeadVersion, 9, true), MetadataOnly},
		"a kind that there is not":  {2, page(6, ariaHeadVersion, 1, false), Clear},
		"freed":                     {2, page(0, ariaHeadVersion, 1, false), Empty},
		"never written":             {2, make([]byte, ariaBlockSize), Empty},
		"cut off":                   {2, noise(100), Empty},
	} {
		if got := a.Judge(c.number, c.page); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestLogs: the marks of redo logs and binary logs, as 10.11 and 11.8 write them.
func TestLogs(t *testing.T) {
	if !RedoEncrypted([]byte{0xf0, 0x9f, 0x97, 0x9d}) || RedoEncrypted([]byte("Phys")) || RedoEncrypted(nil) {
		t.Error("the mark of the redo log is not read")
	}
	binlog := func(next byte, length uint32) []byte {
		out := make([]byte, 600)
		copy(out, binlogMagic)
		binary.LittleEndian.PutUint32(out[4+9:], length)
		out[4+int(min(length, 500))+4] = next
		return out
	}
	for name, c := range map[string]struct {
		file             []byte
		encrypted, known bool
	}{
		"encrypted":              {binlog(164, 252), true, true},
		"in clear":               {binlog(163, 252), false, true},
		"only its first event":   {binlog(164, 252)[:256], false, false},
		"only the magic":         {binlogMagic, false, false},
		"another file":           {make([]byte, 600), false, false},
		"an event without size":  {binlog(164, 0), false, false},
		"an event without end":   {binlog(164, 1<<31), false, false},
		"an event of four bytes": {binlog(164, 4), false, false},
	} {
		encrypted, known := BinlogEncrypted(c.file)
		if encrypted != c.encrypted || known != c.known {
			t.Errorf("%s: %v, %v", name, encrypted, known)
		}
	}
}

// FuzzFormats: whatever lies on a volume is judged, and breaks nothing.
func FuzzFormats(f *testing.F) {
	f.Add([]byte{1}, int64(0))
	f.Add(ariaHeader(true), int64(5))
	f.Fuzz(func(_ *testing.T, data []byte, number int64) {
		number = max(number, 0)
		if format, err := ParseInnoDB(data, true); err == nil {
			format.Judge(number, data)
			format.JudgeTemporary(data)
		}
		if a, err := ParseAria(data); err == nil {
			a.Judge(number, data)
		}
		RedoEncrypted(data)
		BinlogEncrypted(data)
		_, _ = Fingerprints(data, []byte("x"))
	})
}
