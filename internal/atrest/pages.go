package atrest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// PageKind is what one page of a file is.
type PageKind int

// Kinds of pages. MetadataOnly are pages that InnoDB never encrypts: they have the structure of a tablespace, and
// nothing of its tables.
const (
	Empty PageKind = iota
	Encrypted
	MetadataOnly
	Clear
	// Freed is a page in clear that InnoDB does not use any more. It is overwritten when InnoDB needs a page.
	Freed
	// Copied is one in clear in the doublewrite buffer: what a page was before InnoDB encrypted it.
	Copied
)

// HeadSize is how many bytes of a file show its format. The head of an Aria table's index grows with its columns, and
// its length is a number of 16 bits.
const HeadSize = 64 << 10

// Types of InnoDB's pages.
const (
	pageSpaceHeader = 8
	pageDescriptors = 9
	pageTransaction = 7
	pageIndex       = 17855
	pageSpatial     = 17854
	pageCompressed  = 0x8000 // of a table with PAGE_COMPRESSED: the rest of the page is a hole
)

const (
	// fewBytes are the checksum of a page, and what stands in one that holds nothing.
	fewBytes         = 16
	innodbData       = 38 // where the content of a page begins
	innodbFreeLimit  = 50 // FSP_FREE_LIMIT, in the first page: from this page on all are free by definition
	innodbFlags      = 54
	transactionPage  = 5
	plainLayoutBegin = 94 // of an index page: where its first record is named
	plainLayoutEnd   = 130
)

// ErrNoPage is returned for what is no beginning of a tablespace, as of one that is being made.
var ErrNoPage = errors.New("the file does not begin with the header of a tablespace")

// InnoDB is the format of a tablespace.
type InnoDB struct {
	// PageSize in bytes.
	PageSize int
	// full is the format full_crc32, which has the key's version in front.
	full bool
	// system reports whether it is the system tablespace.
	system bool
}

// ParseInnoDB reads the format of a tablespace from the beginning of its file.
func ParseInnoDB(head []byte, system bool) (InnoDB, error) {
	if len(head) < innodbFlags+4 || binary.BigEndian.Uint16(head[24:]) != pageSpaceHeader {
		return InnoDB{}, ErrNoPage
	}
	flags := binary.BigEndian.Uint32(head[innodbFlags:])
	f := InnoDB{PageSize: 16 << 10, full: flags&0x10 != 0, system: system}
	switch {
	case f.full && flags&0xf != 0:
		f.PageSize = 512 << (flags & 0xf)
	case !f.full && flags>>1&0xf != 0:
		f.PageSize = 512 << (flags >> 1 & 0xf)
	case !f.full && flags>>6&0xf != 0:
		f.PageSize = 512 << (flags >> 6 & 0xf)
	}
	if f.PageSize < 1<<10 || f.PageSize > 64<<10 {
		return InnoDB{}, ErrNoPage
	}
	return f, nil
}

// Judge returns what a page is. One that is marked as encrypted is believed only when it does not look like a plain
// one.
func (f InnoDB) Judge(number int64, page []byte) PageKind {
	if len(page) < f.PageSize || allZero(page) {
		return Empty
	}
	kind, mark := binary.BigEndian.Uint16(page[24:]), page[26:30]
	if f.full {
		mark = page[0:4]
	}
	switch {
	case kind == pageSpaceHeader || kind == pageDescriptors || f.system && number == transactionPage &&
		kind == pageTransaction:
		return MetadataOnly
	case kind == 0 && zeros(page[innodbData:]) >= f.PageSize-innodbData-fewBytes:
		return MetadataOnly // reserved for InnoDB's own use, and never filled
	case allZero(mark):
		return Clear
	case (kind == pageIndex || kind == pageSpatial) && bytes.Contains(page[plainLayoutBegin:plainLayoutEnd],
		[]byte("infimum")):
		return Clear
	case kind&pageCompressed == 0 && zeros(page[innodbData:]) > f.PageSize/16:
		return Clear
	}
	return Encrypted
}

// The descriptors of pages: one page describes as many as it has bytes, in extents.
const (
	describedPageSize = 16 << 10 // the only size that is read here
	descriptorsBegin  = 150
	descriptorSize    = 40
	descriptorBits    = 24
	pagesPerExtent    = 64
)

// Descriptors returns the number of the page that describes another one; false where that is not known.
func (f InnoDB) Descriptors(number int64) (int64, bool) {
	return number - number%describedPageSize, f.PageSize == describedPageSize
}

// IsFree reports whether a page is not in use, by the page that describes it.
func (f InnoDB) IsFree(number int64, descriptors []byte) bool {
	kind := binary.BigEndian.Uint16(descriptors[24:])
	if kind != pageSpaceHeader && kind != pageDescriptors {
		return false
	}
	within := number % describedPageSize
	at := descriptorsBegin + within/pagesPerExtent*descriptorSize + descriptorBits
	bit := within % pagesPerExtent * 2
	return descriptors[at+bit/8]>>(bit%8)&1 == 1
}

// IsFreeIn reports whether a page is not in use, by its tablespace. What cannot be read is in use.
func (f InnoDB) IsFreeIn(space io.ReaderAt, number int64) bool {
	at, known := f.Descriptors(number)
	if !known || at == number {
		return false
	}
	if pastFreeLimit(space, number) {
		return true // as after an undo tablespace was truncated: its descriptor is none
	}
	descriptors := make([]byte, f.PageSize)
	_, err := space.ReadAt(descriptors, at*int64(f.PageSize))
	return err == nil && f.IsFree(number, descriptors)
}

