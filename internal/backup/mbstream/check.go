package mbstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"path/filepath"
	"slices"
)

// Kinds of chunks that only a backup with changes of tables during it has, and flags.
const (
	seek    = 'S'
	rename  = 'R'
	remove  = 'D'
	rewrite = 2

	fixedHead   = len(Magic) + 1 + 1 + 4
	payloadHead = 8 + 8 + 4
)

var (
	// ErrDamaged is of a stream that mbstream cannot read, now or later.
	ErrDamaged = errors.New("the stream is damaged")
	// ErrName is of a stream with a name that is none of a file within the backup.
	ErrName = errors.New("the stream has a name that leads out of the backup")
)

// Checker passes a stream on as long as nothing is wrong with it. Then it takes the rest, and drops it: the sender may
// know better why. mbstream itself ends with exit code 0 where it cannot create a file.
type Checker struct {
	to    io.Writer
	data  func(name string, at uint64, data []byte)
	files map[string]*checked
	head  []byte // what has come of a chunk's
	// of the chunk whose payload comes
	name           string
	left, at, read uint64
	sum, want      uint32
	err            error
}

// checked is a file.
type checked struct {
	next, size uint64 // where the next part belongs, and the end of what has come
	ended      bool
}

// NewChecker returns one that has data called with what the files hold, each from its beginning to its end.
func NewChecker(to io.Writer, data func(name string, at uint64, data []byte)) *Checker {
	return &Checker{to: to, data: data, files: map[string]*checked{}}
}

// Write implements io.Writer.
func (c *Checker) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0 && c.err == nil; {
		if c.left > 0 {
			n := min(uint64(len(rest)), c.left)
			c.payload(rest[:n])
			rest = rest[n:]
			continue
		}
		if need := c.need(); need > 0 {
			n := min(len(rest), need)
			c.head, rest = append(c.head, rest[:n]...), rest[n:]
		}
		if c.err == nil && c.need() == 0 {
			c.begin()
			c.head = c.head[:0]
		}
	}
	if c.err != nil {
		return len(data), nil //nolint:nilerr // the rest is dropped, and Close returns the error
	}
	return c.to.Write(data)
}

// need is how many bytes of the chunk's head are missing, as far as that is known.
func (c *Checker) need() int {
	size := fixedHead
	if len(c.head) >= size {
		size += c.length(fixedHead - 4)
		switch c.head[len(Magic)+1] {
		case payload:
			size += payloadHead
		case seek:
			size += 8
		case rename:
			if size += 4; len(c.head) >= size {
				size += c.length(size - 4)
			}
		}
	}
	return size - len(c.head)
}

// length is that of a name.
func (c *Checker) length(at int) int {
	n := binary.LittleEndian.Uint32(c.head[at:])
	switch {
	case string(c.head[:len(Magic)]) != Magic:
		c.err = fmt.Errorf("%w: no chunk begins where one should", ErrDamaged)
	case n == 0 || n > MaxPath:
		c.err = fmt.Errorf("%w: a name has %d bytes", ErrDamaged, n)
	default:
		return int(n)
	}
	return 0
}

// begin reads a chunk's head.
func (c *Checker) begin() {
	flags, kind := c.head[len(Magic)], c.head[len(Magic)+1]
	raw := c.head[fixedHead : fixedHead+c.length(fixedHead-4)]
	rest := c.head[fixedHead+len(raw):]
	name := c.local(raw)
	f := c.files[name]
	if f == nil || flags&rewrite != 0 && f.ended {
		f = &checked{}
	}
	switch kind {
	case payload, seek, eof:
		if f.ended && c.err == nil {
			c.err = fmt.Errorf("%w: it has the file %s twice", ErrDamaged, name)
		}
		c.files[name] = f
	}
	switch kind {
	case payload:
		c.name, c.left, c.at, c.read = name, binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:]), 0
		c.sum, c.want = 0, binary.LittleEndian.Uint32(rest[16:])
		if c.at != f.next && c.err == nil {
			c.err = fmt.Errorf("%w: a part of the file %s is missing", ErrDamaged, name)
		}
		f.next += c.left
		if f.size = max(f.size, f.next); c.left == 0 {
			c.payload(nil)
		}
	case seek:
		f.next = binary.LittleEndian.Uint64(rest)
	case eof:
		f.ended = true
	case remove:
		delete(c.files, name)
	case rename:
		to := c.local(rest[4:])
		if was := c.files[name]; was != nil {
			c.files[to] = was
			delete(c.files, name)
		}
	default:
		if c.err == nil {
			c.err = fmt.Errorf("%w: it has a chunk of the unknown kind %q", ErrDamaged, kind)
		}
	}
}

// local is the name of a file within the backup.
func (c *Checker) local(raw []byte) string {
	name := path.Clean(string(raw))
	if c.err == nil && (name == "." || !filepath.IsLocal(string(raw)) || bytes.ContainsRune(raw, 0)) {
		c.err = fmt.Errorf("%w: %q", ErrName, raw)
	}
	return name
}

func (c *Checker) payload(data []byte) {
	c.sum = crc32.Update(c.sum, crc32.IEEETable, data)
	c.data(c.name, c.at+c.read, data)
	c.read += uint64(len(data))
	if c.left -= uint64(len(data)); c.left == 0 && c.sum != c.want {
		c.err = fmt.Errorf("%w: a part of the file %s has another checksum", ErrDamaged, c.name)
	}
}

// Close returns what is wrong with the stream, which has come to its end.
func (c *Checker) Close() error {
	if c.err != nil {
		return c.err
	}
	if c.left > 0 || len(c.head) > 0 {
		return fmt.Errorf("%w: it ends within a chunk", ErrDamaged)
	}
	var open []string
	for name, f := range c.files {
		if !f.ended {
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%w: it ends within the file %s", ErrDamaged, slices.Min(open))
	}
	return nil
}

// Sizes are those of the files.
func (c *Checker) Sizes() map[string]int64 {
	out := make(map[string]int64, len(c.files))
	for name, f := range c.files {
		out[name] = int64(f.size) //nolint:gosec // each byte of it has come
	}
	return out
}
