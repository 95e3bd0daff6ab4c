package atrest

import (
	"encoding/binary"
	"io"
)

// The doublewrite buffer: two blocks in the system tablespace, which the page of the transaction system names.
const (
	doublewriteAt     = 200 // before the end of that page
	doublewriteMagic  = 536853855
	doublewriteBlocks = 14
	doublewriteSize   = 64 // pages of each block
)

// Unused knows the pages of a tablespace that InnoDB does not need once its server was stopped in order: those that are
// free, which it makes anew without reading them, and the copies in the doublewrite buffer. Nothing may write the
// tablespace meanwhile.
type Unused struct {
	format      InnoDB
	space       io.ReaderAt
	limit       int64
	blocks      []int64
	described   int64
	descriptors []byte
}

// Unused returns what knows them. What cannot be read is in use.
func (f InnoDB) Unused(space io.ReaderAt) *Unused {
	u := &Unused{format: f, space: space, described: -1, descriptors: make([]byte, f.PageSize)}
	if f.PageSize != describedPageSize {
		return u
	}
	page := make([]byte, f.PageSize)
	if _, err := space.ReadAt(page, 0); err == nil && binary.BigEndian.Uint16(page[24:]) == pageSpaceHeader {
		u.limit = int64(binary.BigEndian.Uint32(page[innodbFreeLimit:]))
	}
	if !f.system {
		return u
	}
	if _, err := space.ReadAt(page, transactionPage*int64(f.PageSize)); err == nil {
		u.blocks = doublewrite(page)
	}
	return u
}

// doublewrite returns the first page of each block, by the page of the transaction system.
func doublewrite(page []byte) []int64 {
	header := page[len(page)-doublewriteAt:]
	if binary.BigEndian.Uint16(page[24:]) != pageTransaction ||
		binary.BigEndian.Uint32(header[doublewriteBlocks-4:]) != doublewriteMagic {
		return nil
	}
	return []int64{int64(binary.BigEndian.Uint32(header[doublewriteBlocks:])),
		int64(binary.BigEndian.Uint32(header[doublewriteBlocks+4:]))}
}

// InClear reports whether a page is in clear, and not in use. A free page that has another one's number is none that is
// known here.
func (u *Unused) InClear(number int64, page []byte) bool {
	switch {
	case u.format.Judge(number, page) != Clear:
		return false
	case u.Buffers(number):
		return true
	}
	return int64(binary.BigEndian.Uint32(page[4:])) == number && u.Free(number)
}

// Free reports whether a page is free.
func (u *Unused) Free(number int64) bool {
	at, known := u.format.Descriptors(number)
	switch {
	case !known || at == number || u.limit == 0:
		return false
	case number >= u.limit:
		return true
	case at != u.described:
		if _, err := u.space.ReadAt(u.descriptors, at*int64(u.format.PageSize)); err != nil {
			return false
		}
		u.described = at
	}
	return u.format.IsFree(number, u.descriptors)
}

// Buffers reports whether a page is one of the doublewrite buffer.
func (u *Unused) Buffers(number int64) bool {
	for _, first := range u.blocks {
		if first > 0 && number >= first && number < first+doublewriteSize {
			return true
		}
	}
	return false
}
