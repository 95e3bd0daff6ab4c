package runner

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"filippo.io/age"
	"gocloud.dev/blob"
	"golang.org/x/time/rate"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/archive"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// putTime is how long a part is tried: meanwhile the node waits, and InnoDB's log must not be written over.
	putTime  = 4 * time.Minute
	putFirst = time.Second
	putPause = 20 * time.Second
	dialTime = 10 * time.Second
	// silence is how long the node may send nothing: mariadb-backup may be waiting for a lock.
	silence = 10 * time.Minute
)

// backup copies what the node streams into the store, and writes the manifest last.
func backup(ctx context.Context, bucket *store.Bucket, t task.Backup) (task.Result, error) {
	m := t.Manifest
	base := path.Join(cmp.Or(t.Dir, manifest.Dir(m.Namespace, m.Cluster, m.ClusterUID)), m.ID)
	if done, err := earlier(ctx, bucket, base); done != nil || err != nil {
		return task.Result{Backup: done}, err
	}
	if err := clearEarlier(ctx, bucket, base, t.Attempt); err != nil {
		return task.Result{}, err
	}
	recipients, err := recipients(m.Recipients)
	if err != nil {
		return task.Result{}, fatal(task.ReasonWrongKey, err)
	}
	full, err := based(ctx, bucket, path.Dir(base), m)
	if err != nil {
		return task.Result{}, err
	}
	if full != "" {
		m.Base = nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := open(ctx, t, m.Base)
	if err != nil {
		return task.Result{}, because(task.ReasonNodeFailed, err)
	}
	defer stream.Close()
	say("reading from %s", t.ServerName)
	m.StartedAt = stream.now()
	m.Attempt = attemptOf(t.Attempt) + strings.ToLower(rand.Text()[:12])
	written, err := archive.Write(ctx, limited(ctx, stream.reader(), t.Rate), archive.Options{
		Recipients: recipients, Compression: m.Compression, Level: t.Level,
		Put: func(ctx context.Context, index int, data []byte) error {
			return put(ctx, bucket, path.Join(base, m.Attempt, manifest.PartName(index)), data)
		},
	})
	if err != nil {
		return task.Result{}, err
	}
	end, err := stream.end()
	if err != nil {
		return task.Result{}, because(task.ReasonNodeFailed, err)
	}
	m.Parts, m.StreamBytes, m.StreamSHA256 = written.Parts, written.StreamBytes, written.StreamSHA256
	if m, err = ended(m, end, stream.now()); err != nil {
		return task.Result{}, because(task.ReasonNodeFailed, err)
	}
	if why, err := based(ctx, bucket, path.Dir(base), m); why != "" || err != nil { // it may have been removed meanwhile
		return task.Result{}, cmp.Or(err, errors.New(why))
	}
	done, err := record(ctx, bucket, base, m, t.SingleWriter)
	if err != nil {
		return task.Result{}, err
	}
	done.Full = cmp.Or(full, end.Full)
	return task.Result{Backup: done}, nil
}

// record makes what is stored a backup, if all of it is there.
func record(ctx context.Context, bucket *store.Bucket, base string, m manifest.Manifest, alone bool) (*task.Stored,
	error) {
	if err := cleared(ctx, bucket, base, m); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return conclude(ctx, bucket, base, text, alone)
}

// conclude writes the manifest of a backup, which is one if what it adds to is still there then.
func conclude(ctx context.Context, bucket *store.Bucket, base string, text []byte, alone bool) (*task.Stored, error) {
	done, err := complete(ctx, bucket, base, text, alone)
	if err != nil {
		return nil, err
	}
	if why, err := stands(ctx, bucket, base); why != "" || err != nil {
		return nil, cmp.Or(err, errors.New(why))
	}
	return done, nil
}

// earlier is what an attempt before has stored, that has ended well and was not heard; nil for nothing.
func earlier(ctx context.Context, bucket *store.Bucket, base string) (*task.Stored, error) {
	done, err := taken(ctx, bucket, base)
	if done == nil || err != nil {
		return nil, err
	}
	if why, err := stands(ctx, bucket, base); why != "" || err != nil {
		return nil, err
	}
	return done, nil
}

// ended adds to a manifest what the agent knows at the end of the stream. The keys are the agent's word alone: the
// server may have been given them since the task was written.
func ended(m manifest.Manifest, end agentapi.BackupEnd, now time.Time) (manifest.Manifest, error) {
	m.Format, m.LSN = manifest.Format, end.LSN
	switch {
	case end.FromLSN == 0:
		m.Base = nil
	case m.Base == nil || m.Base.LSN != end.FromLSN:
		return m, fmt.Errorf("the node has sent what has changed since %d, which nothing asked for", end.FromLSN)
	case end.LSN == 0: // no restore could show that it was added
		return m, fmt.Errorf("the node has sent what has changed since %d, and not up to where", end.FromLSN)
	default:
		m.Format = manifest.IncrementFormat
	}
	m.Position, m.GTID, m.ServerVersion, m.Arch, m.CompletedAt = end.Position, end.GTID, end.ServerVersion, end.Arch, now
	m.Keys, m.Algorithm, m.Created = end.Keys, end.Algorithm, end.Created
	m.Line = binlog.Line{History: end.Line.Start.UUID, ID: end.Line.ID, Epoch: end.Line.Epoch, Start: end.Line.Start.Seqno,
		Copied: end.Line.Copied}
	return m, nil
}

// attemptOf is what the directory of an attempt begins with: in the order of their numbers.
func attemptOf(number int32) string { return fmt.Sprintf("%06d", number) }

// clearEarlier removes what attempts before have left. What later ones have stored stays: a Job that was given up may
// have been held up until now.
func clearEarlier(ctx context.Context, bucket *store.Bucket, base string, number int32) error {
	objects := bucket.List(&blob.ListOptions{Prefix: base + "/"})
	for {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return stored("the parts could not be listed", err)
		}
		attempt, _, nested := strings.Cut(strings.TrimPrefix(object.Key, base+"/"), "/")
		if attempt == manifest.Name { // its parts are not all there
			m, _, err := readManifest(ctx, bucket, base)
			if reason, _ := explain(err); reason == task.ReasonBackupNotFound {
				continue
			}
			if err != nil {
				return err
			}
			attempt, nested = m.Attempt, m.Attempt != ""
		}
		if nested && attempt > attemptOf(number+1) {
			continue
		}
		if err := bucket.Delete(ctx, object.Key); err != nil && !store.Missing(err) {
			return stored("what an attempt before has left could not be deleted", err)
		}
	}
}

