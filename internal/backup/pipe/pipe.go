// Package pipe carries the plaintext of a backup over a Unix socket: from the container that holds the private key and
// the store's credentials to the one that runs the cluster's image, and has neither. Data count only when their End has
// arrived: whatever breaks off before, because a container was killed, is an error.
package pipe

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
)

const (
	// connectTime bounds how long the socket may be missing: kubelet starts its container before, and starts it again
	// when it has ended.
	connectTime  = 2 * time.Minute
	connectPause = 200 * time.Millisecond
	// maxRequest and maxEnd bound what either side reads into memory.
	maxRequest = 4 << 10
	maxEnd     = 1 << 20
	// bufferSize is what is read and written at a time. What comes in larger pieces is not copied into a buffer before.
	bufferSize = 256 << 10
	largePiece = 32 << 10
	// headers is the buffer for what stands between the data.
	headers = 4 << 10
)

// What can be asked for.
const (
	Manifest = "manifest"
	Stream   = "stream"
	Relay    = "relay"
	Archive  = "archive"
)

// Request is what the cluster's image may choose: never which backup, nor where it lies.
type Request struct {
	What string `json:"what"`
	// Step is how many backups before the task's own in its chain are meant: 0 for that one, 1 for its base.
	Step int `json:"step,omitempty"`
	// Base is the last transaction that the restored data hold.
	Base binlog.GTID `json:"base,omitzero"`
}

