package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
)

// chunkTime is how long Google's client repeats a part of an upload by itself.
const chunkTime = 5 * time.Second

// mode is what becomes of an object of the same name.
type mode int

const (
	replace mode = iota
	// create is an error then; exclusive is, too, and where the store cannot determine what others create at the same
	// time.
	create
	exclusive
)

// Write stores an object, in the place of another one of its name.
func Write(ctx context.Context, b *Bucket, key string, data []byte) error {
	return write(ctx, b, key, bytes.NewReader(data), replace)
}

// Create stores an object, unless there is one of its name: Taken says so of the error.
func Create(ctx context.Context, b *Bucket, key string, from io.Reader) error {
	return write(ctx, b, key, from, create)
}

// CreateAlone is Create for a store that creates nothing conditionally, and that nothing else writes to.
func CreateAlone(ctx context.Context, b *Bucket, key string, from io.Reader) error {
	switch exists, err := Exists(ctx, b, key); {
	case err != nil:
		return err
	case exists:
		return errTaken
	}
	return write(ctx, b, key, from, replace)
}

// Exclusive shows that a store creates an object only if there is none of its name, anyone who has made that. It
// returns ErrShared if not.
func Exclusive(ctx context.Context, b *Bucket, key string) error {
	for i, text := range []string{"first", "second"} {
		err := write(ctx, b, key, strings.NewReader(text), exclusive)
		said, answered := answerOf(err)
		switch {
		case i == 1 && err == nil, answered && (said.status == http.StatusNotImplemented || said.is(unconditionalCodes)),
			isFiles(b) && noLinks(err):
			return ErrShared
		case i == 0 && err != nil && !Taken(err), i == 1 && !Taken(err): // the answer to the first may be lost
			return err
		}
	}
	return nil
}

// ErrShared is the error of a store in which two that create an object of one name both succeed.
var ErrShared = errors.New("it does not refuse to create an object that exists")

// unconditionalCodes report whether a service does not know the condition.
var unconditionalCodes = []string{"NotImplemented", "InvalidArgument", "InvalidRequest"}

// write is the only way to store anything. The library's writers, which are written to, panic when Azure refuses; and
// what they are given is stored even if there was to be more.
func write(ctx context.Context, b *Bucket, key string, from io.Reader, m mode) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kind := "application/octet-stream"
	if path.Ext(key) == ".json" {
		kind = "application/json"
	}
	files := isFiles(b)
	whole := &whole{from: from, cut: cancel}
	before := func(as func(any) bool) error {
		var f *os.File
		if as(&f) && files {
			whole.file = &file{f, m}
		}
		return unrepeated(as)
	}
	err := b.Upload(ctx, key, whole, &blob.WriterOptions{IfNotExist: m != replace && !files, ContentType: kind,
		BeforeWrite: before})
	switch {
	case whole.err != nil:
		return whole.err
	case err == nil && files && whole.file == nil:
		return errors.New("the volume was not written to")
	case err == nil && files:
		return whole.file.keep(key)
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
	file *file // nil but for a volume
	err  error
	done bool
}

// Read implements io.Reader.
func (w *whole) Read(to []byte) (int, error) {
	if w.done {
		return 0, io.EOF
	}
	n, err := w.from.Read(to)
	if errors.Is(err, io.EOF) && w.file != nil {
		if n > 0 { // it is written first
			return n, nil
		}
		if err = w.file.end(); err == nil {
			w.done = true
			return 0, io.EOF
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
		w.cut()
	}
	return n, err
}
