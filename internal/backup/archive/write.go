// Package archive turns a stream into encrypted parts, and back. Compression comes first, then encryption (age), then
// the division into parts of one size, each of which is held in memory until it is stored: so a failed upload of a part
// is repeated, and memory is bounded.
package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
)

const (
	// PartSize is the length of every part but the last.
	PartSize = 32 << 20
	// uploads is how many parts are in flight at the same time.
	uploads = 2
)

// Options of a Write.
type Options struct {
	Recipients  []age.Recipient
	Compression string
	// Level of Zstd: one of levels, "" for the fastest.
	Level string
	// PartSize in bytes; 0 is PartSize.
	PartSize int
	// Put stores a part. It may be called from several goroutines, and not in order.
	Put func(ctx context.Context, index int, data []byte) error
}

// levels are those of Zstd, by their names in the API.
var levels = map[string]zstd.EncoderLevel{"": zstd.SpeedFastest, "Fastest": zstd.SpeedFastest,
	"Default": zstd.SpeedDefault, "Better": zstd.SpeedBetterCompression, "Best": zstd.SpeedBestCompression}

// Written is what Write has stored.
type Written struct {
	Parts        []manifest.Part
	StreamBytes  int64
	StreamSHA256 string
}

// Write stores all of src. When it returns an error, src was not read to its end.
func Write(ctx context.Context, src io.Reader, o Options) (Written, error) {
	parts := newParts(ctx, o)
	sum := sha256.New()
	n, err := writeStream(parts, io.TeeReader(src, sum), o)
	if endErr := parts.end(err == nil); err == nil {
		err = endErr
	} else if cause := parts.failure(); cause != nil {
		err = cause // what failed first: the pipeline only states that it cannot write
	}
	return Written{Parts: parts.done, StreamBytes: n, StreamSHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

func writeStream(dst io.Writer, src io.Reader, o Options) (int64, error) {
	sealed, err := age.Encrypt(dst, o.Recipients...)
	if err != nil {
		return 0, err
	}
	var n int64
	if o.Compression == manifest.CompressionZstd {
		level, known := levels[o.Level]
		if !known {
			return 0, fmt.Errorf("the program knows no level of compression %q: it is older than the operator", o.Level)
		}
		packed, err := zstd.NewWriter(sealed, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(2))
		if err != nil {
			return 0, err
		}
		if n, err = io.Copy(packed, src); err != nil {
			return n, err
		}
		if err := packed.Close(); err != nil {
			return n, err
		}
	} else if n, err = io.Copy(sealed, src); err != nil {
		return n, err
	}
	return n, sealed.Close()
}

// parts divides what is written.
type parts struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	put    func(context.Context, int, []byte) error
	size   int

	buffer []byte
	done   []manifest.Part
	free   chan []byte
	wait   sync.WaitGroup
}

func newParts(ctx context.Context, o Options) *parts {
	p := &parts{put: o.Put, size: o.PartSize, free: make(chan []byte, uploads+1)}
	if p.size == 0 {
		p.size = PartSize
	}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	for range cap(p.free) {
		p.free <- nil // memory is taken when it is needed
	}
	return p
}

// Write implements io.Writer.
func (p *parts) Write(data []byte) (int, error) {
	written := 0
	for len(data) > 0 {
		if p.buffer == nil {
			if err := p.take(); err != nil {
				return written, err
			}
		}
		n := min(len(data), p.size-len(p.buffer))
		p.buffer = append(p.buffer, data[:n]...)
		data, written = data[n:], written+n
		if len(p.buffer) == p.size {
			p.flush()
		}
	}
	return written, nil
}

// take waits for memory: for an upload to end.
func (p *parts) take() error {
	select {
	case b := <-p.free:
		if b == nil {
			b = make([]byte, 0, p.size)
		}
		p.buffer = b[:0]
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

func (p *parts) flush() {
	data, index := p.buffer, len(p.done)
	p.buffer = nil
	sum := sha256.Sum256(data)
	p.done = append(p.done, manifest.Part{Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])})
	p.wait.Go(func() {
		if err := p.put(p.ctx, index, data); err != nil {
			p.cancel(err)
			return
		}
		p.free <- data
	})
}

// end stores what is left, if it is to be kept, and waits for all uploads.
func (p *parts) end(keep bool) error {
	if keep && len(p.buffer) > 0 {
		p.flush()
	}
	if !keep {
		p.cancel(errAbandoned)
	}
	p.wait.Wait()
	err := context.Cause(p.ctx)
	p.cancel(nil)
	return err
}

var errAbandoned = errors.New("abandoned")

// failure is why an upload failed, nil when none did.
func (p *parts) failure() error {
	if err := context.Cause(p.ctx); err != nil && !errors.Is(err, errAbandoned) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
