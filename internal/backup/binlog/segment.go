package binlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FormatVersion is the version of the segments that this package reads and writes.
const FormatVersion = 2

// MaxHead bounds the head of a segment, in bytes. MaxLines and MaxHoles keep it below that.
const (
	MaxHead    = 32 << 10
	MaxLines   = 32
	MaxHoles   = 16
	MaxForeign = 128
	// maxAnchors bounds how many transactions of a segment have their seqno in its head.
	maxAnchors = 32
	// maxUnnamed bounds how many transactions of a segment are in its head because they name no seqno.
	maxUnnamed = 32
	maxWhy     = 1 << 10
	maxHoleWhy = 256
)

// Line is a line of history: what a cluster has committed from one bootstrap, or rebuilt quorum, on. It goes on from
// the line before it.
type Line struct {
	// History is the UUID of Galera's history, ID the random name of the line.
	History string `json:"history"`
	ID      string `json:"id"`
	// Epoch of the order that has begun the line.
	Epoch int64 `json:"epoch,omitempty"`
	// Start is the seqno up to which the line is the same as the one before it.
	Start int64 `json:"start"`
	// Copied reports whether it began with data that may have a part of a statement: no line before it leads there.
	Copied bool `json:"copied,omitempty"`
	// After is the last transaction of the chain before it went on in this line; none where the chain has begun.
	After GTID `json:"after,omitzero"`
}

// Known reports whether the line names one.
func (l Line) Known() bool { return l.History != "" && l.ID != "" }

// Same reports whether both are one line.
func (l Line) Same(other Line) bool { return l.History == other.History && l.ID == other.ID }

// String is HISTORY/ID.
func (l Line) String() string { return l.History + "/" + l.ID }

// Hole is numbers that no transaction of the cluster has.
type Hole struct {
	// After and Next are the transactions on both sides.
	After GTID `json:"after"`
	Next  GTID `json:"next"`
	// Why reports which nodes lack them, and what follows from it.
	Why string `json:"why"`
}

// Anchor is a transaction's number, and its seqno in Galera's history.
type Anchor struct {
	Number uint64 `json:"number"`
	Seqno  int64  `json:"seqno"`
}

// Head is the first line of a segment, in JSON. What follows it is a binary log, compressed (zstd) and then encrypted
// (age).
type Head struct {
	Format int `json:"format"`
	// Number of the segment, from 1 on without a hole.
	Number uint64 `json:"number"`
	// Before is the checksum of the head of the segment before this one, "" for the first: segments are a hash chain.
	Before string `json:"before,omitempty"`
	// Begins reports whether the archive begins here, or begins anew after a gap: Last is where. Why is the reason. Such a
	// segment has no transactions, and neither has one that Continues: from it on, the archive follows a later line of
	// history.
	Begins    bool   `json:"begins,omitempty"`
	Continues bool   `json:"continues,omitempty"`
	Why       string `json:"why,omitempty"`
	// Chain is the number of the segment that the archive has begun with, or begun anew.
	Chain uint64 `json:"chain"`
	// Session is the time in which the cluster was archived without a break. A new one begins when the archive is turned
	// on again.
	Session string `json:"session,omitempty"`
	// Lines are the lines of history of the chain up to this segment, in order. The last one is the segment's own.
	Lines []Line `json:"lines"`
	// Seqno is not before Last in Galera's history; 0 when it is not known.
	Seqno int64 `json:"seqno,omitempty"`
	// Held is a seqno up to which the chain has every transaction of its line of history; 0 when it is not known.
	Held int64 `json:"held,omitempty"`
	// Seqnos reports whether every transaction that names a seqno names Galera's.
	Seqnos bool `json:"seqnos,omitempty"`
	// Anchors are the seqnos of some transactions, in order: of the first that names its seqno, and of those whose seqno
	// is not as many after that of the one before as their number is.
	Anchors []Anchor `json:"anchors,omitempty"`
	// Unnamed are the numbers of the first transactions that name no seqno: statements that change tables.
	Unnamed []uint64 `json:"unnamed,omitempty"`
	// Previous is the last transaction of the segment before; First and Last are those of this one. PreviousSeqno is not
	// before Previous in Galera's history; 0 when it is not known.
	Previous      GTID  `json:"previous,omitzero"`
	PreviousSeqno int64 `json:"previousSeqno,omitempty"`
	// PreviousHeld is a seqno that what follows Previous is after, though it may name none; 0 when none is known.
	PreviousHeld int64 `json:"previousHeld,omitempty"`
	First        GTID  `json:"first,omitzero"`
	Last         GTID  `json:"last,omitzero"`
	// BeforeLast is the transaction before Last, and LastSum the checksum of Last's content: an archiver that goes on here
	// makes sure that the cluster still has the same history.
	BeforeLast GTID   `json:"beforeLast,omitzero"`
	LastSum    string `json:"lastSum,omitempty"`
	// Foreign are the last transactions of other servers that the cluster had replicated when the chain began. Later ones
	// end it.
	Foreign []GTID `json:"foreign,omitempty"`
	// From is a seqno of Galera's history that Foreign are not after, 0 when it is not known: data from there on hold
	// them.
	From int64 `json:"from,omitempty"`
	// Holes are the numbers that are missing between Previous and Last.
	Holes []Hole `json:"holes,omitempty"`
	// Times bound what the transactions say of their time, and FirstTime and LastTime are those of the first and the last
	// one within them.
	Times
	FirstTime time.Time `json:"firstTime,omitzero"`
	LastTime  time.Time `json:"lastTime,omitzero"`
	// Earliest is the earliest time of a transaction, wherever it is in the segment.
	Earliest time.Time `json:"earliest,omitzero"`
	// Through is a time until which the archive had everything that was committed.
	Through time.Time `json:"through,omitzero"`
	// Transactions and Bytes are what the binary log holds.
	Transactions int   `json:"transactions"`
	Bytes        int64 `json:"bytes"`
	// SHA256 is the checksum of what follows the head, in hexadecimal, and Size its length.
	SHA256     string   `json:"sha256,omitempty"`
	Size       int64    `json:"size,omitempty"`
	Recipients []string `json:"recipients,omitempty"`

	// Checksum is that of the head's own line, which covers all of the segment and those before it. It is not stored here.
	Checksum string `json:"-"`
	// Unreadable is why nothing but the Number is known, "" for a head that was read.
	Unreadable string `json:"-"`
}