// pastFreeLimit reports whether InnoDB has not put a page on a list of free ones yet.
func pastFreeLimit(space io.ReaderAt, number int64) bool {
	head := make([]byte, innodbFlags)
	if _, err := space.ReadAt(head, 0); err != nil || binary.BigEndian.Uint16(head[24:]) != pageSpaceHeader {
		return false
	}
	limit := int64(binary.BigEndian.Uint32(head[innodbFreeLimit:]))
	return limit > 0 && number >= limit
}

// schemeMark stands before the encryption scheme of a tablespace in its first page, and schemeOn is the one scheme that
// InnoDB has. It is off when all pages were decrypted.
var schemeMark = []byte("s\x0e\x0cREt")

const schemeOn = 1

// HasScheme reports by the first page whether some of the tablespace's pages may be encrypted.
func (f InnoDB) HasScheme(head []byte) bool {
	head = head[:min(len(head), f.PageSize)]
	at := bytes.Index(head, schemeMark) + len(schemeMark)
	return at >= len(schemeMark) && at < len(head) && head[at] == schemeOn
}

// IsCopy reports whether a page of the system tablespace is another page's copy, as InnoDB keeps them in the
// doublewrite buffer: until they are overwritten they are what that page was.
func (f InnoDB) IsCopy(number int64, page []byte) bool {
	return f.system && (int64(binary.BigEndian.Uint32(page[4:])) != number || binary.BigEndian.Uint32(page[34:]) != 0)
}

// JudgeTemporary returns what a page of InnoDB's temporary tablespace is: its pages are encrypted whole behind their
// header, and not marked.
func (f InnoDB) JudgeTemporary(page []byte) PageKind {
	v := f.Judge(0, page)
	if v == Clear && zeros(page[innodbData:]) <= f.PageSize/16 && !bytes.Contains(page[plainLayoutBegin:plainLayoutEnd],
		[]byte("infimum")) {
		return Encrypted
	}
	return v
}

func allZero(b []byte) bool { return zeros(b) == len(b) }

func zeros(b []byte) int { return bytes.Count(b, []byte{0}) }

// Aria is the format of an Aria table.
type Aria struct {
	// Encrypted reports whether the table has an encryption scheme.
	Encrypted bool
	// BlockSize in bytes.
	BlockSize int
}

const (
	ariaSchemeSize  = 22
	ariaBitmap      = 6 // bytes of a bitmap describe 16 pages
	ariaSuffix      = 4
	ariaHead        = 1
	ariaTail        = 2
	ariaBlob        = 3
	ariaBlockSize   = 8 << 10
	ariaHeadVersion = 12
	ariaBlobVersion = 8
)

var ariaMagic = []byte{0xfe, 0xfe, 9}

// errNoAria is returned for what is no index file of an Aria table.
var errNoAria = errors.New("the file is no index of an Aria table")

// ParseAria reads the beginning of an Aria table's index file (.MAI).
func ParseAria(head []byte) (Aria, error) {
	if len(head) < 24 || !bytes.HasPrefix(head, ariaMagic) {
		return Aria{}, errNoAria
	}
	size := int(binary.BigEndian.Uint16(head[6:]))
	if size < 24+ariaSchemeSize || size > len(head) {
		return Aria{}, errNoAria
	}
	scheme := head[size-ariaSchemeSize:]
	return Aria{Encrypted: scheme[0] == 1 && scheme[1] == ariaSchemeSize-2, BlockSize: ariaBlockSize}, nil
}

// Judge returns what a page of the table's data file (.MAD) is. Its bitmaps record how full pages are, and are never
// encrypted.
func (a Aria) Judge(number int64, page []byte) PageKind {
	if len(page) < a.BlockSize || allZero(page) {
		return Empty
	}
	if covered := int64((a.BlockSize-ariaSuffix)/ariaBitmap*16 + 1); number%covered == 0 {
		return MetadataOnly
	}
	at := ariaHeadVersion
	switch page[7] & 7 {
	case 0:
		return Empty // freed
	case ariaHead, ariaTail:
	case ariaBlob:
		at = ariaBlobVersion
	default:
		return Clear
	}
	if binary.LittleEndian.Uint32(page[at:]) != 1 || zeros(page[16:]) > a.BlockSize/16 {
		return Clear
	}
	return Encrypted
}

// RedoEncrypted reports whether InnoDB's redo log is encrypted, by its beginning.
func RedoEncrypted(head []byte) bool { return len(head) >= 4 && head[0]&0x80 != 0 }

const (
	binlogHeader   = 19
	startEncrypted = 164
)

var binlogMagic = []byte{0xfe, 'b', 'i', 'n'}

// IsBinlog reports whether a file is a binary log, or a relay log. An encrypted one begins in clear, too.
func IsBinlog(head []byte) bool { return bytes.HasPrefix(head, binlogMagic) }

// BinlogEncrypted reports whether the events of a binary log are encrypted, by its beginning. known is false while the
// server has not written as much.
func BinlogEncrypted(head []byte) (encrypted, known bool) {
	if !IsBinlog(head) || len(head) < 4+binlogHeader {
		return false, false
	}
	next := 4 + int(binary.LittleEndian.Uint32(head[4+9:]))
	if next < 4+binlogHeader || next+binlogHeader > len(head) {
		return false, false
	}
	return head[next+4] == startEncrypted, true
}
