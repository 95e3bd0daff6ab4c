package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"filippo.io/age"
	"golang.org/x/time/rate"

	"github.com/galera-operator/galera-operator/internal/backup/archive"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/pipe"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// openSize is how much of a backup is read to try a key on it: the head, in which every recipient has some 200 bytes.
const openSize = 1 << 20

// fetcher runs in the operator's image, with the private key and the store. What the container with the cluster's image
// gets from it is the plaintext of one backup, and of the archive as far as the task names it.
type fetcher struct {
	bucket *store.Bucket
	keys   string // the directory with the private keys
	// dir and id name the backup, checksum its manifest unless it is "".
	dir, id, checksum string
	replay            *task.Replay
	limit             *rate.Limiter // of what is read of the backup, nil for none
	// stored is another server's backup, nil for one of the operator's.
	stored *storedBackup
}

// newFetcher returns the one of a task.
func newFetcher(bucket *store.Bucket, keys string, t task.Task) (fetcher, error) {
	f := fetcher{bucket: bucket, keys: keys}
	if t.Load != nil {
		t.Restore = &t.Load.Restore
	}
	from := cmp.Or(t.Import, t.Inspect)
	switch {
	case from != nil && from.Backup != "":
		f.stored = &storedBackup{bucket: bucket, path: from.Backup, limit: limiter(from.Rate)}
	case t.Restore != nil:
		f.dir, f.id, f.replay = t.Restore.Dir, t.Restore.ID, t.Restore.Replay
		f.checksum, f.limit = t.Restore.Checksum, limiter(t.Restore.Rate)
	case t.Verify != nil:
		f.dir, f.id, f.checksum = t.Verify.Dir, t.Verify.ID, t.Verify.Checksum
	default:
		return f, errors.New("the task restores no backup")
	}
	return f, nil
}

// Open shows that the private key is one, and opens the backup, before any program of the cluster's image runs. It
// writes a failure where Main does.
func Open(ctx context.Context) error {
	return report(ctx, func(ctx context.Context, t task.Task) (task.Result, error) {
		return task.Result{}, withFetcher(ctx, t, fetcher.open)
	})
}

func withFetcher(ctx context.Context, t task.Task, do func(fetcher, context.Context) error) error {
	bucket, err := store.Open(ctx, t.Store)
	if err != nil {
		return fatal(task.ReasonStoreRefused, err)
	}
	defer func() { _ = bucket.Close() }()
	f, err := newFetcher(bucket, task.KeysDir, t)
	if err != nil {
		return err
	}
	return do(f, ctx)
}

// Fetch answers the container that restores, until it is asked to stop.
func Fetch(ctx context.Context) error {
	var t task.Task
	if err := json.Unmarshal([]byte(os.Getenv(task.EnvTask)), &t); err != nil {
		return fmt.Errorf("%s: %w", task.EnvTask, err)
	}
	return pipe.Serve(ctx, task.Pipe, func(ctx context.Context, r pipe.Request, w *pipe.Writer) (end pipe.End) {
		err := withFetcher(ctx, t, func(f fetcher, ctx context.Context) error {
			end = f.answer(ctx, r, w)
			return nil
		})
		if err != nil {
			return endOf(err)
		}
		return end
	})
}

// endOf is the end of an answer that has failed.
func endOf(err error) pipe.End {
	reason, final := explain(err)
	say("failed: %s", err)
	return pipe.End{Error: err.Error(), Reason: reason, Fatal: final, Damaged: damagedBackup(err)}
}

// answer does what a request asks for.
func (f fetcher) answer(ctx context.Context, r pipe.Request, w *pipe.Writer) pipe.End {
	if f.stored != nil {
		return f.stored.answer(ctx, r, w)
	}
	all, err := f.chain(ctx)
	if err == nil && (r.Step < 0 || r.Step >= len(all)) {
		err = fmt.Errorf("the chain of the backup has %d steps", len(all))
	}
	if err != nil {
		return endOf(err)
	}
	m := all[r.Step]
	var end pipe.End
	switch r.What {
	case pipe.Manifest:
		short := m
		short.Parts, short.Recipients = nil, nil // they may be many, and are of no use there
		end.Manifest = &short
	case pipe.Stream:
		say("reading %d MiB of the backup %s", m.StreamBytes>>20, m.ID)
		err = f.stream(ctx, m, w)
	case pipe.Relay:
		end.Relayed, err = f.relay(ctx, m, r.Base, w)
	case pipe.Archive:
		end.Segments, err = checkArchive(ctx, f.bucket, f.dir, m)
	default:
		err = fmt.Errorf("%q cannot be asked for", r.What)
	}
	if err != nil {
		return endOf(err)
	}
	return end
}

// chain returns the manifests of the backup and of those that it adds to.
func (f fetcher) chain(ctx context.Context) ([]manifest.Manifest, error) {
	m, err := f.manifest(ctx)
	if err != nil {
		return nil, err
	}
	return chain(ctx, f.bucket, f.dir, m)
}

func (f fetcher) base() string { return path.Join(f.dir, f.id) }

func (f fetcher) manifest(ctx context.Context) (manifest.Manifest, error) {
	m, text, err := readManifest(ctx, f.bucket, f.base())
	if err == nil {
		err = onRecord(f.base(), text, f.checksum)
	}
	return m, err
}