// complete writes the manifest of a backup whose parts are stored. An attempt that was given up, and is still running,
// may have written its own: it counts if its parts are there, and is overwritten otherwise, because this attempt has
// removed them.
func complete(ctx context.Context, bucket *store.Bucket, base string, text []byte, alone bool) (*task.Stored, error) {
	create, key := store.Create, path.Join(base, manifest.Name)
	if alone {
		create = store.CreateAlone
	}
	another := false
	err := again(ctx, "an object could not be written", func(ctx context.Context) error {
		err := create(ctx, bucket, key, bytes.NewReader(text))
		if another = store.Taken(err); another {
			return nil
		}
		return err
	})
	if err == nil && another {
		var done *task.Stored
		if done, err = taken(ctx, bucket, base); done != nil || err != nil {
			return done, err
		}
		err = put(ctx, bucket, key, text)
	}
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(text)
	return describe(m, text, path.Dir(base)), err
}

// taken is the backup whose manifest and parts are in the store, nil for none.
func taken(ctx context.Context, bucket *store.Bucket, base string) (*task.Stored, error) {
	exists, err := store.Exists(ctx, bucket, path.Join(base, manifest.Name))
	if err != nil {
		return nil, stored("the store could not be asked for the backup", err)
	}
	if !exists {
		return nil, nil
	}
	m, text, err := readManifest(ctx, bucket, base)
	if err != nil {
		return nil, err
	}
	if ok, err := allParts(ctx, bucket, base, m); !ok || err != nil {
		return nil, err
	}
	return describe(m, text, path.Dir(base)), nil
}

// cleared returns an error when a later attempt has removed parts of a backup: the Job was given up, and has gone on.
// It would leave a manifest without its parts.
func cleared(ctx context.Context, bucket *store.Bucket, base string, m manifest.Manifest) error {
	ok, err := allParts(ctx, bucket, base, m)
	if err == nil && !ok {
		err = errors.New("a later attempt has removed what this one has stored")
	}
	return err
}

