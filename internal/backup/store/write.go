package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"time"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
)

// chunkTime is how long Google's client repeats a part of an upload by itself.
const chunkTime = 5 * time.Second

// Write stores an object, in the place of another one of its name.
func Write(ctx context.Context, b *Bucket, key string, data []byte) error {
	return write(ctx, b, key, bytes.NewReader(data), false)
}

// Create stores an object, unless there is one of its name: Taken says so of the error.
func Create(ctx context.Context, b *Bucket, key string, from io.Reader) error {
	return write(ctx, b, key, from, true)
}

// write is the only way to store anything. The library's writers, which are written to, panic when Azure refuses; and what they are given is stored
// even if there was to be more.
func write(ctx context.Context, b *Bucket, key string, from io.Reader, once bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kind := "application/octet-stream"
	if path.Ext(key) == ".json" {
		kind = "application/json"
	}
	whole := &whole{from: from, cut: cancel}
	err := b.Upload(ctx, key, whole, &blob.WriterOptions{IfNotExist: once, ContentType: kind, BeforeWrite: unrepeated})
	if whole.err != nil {
		return whole.err
	}
	return err
}

// unrepeated has Google's client repeat nothing by itself: it would do so for as long as the service is away.
func unrepeated(as func(any) bool) error {
	var object **storage.ObjectHandle
	if as(&object) {
		*object = (*object).Retryer(storage.WithPolicy(storage.RetryNever))
	}
	var writer *storage.Writer
	if as(&writer) {
		writer.ChunkRetryDeadline = chunkTime
	}
	return nil
}

// whole ends the upload when it cannot be read to its end.
type whole struct {
	from io.Reader
	cut  context.CancelFunc
	err  error
}

// Read implements io.Reader.
func (w *whole) Read(to []byte) (int, error) {
	n, err := w.from.Read(to)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
		w.cut()
	}
	return n, err
}
