package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
)

// ahead is how many parts are fetched before they are needed.
const ahead = 2

// maxWindow bounds the memory that a compressed stream may ask for, in bytes.
const maxWindow = 128 << 20

// ErrWrongKey is returned when none of the private keys opens a backup.
var ErrWrongKey = errors.New("none of the private keys opens this backup")

// Get fetches a part.
type Get func(ctx context.Context, index int) ([]byte, error)

// Read writes the stream of a backup to dst. Whatever was changed, lost or put in another order since is an error,
// before or after a part of the stream has been written: what was written counts only when Read returns nil.
func Read(ctx context.Context, m manifest.Manifest, get Get, keys []age.Identity, dst io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sealed := &fetched{ctx: ctx, next: fetch(ctx, m.Parts, get)}
	plain, err := age.Decrypt(sealed, keys...)
	var noMatch *age.NoIdentityMatchError
	switch {
	case sealed.err != nil:
		return sealed.err
	case errors.As(err, &noMatch):
		return fmt.Errorf("%w; it was encrypted for %v", ErrWrongKey, m.Recipients)
	case err != nil:
		return fmt.Errorf("the backup cannot be opened: %w", err)
	}
	summed := newSummed(dst)
	n, err := unpack(m.Compression, plain, summed)
	sum := summed.end()
	switch {
	case sealed.err != nil:
		return sealed.err
	case err != nil:
		return err
	case n != m.StreamBytes || hex.EncodeToString(sum) != m.StreamSHA256:
		return fmt.Errorf("the backup is not what its manifest says: %d bytes of %d", n, m.StreamBytes)
	}
	return nil
}

// Check reads all parts and compares them with their checksums. It needs no key, and shows nothing about what is in
// them.
func Check(ctx context.Context, m manifest.Manifest, get Get) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := io.Copy(io.Discard, &fetched{ctx: ctx, next: fetch(ctx, m.Parts, get)})
	return err
}

func unpack(compression string, src io.Reader, dst io.Writer) (int64, error) {
	if compression != manifest.CompressionZstd {
		n, err := io.Copy(dst, src)
		return n, altered(err)
	}
	packed, err := zstd.NewReader(src, zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return 0, err
	}
	defer packed.Close()
	n, err := io.Copy(dst, packed)
	if err == nil {
		_, err = io.Copy(io.Discard, src) // only its end proves that nothing was cut off
	}
	return n, altered(err)
}

// altered names what is no failure of the destination.
func altered(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the backup cannot be read to its end: %w", err)
}

// fetched are the parts as one stream.
type fetched struct {
	ctx  context.Context
	next <-chan (<-chan part)
	data []byte
	err  error
}

type part struct {
	data []byte
	err  error
}

// fetch begins with some parts before they are asked for. A part is fetched by a goroutine of its own; they come in
// order.
func fetch(ctx context.Context, parts []manifest.Part, get Get) <-chan (<-chan part) {
	next := make(chan (<-chan part), ahead)
	go func() {
		defer close(next)
		for i, want := range parts {
			one := make(chan part, 1)
			go func() { one <- fetchOne(ctx, i, want, get) }()
			select {
			case next <- one:
			case <-ctx.Done():
				return
			}
		}
	}()
	return next
}

func fetchOne(ctx context.Context, index int, want manifest.Part, get Get) part {
	data, err := get(ctx, index)
	if err != nil {
		return part{err: fmt.Errorf("%s: %w", manifest.PartName(index), err)}
	}
	if sum := sha256.Sum256(data); int64(len(data)) != want.Size || hex.EncodeToString(sum[:]) != want.SHA256 {
		return part{err: fmt.Errorf("%s is not what was stored: it has %d bytes of %d, or another checksum",
			manifest.PartName(index), len(data), want.Size)}
	}
	return part{data: data}
}

// Read implements io.Reader.
func (f *fetched) Read(to []byte) (int, error) {
	for len(f.data) == 0 && f.err == nil {
		select {
		case one, more := <-f.next:
			if !more {
				if err := f.ctx.Err(); err != nil {
					f.err = err
					return 0, err
				}
				return 0, io.EOF
			}
			p := <-one
			f.data, f.err = p.data, p.err
		case <-f.ctx.Done():
			f.err = f.ctx.Err()
		}
	}
	if f.err != nil {
		return 0, f.err
	}
	n := copy(to, f.data)
	f.data = f.data[n:]
	return n, nil
}