// onRecord refuses a manifest that is another one than the one on record, "" for none. It names the checksums of all
// parts, and of the backup that an increment adds to: who exchanges it exchanges the data.
func onRecord(base string, text []byte, checksum string) error {
	if is := manifest.Checksum(text); checksum != "" && is != checksum {
		return damaged(path.Base(base), fmt.Errorf("the manifest of the backup %s is another one than the one on "+
			"record: its SHA-256 is %s, and was %s. Put the object back that was written; if you have exchanged it yourself, "+
			"import the backup again, and use the new GaleraBackup", base, is, checksum))
	}
	return nil
}

// open tries the private keys on the backup, or looks at one that has none.
func (f fetcher) open(ctx context.Context) error {
	if f.stored != nil {
		_, err := f.stored.describe(ctx)
		return err
	}
	keys, err := archive.Identities(f.keys)
	if err != nil {
		return fatal(task.ReasonWrongKey, err)
	}
	all, err := f.chain(ctx)
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := tryKeys(ctx, f.bucket, path.Join(f.dir, m.ID), m, keys); err != nil {
			return err
		}
	}
	return nil
}

// tryKeys opens the head of a backup's first part.
func tryKeys(ctx context.Context, bucket *store.Bucket, base string, m manifest.Manifest, keys []age.Identity) error {
	var first []byte
	err := again(ctx, "the backup's first part could not be read", func(ctx context.Context) error {
		r, err := bucket.NewRangeReader(ctx, path.Join(base, m.Part(0)), 0, openSize, nil)
		if store.Missing(err) {
			return damaged(m.ID, fmt.Errorf("%s of the backup %s is missing", m.Part(0), base))
		}
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		first, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		return err
	}
	if _, err = age.Decrypt(bytes.NewReader(first), keys...); err == nil {
		return nil
	}
	var noMatch *age.NoIdentityMatchError
	if errors.As(err, &noMatch) {
		return fatal(task.ReasonWrongKey, fmt.Errorf(
			"none of the private keys opens the backup %s; it was encrypted for %s",
			base, strings.Join(m.Recipients, ", ")))
	}
	return damaged(m.ID, fmt.Errorf("the backup %s cannot be opened: %w", base, err))
}

// stream writes the backup as mariadb-backup has made it.
func (f fetcher) stream(ctx context.Context, m manifest.Manifest, to io.Writer) error {
	keys, err := archive.Identities(f.keys)
	if err != nil {
		return fatal(task.ReasonWrongKey, err)
	}
	err = archive.Read(ctx, m, partsOf(f.bucket, path.Join(f.dir, m.ID), m, f.limit), keys, to)
	switch {
	case err == nil || isStore(err):
		return err
	case errors.Is(err, archive.ErrWrongKey):
		return fatal(task.ReasonWrongKey, err)
	}
	return damaged(m.ID, err)
}

// partsOf fetches the parts of a backup, at the rate that all of them share; nil is no bound.
func partsOf(bucket *store.Bucket, base string, m manifest.Manifest, limit *rate.Limiter) archive.Get {
	return func(ctx context.Context, index int) (data []byte, err error) {
		err = again(ctx, "a part could not be read", func(ctx context.Context) error {
			data, err = readPart(ctx, bucket, path.Join(base, m.Part(index)), m.Parts[index].Size, limit)
			if store.Missing(err) {
				return damaged(m.ID, fmt.Errorf("%s of the backup %s is missing", m.Part(index), base))
			}
			return err
		})
		return data, err
	}
}

// readPart reads a part of a size, and a byte more of one that is larger: it is damaged, and may not fit into memory.
func readPart(ctx context.Context, bucket *store.Bucket, key string, size int64, limit *rate.Limiter) ([]byte, error) {
	r, err := bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	from := io.LimitReader(r, size+1)
	if limit != nil {
		from = throttled{ctx, from, limit}
	}
	// All of a part fits: a buffer that grows would be copied, and cleared, several times.
	var data bytes.Buffer
	data.Grow(int(min(max(0, r.Size()), archive.PartSize)) + bytes.MinRead)
	_, err = data.ReadFrom(from)
	return data.Bytes(), err
}

// relay writes the wanted transactions after a base as a relay log.
func (f fetcher) relay(
	ctx context.Context, m manifest.Manifest, base binlog.GTID, to pipe.Sink,
) (*pipe.Relayed, error) {
	if f.replay == nil {
		return nil, errors.New("the task names no point in time")
	}
	keys, err := archive.Identities(f.keys)
	if err != nil {
		return nil, fatal(task.ReasonWrongKey, err)
	}
	r := *f.replay
	cut := &policy.Cut{Base: base, Seqno: policy.BaseOf(m, r.Domain).Seqno, Target: r.Target, Last: base}
	w := &relay{to: to, cut: cut}
	say("reading the transactions after %s, up to %s", base, r.Target)
	if err := w.all(ctx, f.bucket, binlog.Dir(f.dir), r, keys); err != nil {
		return nil, err
	}
	return &pipe.Relayed{Last: cut.Last, Reached: cut.Reached(), Count: w.count, Late: cut.Late}, nil
}
