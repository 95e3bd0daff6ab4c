package atrest

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// TestFreeLimit: pages from the limit on are free, whatever their descriptors hold. A limit that cannot be read frees
// none.
func TestFreeLimit(t *testing.T) {
	format := InnoDB{PageSize: describedPageSize, full: true}
	for name, tc := range map[string]struct {
		kind   uint16
		limit  uint32
		number int64
		free   bool
	}{
		"before the limit":       {pageSpaceHeader, 320, 319, false},
		"at the limit":           {pageSpaceHeader, 320, 320, true},
		"after it":               {pageSpaceHeader, 320, 447, true},
		"in a later extent list": {pageSpaceHeader, 320, describedPageSize + 1, true},
		"no limit":               {pageSpaceHeader, 0, 447, false},
		"no header":              {pageIndex, 320, 447, false},
		"the header itself":      {pageSpaceHeader, 320, 0, false},
	} {
		space := make([]byte, describedPageSize)
		binary.BigEndian.PutUint16(space[24:], tc.kind)
		binary.BigEndian.PutUint32(space[innodbFreeLimit:], tc.limit)
		if got := format.IsFreeIn(bytes.NewReader(space), tc.number); got != tc.free {
			t.Errorf("%s: free %t, want %t", name, got, tc.free)
		}
	}
}