// allParts reports whether all parts of a backup are in the store. Those that a listing does not have are asked for by
// name: it may be late.
func allParts(ctx context.Context, bucket *store.Bucket, base string, m manifest.Manifest) (bool, error) {
	sizes := map[string]int64{}
	objects := bucket.List(&blob.ListOptions{Prefix: path.Join(base, m.Attempt) + "/"})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, stored("the parts could not be listed", err)
		}
		sizes[strings.TrimPrefix(o.Key, base+"/")] = o.Size
	}
	for i, p := range m.Parts {
		size, listed := sizes[m.Part(i)]
		if !listed {
			a, err := bucket.Attributes(ctx, path.Join(base, m.Part(i)))
			if store.Missing(err) {
				return false, nil
			}
			if err != nil {
				return false, stored("the store could not be asked for a part", err)
			}
			size = a.Size
		}
		if size != p.Size {
			return false, nil
		}
	}
	return true, nil
}

// describe describes a backup that lies in a directory, whatever it says of itself.
func describe(m manifest.Manifest, text []byte, dir string) *task.Stored {
	base := manifest.Base{}
	if m.Base != nil {
		base = *m.Base
	}
	return &task.Stored{ID: m.ID, Dir: dir, Node: m.Node, Position: m.Position, GTID: m.GTID,
		Base: base.ID, Depth: base.Depth, LSN: m.LSN,
		ServerVersion: m.ServerVersion, StartedAt: m.StartedAt, CompletedAt: m.CompletedAt, StreamBytes: m.StreamBytes,
		StoredBytes: m.StoredBytes(), Keys: m.Keys,
		Checksum: manifest.Checksum(text)}
}

func readManifest(ctx context.Context, bucket *store.Bucket, base string) (manifest.Manifest, []byte, error) {
	r, err := bucket.NewReader(ctx, path.Join(base, manifest.Name), nil)
	if store.Missing(err) {
		return manifest.Manifest{}, nil, fatal(task.ReasonBackupNotFound, fmt.Errorf("the store has no complete backup %s",
			base))
	}
	if err != nil {
		return manifest.Manifest{}, nil, stored("the manifest could not be read", err)
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(io.LimitReader(r, manifest.MaxSize))
	if err != nil {
		return manifest.Manifest{}, nil, stored("the manifest could not be read", err)
	}
	m, err := manifest.Parse(text)
	if err == nil && m.ID != path.Base(base) {
		err = fmt.Errorf("the manifest in %s is that of the backup %q", base, m.ID)
	}
	if err != nil {
		return m, text, damaged(path.Base(base), err)
	}
	return m, text, nil
}

// put stores an object, and tries for a while.
func put(ctx context.Context, bucket *store.Bucket, key string, data []byte) error {
	return again(ctx, "an object could not be written",
		func(ctx context.Context) error { return store.Write(ctx, bucket, key, data) })
}

// again repeats what a store does not do at once, unless it refuses.
func again(ctx context.Context, what string, do func(context.Context) error) error {
	end := time.Now().Add(putTime)
	for pause := putFirst; ; pause = min(2*pause, putPause) {
		err := do(ctx)
		if err == nil || isStore(err) { // it is judged already
			return err
		}
		if _, final := store.Reason(err); final || ctx.Err() != nil || time.Now().Add(pause).After(end) {
			return stored(what, err)
		}
		say("%s, and is tried again: %s", what, store.Explain(err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return stored(what, err)
		}
	}
}

func recipients(keys []string) ([]age.Recipient, error) {
	var out []age.Recipient
	for _, key := range keys {
		r, err := age.ParseX25519Recipient(key)
		if err != nil {
			return nil,
				fmt.Errorf(
					"the recipient %s is no public key of age: write one that age-keygen has printed into encryption.recipients: %w",
					key, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// limited bounds the rate of a reader; 0 for no bound.
func limited(ctx context.Context, r io.Reader, bytesPerSecond int64) io.Reader {
	if limit := limiter(bytesPerSecond); limit != nil {
		return throttled{ctx, r, limit}
	}
	return r
}

func limiter(bytesPerSecond int64) *rate.Limiter {
	if bytesPerSecond <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(bytesPerSecond), int(min(bytesPerSecond, 1<<20)))
}

type throttled struct {
	ctx   context.Context
	r     io.Reader
	limit *rate.Limiter
}

// Read implements io.Reader.
func (t throttled) Read(to []byte) (int, error) {
	n, err := t.r.Read(to[:min(len(to), t.limit.Burst())])
	if n > 0 {
		if err := t.limit.WaitN(t.ctx, n); err != nil {
			return n, err
		}
	}
	return n, err
}