// Line is the line of history that the segment's transactions are of.
func (h Head) Line() Line {
	if len(h.Lines) == 0 {
		return Line{}
	}
	return h.Lines[len(h.Lines)-1]
}

// LineOf is the line of history in which the chain up to the segment has a transaction. Where that is not known it is
// the last one that may be.
func (h Head) LineOf(g GTID) Line {
	i := len(h.Lines) - 1
	for i > 0 && g.Seq <= h.Lines[i].After.Seq {
		i--
	}
	if i < 0 {
		return Line{}
	}
	return h.Lines[i]
}

// Start is the transaction after which a segment goes on.
func (h Head) Start() GTID {
	if h.Begins {
		return h.Last
	}
	return h.Previous
}

// StartSeqno is not before Start in Galera's history; 0 when it is not known.
func (h Head) StartSeqno() int64 {
	if h.Begins {
		return h.Seqno
	}
	return h.PreviousSeqno
}

// SeqnoAtLeast is the least seqno that the transaction of a number may have, 0 when nothing is known: each transaction
// takes one, and so does each that has failed.
func (h Head) SeqnoAtLeast(number uint64) int64 {
	var of Anchor
	for _, a := range h.Anchors {
		if a.Number <= number {
			of = a
		}
	}
	if of.Seqno == 0 || !h.Seqnos {
		return 0
	}
	after := number - of.Number
	for _, hole := range h.Holes {
		if hole.After.Seq >= of.Number && hole.After.Seq < number {
			after -= min(hole.Next.Seq-1, number) - hole.After.Seq // not all numbers of a hole were taken, one by one
		}
	}
	return of.Seqno + int64(after) //nolint:gosec // a seqno is positive
}

// LastAtLeast is the least seqno that Last may have, 0 when nothing is known. The seqnos that transactions name count,
// also where no node has shown that they are Galera's.
func (h Head) LastAtLeast() int64 {
	if h.Begins {
		return 0
	}
	h.Seqnos = true
	least := h.SeqnoAtLeast(h.Last.Seq)
	if h.PreviousHeld > 0 {
		least = max(least, h.PreviousHeld+int64(h.Transactions))
	}
	return least
}