// End is the last message of an answer.
type End struct {
	// Bytes is the length of the data before it.
	Bytes int64 `json:"bytes"`
	// Error is why the answer is incomplete, "" when it is complete; Reason, Fatal and Damaged are those of task.Result.
	Error   string `json:"error,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Fatal   bool   `json:"fatal,omitempty"`
	Damaged string `json:"damaged,omitempty"`

	Manifest *manifest.Manifest `json:"manifest,omitempty"`
	Relayed  *Relayed           `json:"relayed,omitempty"`
	// Segments are those of the archive that were tested.
	Segments int `json:"segments,omitempty"`
}

// Relayed is what the relay log holds.
type Relayed struct {
	// Last is its last transaction, Count how many there are, Late how many later ones name a time before the target.
	// Reached is the last one that the data hold then: it may be later than Last if there is none.
	Last    binlog.GTID `json:"last"`
	Reached binlog.GTID `json:"reached"`
	Count   int         `json:"count,omitempty"`
	Late    int         `json:"late,omitempty"`
}

// ErrBroken is returned when an answer has no End.
var ErrBroken = errors.New("the connection was closed before the end of the answer")

// Sink takes the data of an answer.
type Sink interface {
	io.Writer
	// Truncate drops what was written after size bytes. The next byte is written there.
	Truncate(size int64) error
}

// Kinds of messages. Each begins with a byte for its kind and eight for a number.
const (
	kindData     = 1 // the number is the length of the data that follow
	kindTruncate = 2 // the number is a size
	kindEnd      = 3 // the number is the length of the End that follows, in JSON
)

const headerSize = 9

// Writer sends the data of an answer. It is a Sink.
type Writer struct {
	w     *bufio.Writer
	conn  net.Conn // below w
	bytes int64
	err   error
}

func (w *Writer) header(kind byte, n int64) {
	if w.err == nil {
		_, w.err = w.w.Write(header(kind, n))
	}
}

func header(kind byte, n int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, uint64(n)) //nolint:gosec // sizes are not negative
}

// Write implements io.Writer.
func (w *Writer) Write(data []byte) (n int, err error) {
	if len(data) >= largePiece {
		return w.writeLarge(data)
	}
	w.header(kindData, int64(len(data)))
	if w.err == nil {
		n, w.err = w.w.Write(data)
		w.bytes += int64(n)
	}
	return n, w.err
}

// writeLarge writes data and their header at once.
func (w *Writer) writeLarge(data []byte) (int, error) {
	if w.err == nil {
		w.err = w.w.Flush()
	}
	if w.err != nil {
		return 0, w.err
	}
	var all int64
	both := net.Buffers{header(kindData, int64(len(data))), data}
	all, w.err = both.WriteTo(w.conn)
	n := max(0, all-headerSize)
	w.bytes += n
	return int(n), w.err
}

// Truncate implements Sink.
func (w *Writer) Truncate(size int64) error {
	w.header(kindTruncate, size)
	return w.err
}

func (w *Writer) end(e End) error {
	e.Bytes = w.bytes
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	w.header(kindEnd, int64(len(text)))
	if w.err == nil {
		_, w.err = w.w.Write(text)
	}
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// Serve answers one request at a time, until ctx is done.
func Serve(ctx context.Context, socket string, answer func(context.Context, Request, *Writer) End) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		serve(ctx, conn, answer)
	}
}

func serve(ctx context.Context, conn net.Conn, answer func(context.Context, Request, *Writer) End) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	var r Request
	if err := json.NewDecoder(io.LimitReader(conn, maxRequest)).Decode(&r); err != nil {
		return // anyone who asks this way gets no answer
	}
	w := &Writer{w: bufio.NewWriterSize(conn, bufferSize), conn: conn}
	e := answer(ctx, r, w)
	if ctx.Err() == nil { // an answer that was cut off has no end
		_ = w.end(e)
	}
}

// Ask sends a request, writes the data of its answer to the sink, and returns its End. The error is ErrBroken, the
// sink's, or that of ctx.
func Ask(ctx context.Context, socket string, r Request, to Sink) (End, error) {
	conn, err := connect(ctx, socket)
	if err != nil {
		return End{}, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	text, err := json.Marshal(r)
	if err != nil {
		return End{}, err
	}
	if _, err := conn.Write(text); err != nil {
		return End{}, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return receive(unbroken{bufio.NewReaderSize(conn, headers)}, to)
}

func connect(ctx context.Context, socket string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err == nil {
			return conn, nil
		}
		select {
		case <-time.After(connectPause):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrBroken, err)
		}
	}
}

// unbroken makes any end of a connection an ErrBroken.
type unbroken struct{ r io.Reader }

// Read implements io.Reader.
func (u unbroken) Read(to []byte) (int, error) {
	n, err := u.r.Read(to)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return n, err
}

func receive(from io.Reader, to Sink) (End, error) {
	var header [headerSize]byte
	buffer := make([]byte, bufferSize)
	for have := int64(0); ; {
		if _, err := io.ReadFull(from, header[:]); err != nil {
			return End{}, err
		}
		n := int64(binary.BigEndian.Uint64(header[1:])) //nolint:gosec // sizes are not negative
		switch header[0] {
		case kindData:
			if err := pass(from, to, n, buffer); err != nil {
				return End{}, err
			}
			have += n
		case kindTruncate:
			if err := to.Truncate(n); err != nil {
				return End{}, err
			}
		case kindEnd:
			return end(io.LimitReader(from, min(n, maxEnd)), n, have)
		default:
			return End{}, fmt.Errorf("%w: no message of the kind %d is known", ErrBroken, header[0])
		}
	}
}

// pass writes the next n bytes to a sink, as much at a time as the buffer holds.
func pass(from io.Reader, to io.Writer, n int64, buffer []byte) error {
	for n > 0 {
		piece := buffer[:min(n, int64(len(buffer)))]
		got, err := io.ReadFull(from, piece)
		if got > 0 { // also what has come before the connection broke
			if _, err := to.Write(piece[:got]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		n -= int64(got)
	}
	return nil
}

// end reads an End of n bytes, after have bytes of data.
func end(from io.Reader, n, have int64) (e End, err error) {
	text, err := io.ReadAll(from)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("%w: an end of %d bytes: %w", ErrBroken, n, err)
	}
	if e.Error == "" && e.Bytes != have {
		return e, fmt.Errorf("%w: %d bytes of %d have arrived", ErrBroken, have, e.Bytes)
	}
	return e, nil
}
