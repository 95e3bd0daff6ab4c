package runner

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob"
	"golang.org/x/time/rate"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/mbstream"
	"github.com/galera-operator/galera-operator/internal/backup/pipe"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// maxFiles bounds how many files of a folder are listed, and maxWindow the memory that a compressed stream may ask for.
const (
	maxFiles  = 1 << 20
	maxWindow = 128 << 20
)

// storedBackup is a backup of another server in a store: what mariadb-backup has written there, and no manifest. It is
// read, and nothing else.
type storedBackup struct {
	bucket *store.Bucket
	path   string
	limit  *rate.Limiter // nil for none
}

// storedFile is an object of it.
type storedFile struct {
	key  string // below the folder
	size int64
	// modified and sum tell it from one that replaces it, as far as the store has them.
	modified int64
	sum      string
}

// folder is the beginning of the keys of a folder's objects.
func (b storedBackup) folder() string { return strings.TrimRight(b.path, "/") + "/" }

// stream is the object with all of the backup. is is false if there is none.
func (b storedBackup) stream(ctx context.Context) (o storedFile, is bool, err error) {
	if strings.HasSuffix(b.path, "/") {
		return o, false, nil
	}
	err = again(ctx, "the backup could not be looked for", func(ctx context.Context) error {
		about, err := b.bucket.Attributes(ctx, b.path)
		switch {
		case store.Missing(err):
			return nil
		case err != nil:
			return err
		}
		o, is = storedFile{size: about.Size, modified: about.ModTime.UnixNano(), sum: about.ETag}, true
		return nil
	})
	return o, is, err
}

// files are those of the folder.
func (b storedBackup) files(ctx context.Context) (out []storedFile, err error) {
	prefix := b.folder()
	err = again(ctx, "the backup's files could not be listed", func(ctx context.Context) error {
		out = nil
		for all := b.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
			o, err := all.Next(ctx)
			if errors.Is(err, io.EOF) {
				slices.SortFunc(out, func(a, b storedFile) int { return strings.Compare(a.key, b.key) })
				return nil
			}
			if err != nil {
				return err
			}
			key := strings.TrimPrefix(o.Key, prefix)
			switch {
			case key == "" || strings.HasSuffix(key, "/"): // consoles show these as folders
				continue
			case !filepath.IsLocal(key) || path.Clean(key) != key:
				return refusedBackup("its folder has an object %q, which is no name of a file", key)
			case len(key) > mbstream.MaxPath:
				return refusedBackup("its folder has an object with a name of %d bytes, and mbstream takes %d", len(key),
					mbstream.MaxPath)
			case len(out) == maxFiles:
				return refusedBackup("its folder has more than %d objects", maxFiles)
			}
			out = append(out, storedFile{key, o.Size, o.ModTime.UnixNano(), string(o.MD5)})
		}
	})
	return out, err
}

// answer does what a request asks for. Of the manifest, which it has none of, there is the size.
func (b storedBackup) answer(ctx context.Context, r pipe.Request, w *pipe.Writer) (end pipe.End) {
	var err error
	switch r.What {
	case pipe.Manifest:
		end.Manifest = &manifest.Manifest{ID: b.path}
		end.Manifest.StreamBytes, err = b.describe(ctx)
	case pipe.Stream:
		say("reading %s", b.path)
		err = b.send(ctx, w)
	default:
		err = fmt.Errorf("%q cannot be asked for", r.What)
	}
	if err != nil {
		return endOf(err)
	}
	return end
}

// describe reports how many bytes the backup has in the store, and refuses what is none. A folder is one that has what
// mariadb-backup writes last.
func (b storedBackup) describe(ctx context.Context) (bytes int64, err error) {
	o, is, err := b.stream(ctx)
	if err != nil {
		return 0, err
	}
	if is {
		r, err := b.open(ctx, o.size)
		if err == nil {
			_ = r.Close()
			return o.size, nil
		}
		return 0, b.ofChanged(ctx, o, err)
	}
	all, err := b.files(ctx)
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, because(task.ReasonBackupNotFound, fmt.Errorf(
			"the store has no object %q, and none in a folder of that name: correct spec.bootstrapFrom.external.backup.path, "+
				"which begins below the store's prefix, or upload the backup", b.path))
	}
	names := map[string]bool{}
	for _, f := range all {
		names[f.key] = true
		bytes += f.size
	}
	if names[manifest.Name] {
		return 0, refusedBackup("it is one of the operator's own: name it in spec.bootstrapFrom.store instead")
	}
	if err := whole(func(name string) bool { return names[name] }, because); err != nil { // it may be uploaded just now
		return 0, err
	}
	return bytes, b.refuseEarlier(ctx, all)
}

// send writes the backup as the stream of mariadb-backup. One that has changed meanwhile may be put together from two.
func (b storedBackup) send(ctx context.Context, to io.Writer) error {
	o, is, err := b.stream(ctx)
	if err != nil {
		return err
	}
	if is {
		r, err := b.open(ctx, o.size)
		if err == nil {
			err = copyStored(to, r)
			_ = r.Close()
		}
		return b.ofChanged(ctx, o, err)
	}
	all, err := b.files(ctx)
	if err != nil {
		return err
	}
	w := mbstream.NewWriter(to)
	for _, f := range all {
		err := w.Begin(f.key)
		if err == nil {
			r := b.reader(ctx, b.folder()+f.key, f.size)
			err = copyStored(w, r)
			_ = r.Close()
		}
		if err == nil {
			err = w.End()
		}
		if err != nil {
			return err
		}
	}
	if now, err := b.files(ctx); err != nil || !slices.Equal(now, all) {
		return cmp.Or(err, changed(b.path))
	}
	return nil
}

