package binlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"time"
)

// FormatVersion is the version of the segments that this package writes, and the latest it reads.
const FormatVersion = 1

// HeadMost bounds the head of a segment, in bytes.
const HeadMost = 16 << 10

// Head is the first line of a segment, in JSON. What follows it is a binary log, compressed (zstd) and then encrypted (age).
type Head struct {
	Format int `json:"format"`
	// Number of the segment, from 1 on without a hole.
	Number uint64 `json:"number"`
	// Begins says that the archive begins here, or begins anew after a gap: Last is where. Why tells why. Such a segment has no transactions.
	Begins bool   `json:"begins,omitempty"`
	Why    string `json:"why,omitempty"`
	// Chain is the number of the segment that the archive has begun with, or begun anew.
	Chain uint64 `json:"chain"`
	// Previous is the last transaction of the segment before; First and Last are those of this one.
	Previous GTID `json:"previous,omitzero"`
	First    GTID `json:"first,omitzero"`
	Last     GTID `json:"last,omitzero"`
	// BeforeLast is the transaction before Last, and LastSum the checksum of Last's content: an archiver that goes on here makes sure that the
	// cluster still has the same history.
	BeforeLast GTID   `json:"beforeLast,omitzero"`
	LastSum    string `json:"lastSum,omitempty"`
	// FirstTime and LastTime are the earliest and the latest time of a transaction.
	FirstTime time.Time `json:"firstTime,omitzero"`
	LastTime  time.Time `json:"lastTime,omitzero"`
	// Through is a time until which the archive had everything that was committed.
	Through time.Time `json:"through,omitzero"`
	// Transactions and Bytes are what the binary log holds.
	Transactions int   `json:"transactions"`
	Bytes        int64 `json:"bytes"`
	// SHA256 is the checksum of what follows the head, in hexadecimal, and Size its length.
	SHA256     string   `json:"sha256,omitempty"`
	Size       int64    `json:"size,omitempty"`
	Recipients []string `json:"recipients,omitempty"`
}

// Directory has the segments, below the directory of a cluster (manifest.Dir).
const Directory = "binlog"

// Dir is where the archive of a cluster lies.
func Dir(cluster string) string { return path.Join(cluster, Directory) }

const digits = 12

// Name of a segment below the archive's directory.
func Name(number uint64) string { return fmt.Sprintf("%0*d", digits, number) }

// Number of the segment of that name; false for what is none.
func Number(name string) (uint64, bool) {
	base := path.Base(name)
	n, err := strconv.ParseUint(base, 10, 64)
	return n, err == nil && len(base) == digits
}

// ThroughName is the object that says how far the archive is while nothing is written to the database.
const ThroughName = "through.json"

// Through is what it holds.
type Through struct {
	Time time.Time `json:"time"`
	Last GTID      `json:"last"`
}

// Encode is the head's line.
func (h Head) Encode() ([]byte, error) {
	text, err := json.Marshal(h)
	return append(text, '\n'), err
}

// Decode reads the head of a segment, and returns its length.
func Decode(text []byte) (h Head, size int, err error) {
	line, _, found := bytes.Cut(text, []byte{'\n'})
	if !found {
		return h, 0, errors.New("the segment has no head")
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return h, 0, fmt.Errorf("the segment's head is damaged: %w", err)
	}
	if h.Format > FormatVersion || h.Format < 1 {
		return h, 0, fmt.Errorf("the segment has format %d, and this program reads up to %d: use a later release", h.Format, FormatVersion)
	}
	return h, len(line) + 1, nil
}
