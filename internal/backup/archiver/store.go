package archiver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"filippo.io/age"
	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// putTries is how many times a segment is tried, for putTime and as long as it takes at putRate, in bytes per second,
	// each time.
	putTries = 3
	putTime  = 5 * time.Minute
	putRate  = 256 << 10
)

// errTaken is returned for a segment that another archiver has stored.
var errTaken = errors.New("the segment exists")

// place is where the archive ends: the head of its last segment.
type place struct{ binlog.Head }

// verifies reports whether the last transaction can be compared with the node's.
func (p place) verifies() bool { return p.LastSum != "" && p.BeforeLast != binlog.GTID{} }

// resume is the transaction after which a node is followed.
func (p place) resume() binlog.GTID {
	if p.verifies() {
		return p.BeforeLast
	}
	return p.Last
}

// held is the seqno up to which the archive has all there, 0 when it is not known.
func (p place) held() int64 {
	if p.Begins {
		return p.Seqno
	}
	return max(p.Held, p.SeqnoAtLeast(p.Last.Seq))
}

// least is the seqno of the last transaction, at least; 0 when none is known. What follows is after it. A chain begins
// with a seqno that a node has reported later: what that node's binary log lacks, or has got since, may be before it.
func (p place) least() int64 { return p.SeqnoAtLeast(p.Last.Seq) }

// archive is the store's side.
type archive struct {
	bucket     *store.Bucket
	cluster    string // the directory of the cluster's backups
	dir        string
	recipients []age.Recipient
	names      []string
	create     func(ctx context.Context, b *store.Bucket, key string, from io.Reader) error
}

func newArchive(bucket *store.Bucket, t task.Archive) (*archive, error) {
	a := &archive{bucket: bucket, cluster: t.Dir, dir: binlog.Dir(t.Dir), names: t.Recipients, create: store.Create}
	if t.SingleWriter {
		a.create = store.CreateAlone
	}
	for _, key := range t.Recipients {
		r, err := age.ParseX25519Recipient(key)
		if err != nil {
			return nil, fmt.Errorf("the recipient %s: %w", key, err)
		}
		a.recipients = append(a.recipients, r)
	}
	return a, nil
}

func (a *archive) key(number uint64) string { return path.Join(a.dir, binlog.Key(number)) }

// list has the numbers of the segments below a prefix.
func (a *archive) list(ctx context.Context, prefix string) (out []uint64, err error) {
	out, _, err = a.listSized(ctx, prefix)
	return out, err
}

// listSized also returns how many bytes they are together.
func (a *archive) listSized(ctx context.Context, prefix string) (out []uint64, bytes int64, err error) {
	objects := a.bucket.List(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, bytes, nil
		}
		if err != nil {
			return nil, 0, explained("the archive could not be listed", err)
		}
		if n, ok := binlog.Number(o.Key); ok {
			out, bytes = append(out, n), bytes+o.Size
		}
	}
}

// head reads that of a segment.
func (a *archive) head(ctx context.Context, number uint64) (binlog.Head, error) {
	h, err := store.Head(ctx, a.bucket, a.key(number))
	if err != nil {
		return h, explained("the segment "+binlog.Name(number)+" could not be read", err)
	}
	return h, nil
}

// load finds where the archive ends.
func (a *archive) load(ctx context.Context) (place, error) {
	parts, err := a.directories(ctx, a.dir)
	for i := len(parts) - 1; i >= 0 && err == nil; i-- { // the last one, but for what is not complete
		var all []uint64
		if all, err = a.list(ctx, path.Join(a.dir, parts[i])+"/"); len(all) > 0 && err == nil {
			h, err := a.head(ctx, slices.Max(all))
			return place{h}, err
		}
	}
	return place{}, err
}

// idle is until when nothing was written after a place, as far as it is stored.
func (a *archive) idle(ctx context.Context, at place) (t binlog.Through, err error) {
	text, err := a.bucket.ReadAll(ctx, path.Join(a.dir, binlog.ThroughName))
	if err != nil && !store.Missing(err) {
		return t, explained("an object could not be read", err)
	}
	if json.Unmarshal(text, &t) != nil || t.Segment != at.Number || t.Last != at.Last {
		return binlog.Through{}, nil //nolint:nilerr // one that cannot be read states nothing
	}
	return t, nil
}

// put stores a segment, unless there is one of its number, and completes its head. One that was stored late, in the
// place of a segment that was lost, is taken back: it would hide that one is missing.
func (a *archive) put(ctx context.Context, h *binlog.Head, s *spool) error {
	if err := a.write(ctx, h, s); err != nil {
		return err
	}
	next, err := store.Head(ctx, a.bucket, a.key(h.Number+1))
	switch {
	case store.Missing(err), errors.Is(err, store.ErrHead):
		return nil
	case err != nil:
		return explained("the segment "+binlog.Name(h.Number+1)+" could not be read", err)
	case policy.Follows(*h, next):
		return nil
	}
	if err := a.bucket.Delete(ctx, a.key(h.Number)); err != nil && !store.Missing(err) {
		return explained("a segment could not be deleted", err)
	}
	return errTaken
}

func (a *archive) write(ctx context.Context, h *binlog.Head, s *spool) error {
	if s != nil {
		h.Recipients = a.names
		if err := s.end(h); err != nil {
			return err
		}
	}
	head, err := h.Encode()
	if err != nil {
		return err
	}
	for try := range putTries {
		if err = a.putOnce(ctx, h.Number, head, s); err == nil {
			return nil
		}
		if store.Taken(err) {
			have, headErr := a.head(ctx, h.Number)
			if headErr == nil && have.Checksum == h.Checksum {
				return nil // an attempt before was not heard
			}
			return errTaken
		}
		if _, final := store.Reason(err); final || ctx.Err() != nil {
			break
		}
		select {
		case <-time.After(time.Second << try):
		case <-ctx.Done():
		}
	}
	return explained("a segment could not be written", err)
}

func (a *archive) putOnce(ctx context.Context, number uint64, head []byte, s *spool) error {
	var size int64
	if s != nil {
		size = s.size
	}
	ctx, cancel := context.WithTimeout(ctx, putTime+time.Duration(size/putRate)*time.Second)
	defer cancel()
	var body io.Reader = bytes.NewReader(head)
	if s != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		body = io.MultiReader(body, s.file)
	}
	return a.create(ctx, a.bucket, a.key(number), body)
}

// writeThrough stores how far the archive is while nothing is written.
func (a *archive) writeThrough(ctx context.Context, t binlog.Through) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := store.Write(ctx, a.bucket, path.Join(a.dir, binlog.ThroughName), text); err != nil {
		return explained("an object could not be written", err)
	}
	return nil
}

// storeError is one of the store, in its words.
type storeError struct {
	reason string
	text   string
}

// Error implements error.
func (e storeError) Error() string { return e.text }

func explained(doing string, err error) error {
	reason, _ := store.Reason(err)
	return storeError{reason, doing + ": " + store.Explain(err)}
}