// ofChanged is the end of an attempt at an object: of one that has changed meanwhile nothing is known for good, not
// even that it is damaged.
func (b storedBackup) ofChanged(ctx context.Context, was storedFile, err error) error {
	if _, final := explain(err); err != nil && !final {
		return err
	}
	if now, still, failed := b.stream(ctx); failed != nil || !still || now != was {
		return cmp.Or(failed, changed(b.path))
	}
	return err
}

// changed is the failure of an attempt at what another program has written to meanwhile. The next one reads it anew.
func changed(what string) error {
	return because(task.ReasonBackupDamaged, fmt.Errorf("%q was changed while it was read: wait until all of the backup "+
		"is uploaded, and upload one backup only to a path", what))
}

// copyStored distinguishes what cannot be read from what cannot be written.
func copyStored(to io.Writer, from io.Reader) error {
	_, err := io.CopyBuffer(to, unreadable{from}, make([]byte, 1<<20))
	return err
}

// unreadable names an error of what is read, unless it has a reason already.
type unreadable struct{ io.Reader }

// Read implements io.Reader.
func (u unreadable) Read(to []byte) (int, error) {
	n, err := u.Reader.Read(to)
	if err != nil && !errors.Is(err, io.EOF) && !isStore(err) {
		err = damagedStream(fmt.Errorf("the stream cannot be read to its end: %w", err))
	}
	return n, err
}

func damagedStream(err error) error {
	return fatal(task.ReasonBackupDamaged, fmt.Errorf("%w: upload the backup again, or make another one", err))
}

// open returns the stream in the object, decompressed: its first bytes show what it is, whatever it is called.
func (b storedBackup) open(ctx context.Context, size int64) (_ io.ReadCloser, err error) {
	if size < int64(len(mbstream.Magic)) {
		return nil, because(task.ReasonBackupDamaged, fmt.Errorf("the object %q has %d bytes, and no backup is as small: "+
			"wait until all of it is uploaded, or upload it again", b.path, size))
	}
	from := b.reader(ctx, b.path, size)
	all := opened{closes: []func() error{from.Close}}
	defer func() {
		if err != nil {
			_ = all.Close()
		}
	}()
	plain, end, err := unpacked(from)
	if err != nil {
		return nil, err
	}
	all.Reader, all.closes = plain, append(all.closes, end)
	head, err := plain.Peek(len(mbstream.Magic))
	switch {
	case isStore(err):
		return nil, err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, refusedBackup("the object %q is compressed by zstd with a window of more than %d MiB: compress it "+
			"without --long", b.path, maxWindow>>20)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, damagedStream(fmt.Errorf("the stream cannot be decompressed: %w", err))
	case string(head) != mbstream.Magic:
		return nil, refusedBackup("the object %q holds no stream of mariadb-backup --stream=mbstream, in clear or "+
			"compressed by gzip or zstd: decrypt it, or make one", b.path)
	}
	return all, nil
}

// opened is a reader with all that has to be closed after it.
type opened struct {
	io.Reader
	closes []func() error
}

// Close implements io.Closer: what was opened last is closed first.
func (o opened) Close() (err error) {
	for _, end := range slices.Backward(o.closes) {
		err = errors.Join(err, end())
	}
	return err
}

// unpacked decompresses what is compressed. end ends that.
func unpacked(r io.Reader) (plain *bufio.Reader, end func() error, err error) {
	from := bufio.NewReaderSize(r, 1<<20)
	head, err := from.Peek(4)
	switch {
	case isStore(err):
		return nil, nil, err
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, nil, damagedStream(err)
		}
		return bufio.NewReaderSize(z, 1<<20), z.Close, nil
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(from, zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, damagedStream(err)
		}
		return bufio.NewReaderSize(z, 1<<20), z.IOReadCloser().Close, nil
	}
	return from, func() error { return nil }, nil
}

// reader reads an object to its end, at the rate of the backup. It goes on where a connection has ended.
func (b storedBackup) reader(ctx context.Context, key string, size int64) io.ReadCloser {
	o := &resumed{ctx: ctx, bucket: b.bucket, key: key, size: size}
	if b.limit != nil {
		return opened{throttled{ctx, o, b.limit}, []func() error{o.Close}}
	}
	return o
}

// resumed reads an object of a known size.
type resumed struct {
	ctx      context.Context
	bucket   *store.Bucket
	key      string
	size, at int64
	r        *blob.Reader
}

// Close implements io.Closer.
func (o *resumed) Close() (err error) {
	if o.r != nil {
		err = o.r.Close()
		o.r = nil
	}
	return err
}

// Read implements io.Reader.
func (o *resumed) Read(to []byte) (n int, err error) {
	if o.at >= o.size {
		return 0, io.EOF
	}
	err = again(o.ctx, "the backup could not be read", func(ctx context.Context) (err error) {
		if o.r == nil {
			if o.r, err = o.bucket.NewRangeReader(ctx, o.key, o.at, o.size-o.at, nil); err != nil {
				o.r = nil
				if store.Missing(err) {
					return because(task.ReasonBackupNotFound, fmt.Errorf("the object %q is gone: upload it again", o.key))
				}
				return err
			}
			if o.r.Size() != o.size {
				return changed(o.key)
			}
		}
		n, err = o.r.Read(to)
		if n > 0 || err == nil {
			return nil
		}
		_ = o.Close()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // it has become shorter
		}
		return err
	})
	o.at += int64(n)
	if o.at >= o.size {
		_ = o.Close()
	}
	return n, err
}
