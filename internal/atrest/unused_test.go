package atrest

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// TestUnused: only what is in clear, and certainly not in use, may be overwritten.
func TestUnused(t *testing.T) {
	const size = describedPageSize
	system := InnoDB{PageSize: size, full: true, system: true}
	table := InnoDB{PageSize: size, full: true}
	space := make([]byte, 200*size)
	binary.BigEndian.PutUint16(space[24:], pageSpaceHeader)
	binary.BigEndian.PutUint32(space[innodbFreeLimit:], 190)
	const free = 10
	space[descriptorsBegin+descriptorBits+free*2/8] |= 1 << (free * 2 % 8)
	header := space[transactionPage*size:]
	binary.BigEndian.PutUint16(header[24:], pageTransaction)
	copy(header[size-doublewriteAt+10:], []byte{0x1f, 0xff, 0xbd, 0x5f, 0, 0, 0, 64, 0, 0, 0, 128})
	plain := func(number uint32) []byte {
		page := bytes.Repeat([]byte{7}, size)
		copy(page, []byte{0, 0, 0, 0})
		binary.BigEndian.PutUint32(page[4:], number)
		binary.BigEndian.PutUint16(page[24:], pageIndex)
		return page
	}
	encrypted := plain(free)
	encrypted[3] = 1
	no := func([]byte) {}
	far := func(s []byte) { s[innodbFreeLimit] = 1 }
	for name, c := range map[string]struct {
		format InnoDB
		number int64
		page   []byte
		change func(space []byte)
		want   bool
	}{
		"free":                          {table, free, plain(free), no, true},
		"in use":                        {table, free + 1, plain(free + 1), no, false},
		"free, and encrypted":           {table, free, encrypted, no, false},
		"free, of another number":       {table, free, plain(free + 1), no, false},
		"free, and empty":               {table, free, make([]byte, size), no, false},
		"free by a damaged description": {table, free, plain(free), func(s []byte) { s[25] = 0 }, false},
		"past the limit":                {table, 190, plain(190), no, true},
		"before the limit":              {table, 189, plain(189), no, false},
		"no limit":                      {table, 190, plain(190), func(s []byte) { s[innodbFreeLimit+3] = 0 }, false},
		"a copy":                        {system, 64, plain(3), no, true},
		"a copy, the last of a block":   {system, 127, plain(3), no, true},
		"a copy in the other block":     {system, 128, plain(3), no, true},
		"a copy in an ordinary table":   {table, 64, plain(3), no, false},
		"before the copies":             {system, 63, plain(3), no, false},
		"after the copies":              {system, 192, plain(3), func(s []byte) { s[innodbFreeLimit+3] = 255 }, false},
		"a copy that is encrypted":      {system, 64, encrypted, no, false},
		"no magic number": {system, 64, plain(3), func(s []byte) { s[(transactionPage+1)*size-doublewriteAt+10] = 0 },
			false},
		"no page of transactions":        {system, 64, plain(3), func(s []byte) { s[transactionPage*size+25] = 0 }, false},
		"another size of pages":          {InnoDB{PageSize: 8 << 10, full: true}, free, plain(free)[:8<<10], no, false},
		"the description itself":         {table, 0, plain(0), no, false},
		"a space that cannot be read":    {table, 3 * size, plain(3 * size), far, false},
		"past the end, under the header": {table, 3*size + 1, plain(3*size + 1), far, false},
	} {
		content := slices.Clone(space)
		c.change(content)
		if got := c.format.Unused(bytes.NewReader(content)).InClear(c.number, c.page); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