// Names reports whether SeqnoAtLeast returns the very seqno of a transaction: it names that, as far as is known.
func (h Head) Names(number uint64) bool {
	unnamed, anchors := len(h.Unnamed), len(h.Anchors)
	return h.SeqnoAtLeast(number) > 0 && !slices.Contains(h.Unnamed, number) && (unnamed < maxUnnamed ||
		number < h.Unnamed[unnamed-1]) && (anchors < maxAnchors || number <= h.Anchors[anchors-1].Number)
}

// IsUnnamed reports whether a transaction names no seqno, or may name none.
func (h Head) IsUnnamed(number uint64) bool {
	if slices.ContainsFunc(h.Anchors, func(a Anchor) bool { return a.Number == number }) {
		return false
	}
	return slices.Contains(h.Unnamed, number) ||
		len(h.Unnamed) == maxUnnamed && number > h.Unnamed[maxUnnamed-1]
}

// AddAnchor notes the seqno of a transaction, 0 for one that does not name it, unless SeqnoAtLeast returns it already:
// after a hole it does not.
func (h *Head) AddAnchor(number uint64, seqno int64) {
	if seqno == 0 && len(h.Unnamed) < maxUnnamed {
		h.Unnamed = append(h.Unnamed, number)
	}
	if seqno == 0 || len(h.Anchors) == maxAnchors {
		return
	}
	if n := len(h.Anchors); n > 0 {
		last := h.Anchors[n-1]
		follows := seqno-last.Seqno == int64(number-last.Number) //nolint:gosec // a seqno is positive
		between := func(o Hole) bool { return o.After.Seq >= last.Number && o.After.Seq < number }
		if follows && !slices.ContainsFunc(h.Holes, between) {
			return
		}
	}
	h.Anchors = append(h.Anchors, Anchor{Number: number, Seqno: seqno})
}

// End is the latest time that the segment describes.
func (h Head) End() time.Time { return Later(h.LastTime, h.Through, h.Ceiling, h.LateCeiling) }

// Empty reports whether the segment has no binary log.
func (h Head) Empty() bool { return h.Begins || h.Continues }

// Directory has the segments, below the directory of a cluster (manifest.Dir).
const Directory = "binlog"

// Dir is where the archive of a cluster lies.
func Dir(cluster string) string { return path.Join(cluster, Directory) }

const digits = 12

// Name of a segment below the archive's directory.
func Name(number uint64) string { return fmt.Sprintf("%0*d", digits, number) }

// Key of a segment in the archive's directory: a thousand of them share one, so that few are listed to find the last
// ones.
func Key(number uint64) string { return path.Join(Part(number), Name(number)) }

// Part is the directory of a segment, below the archive's.
func Part(number uint64) string { return fmt.Sprintf("%0*d", digits-3, number/1000) }

// Number of the segment of that name; false for what is none.
func Number(name string) (uint64, bool) {
	base := path.Base(name)
	n, err := strconv.ParseUint(base, 10, 64)
	return n, err == nil && len(base) == digits
}

// ThroughName is the object that describes how far the archive is while nothing is written to the database.
const ThroughName = "through.json"

// Through is what it holds: until Time nothing was committed after Last, where the segment of that number ends. Held is
// as in the Head.
type Through struct {
	Time    time.Time `json:"time"`
	Last    GTID      `json:"last"`
	Segment uint64    `json:"segment"`
	Held    int64     `json:"held,omitempty"`
}

// Encode is the head's line. It sets the Checksum.
func (h *Head) Encode() ([]byte, error) {
	h.Why = cut(h.Why, maxWhy)
	for i := range h.Holes {
		h.Holes[i].Why = cut(h.Holes[i].Why, maxHoleWhy)
	}
	text, err := json.Marshal(h)
	if err == nil && len(text) >= MaxHead {
		err = fmt.Errorf("the head of a segment has %d bytes", len(text))
	}
	h.Checksum = checksum(text)
	return append(text, '\n'), err
}

// cut shortens a text. It keeps no part of a character.
func cut(text string, most int) string { return strings.ToValidUTF8(text[:min(len(text), most)], "") }

func checksum(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
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
	h.Checksum = checksum(line)
	switch {
	case h.Format > FormatVersion || h.Format < 1:
		return h, 0, fmt.Errorf("the segment has format %d, and this program reads %d: use a later release", h.Format,
			FormatVersion)
	case h.Format < FormatVersion || !h.Line().Known():
		return h, 0,
			errors.New("the segment does not name its line of history: it was written by an earlier build, and is not used")
	}
	return h, len(line) + 1, nil
}
