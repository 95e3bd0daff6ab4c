package serving

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
)

// archived is one in a store, and the keys that open it: they are read anew each time, because their Secret may change.
type archived struct {
	bucket *store.Bucket
	dir    string // of the segments
	keys   func() ([]age.Identity, error)
	chain  uint64 // the one that is followed, 0 for any
	to     uint64 // the segment that the follower began with, 0 for none
	sum    string // of its head
}

// segments lists the numbers of those in the store, in order.
func (a *archived) segments(ctx context.Context) (out []uint64, err error) {
	parts, err := a.parts(ctx)
	for i := 0; i < len(parts) && err == nil; i++ {
		var some []uint64
		some, err = a.list(ctx, parts[i])
		out = append(out, some...)
	}
	slices.Sort(out)
	return out, err
}

// parts are the directories of the segments, in order.
func (a *archived) parts(ctx context.Context) (out []string, err error) {
	objects := a.bucket.List(&blob.ListOptions{Prefix: a.dir + "/", Delimiter: "/"})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out, nil
		}
		if err != nil {
			return nil, explained("the archive could not be listed", err)
		}
		if o.IsDir {
			out = append(out, strings.TrimSuffix(o.Key, "/"))
		}
	}
}

// same makes sure that the archive of some numbers is the one that the follower began with, as far as that can be seen:
// retention may have removed that segment.
func (a *archived) same(ctx context.Context, numbers []uint64) error {
	switch {
	case a.to == 0 || len(numbers) == 0:
		return nil
	case numbers[len(numbers)-1] < a.to: // a listing may be late
		return fmt.Errorf("the archive below %q ends with the segment %s, and the cluster began with %s: is it another "+
			"store?", a.dir, binlog.Name(numbers[len(numbers)-1]), binlog.Name(a.to))
	}
	if _, there := slices.BinarySearch(numbers, a.to); !there {
		return nil
	}
	h, err := a.head(ctx, a.to)
	if err == nil && h.Checksum != a.sum {
		err = refuse("the segment %s is another one than that which the cluster began with: the archive was begun anew",
			binlog.Name(a.to))
	}
	return err
}

func (a *archived) list(ctx context.Context, part string) (out []uint64, err error) {
	objects := a.bucket.List(&blob.ListOptions{Prefix: part + "/"})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, explained("the archive could not be listed", err)
		}
		if n, ok := binlog.Number(o.Key); ok {
			out = append(out, n)
		}
	}
}

// newest is the number of the last segment, 0 for none.
func (a *archived) newest(ctx context.Context) (uint64, error) {
	parts, err := a.parts(ctx)
	for i := len(parts) - 1; i >= 0 && err == nil; i-- {
		var all []uint64
		if all, err = a.list(ctx, parts[i]); len(all) > 0 {
			return slices.Max(all), err
		}
	}
	return 0, err
}

// last is the head of the last segment. A store without one is no archive that has ended.
func (a *archived) last(ctx context.Context) (binlog.Head, error) {
	n, err := a.newest(ctx)
	if err != nil {
		return binlog.Head{}, err
	}
	if n == 0 {
		return binlog.Head{}, fmt.Errorf("there is no archive in the store below %q", a.dir)
	}
	return a.head(ctx, n)
}

// end is the head of the last segment, and the checksum of that of another one.
func (a *archived) end(ctx context.Context, segment uint64) (last binlog.Head, checksum string, err error) {
	if last, err = a.last(ctx); err != nil {
		return last, "", err
	}
	of, err := a.head(ctx, segment)
	return last, of.Checksum, err
}

// through is until when the archive has everything that was committed, as of its last segment.
func (a *archived) through(ctx context.Context, last binlog.Head) (time.Time, error) {
	text, err := a.bucket.ReadAll(ctx, path.Join(a.dir, binlog.ThroughName))
	if store.Missing(err) {
		return sure(last), nil
	}
	if err != nil {
		return time.Time{}, explained("how far the archive is could not be read", err)
	}
	var t binlog.Through // one that cannot be read states nothing, as for the archiver
	if json.Unmarshal(text, &t) != nil || t.Segment != last.Number || t.Last != last.Last {
		return sure(last), nil
	}
	return binlog.Later(sure(last), t.Time), nil
}

// sure is the time that a segment calls archived. Its transactions may be of later ones, and so may be others that are
// not archived yet: who waits until nothing is missing would lose them. Where no time was called archived yet, all was
// before the segment's transactions, whose clocks may be ahead.
func sure(h binlog.Head) time.Time {
	if h.Through.IsZero() && !h.Earliest.IsZero() {
		return h.Earliest.Add(-2 * binlog.ClockSlack)
	}
	return h.Through
}

// continued returns the head with which the chain of the last segment has begun, if that is a later chain than the one
// that is followed, and goes on from it without a loss; the zero Head otherwise.
func (a *archived) continued(ctx context.Context, last binlog.Head) (binlog.Head, error) {
	if a.chain == 0 || last.Chain == a.chain {
		return binlog.Head{}, nil
	}
	numbers, err := a.segments(ctx)
	if err != nil {
		return binlog.Head{}, err
	}
	head := func(n uint64) (binlog.Head, error) { return a.head(ctx, n) }
	_, of, err := beginning(numbers, last.Chain, a.chain, last.Last, head)
	if err != nil || !of {
		return binlog.Head{}, err
	}
	return a.head(ctx, last.Chain)
}

func (a *archived) key(number uint64) string { return path.Join(a.dir, binlog.Key(number)) }

func (a *archived) head(ctx context.Context, number uint64) (binlog.Head, error) {
	h, err := store.Head(ctx, a.bucket, a.key(number))
	switch {
	case errors.Is(err, store.ErrHead):
		return h, refuse("the segment %s cannot be used: %v", binlog.Name(number), err)
	case err != nil:
		return h, explained("the segment "+binlog.Name(number)+" could not be read", err)
	}
	return h, nil
}

// next returns the head of the segment after another one, ok is false while there is none.
func (a *archived) next(ctx context.Context, before binlog.Head) (h binlog.Head, ok bool, err error) {
	h, err = store.Head(ctx, a.bucket, a.key(before.Number+1))
	switch {
	case store.Missing(err):
		return h, false, nil
	case errors.Is(err, store.ErrHead):
		return h, false, refuse("the segment %s cannot be used: %v", binlog.Name(before.Number+1), err)
	case err != nil:
		return h, false, explained("the segment "+binlog.Name(before.Number+1)+" could not be read", err)
	}
	if why := policy.Break(before, h); why != "" && !policy.Joins(before, h) {
		return h, false, refuse("there is a gap in the archive: %s", why)
	}
	return h, true, nil
}

// fetch takes a segment whole into a file without a name, still encrypted, and makes sure that it is that of a head.
func (a *archived) fetch(ctx context.Context, h binlog.Head) (_ *os.File, err error) {
	r, err := a.bucket.NewReader(ctx, a.key(h.Number), nil)
	if err != nil {
		return nil, explained("the segment "+binlog.Name(h.Number)+" could not be read", err)
	}
	defer func() { _ = r.Close() }()
	in := bufio.NewReaderSize(r, binlog.MaxHead)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, explained("the segment "+binlog.Name(h.Number)+" could not be read", err)
	}
	if have, _, err := binlog.Decode(line); err != nil || have.Checksum != h.Checksum {
		return nil, refuse("the head of the segment %s is another one than a moment before", binlog.Name(h.Number))
	}
	f, err := os.CreateTemp("", "segment-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, sum), in); err != nil {
		return nil, explained("the segment "+binlog.Name(h.Number)+" could not be read", err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != h.SHA256 {
		return nil, refuse("the content of the segment %s is not what its head names", binlog.Name(h.Number))
	}
	return f, nil
}

// locked is why a segment could not be opened: nothing is wrong with it, and another key may.
type locked struct{ error }

// taken is what is done with an event of a segment.
type taken func(kind int, e binlog.Event, t binlog.Transaction) error

// read goes through the events of a segment in a file.
func (a *archived) read(f *os.File, take taken) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	keys, err := a.keys()
	if err != nil {
		return locked{err}
	}
	plain, err := age.Decrypt(f, keys...)
	var noMatch *age.NoIdentityMatchError
	if errors.As(err, &noMatch) {
		return locked{errors.New("none of the private keys of identitySecretRef opens the archive's segments: add the " +
			"one of a present recipient to that Secret")}
	}
	if err != nil {
		return err
	}
	packed, err := zstd.NewReader(plain, zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer packed.Close()
	in := bufio.NewReaderSize(packed, 1<<20)
	magic := make([]byte, len(binlog.Magic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != binlog.Magic {
		return errors.New("it holds no binary log")
	}
	var g binlog.Grouper
	for {
		switch err := one(in, &g, take); {
		case errors.Is(err, io.EOF):
			_, err := io.Copy(io.Discard, plain) // only its end proves that nothing was cut off
			return err
		case err != nil:
			return err
		}
	}
}

// one takes an event. A large one lies in a file meanwhile.
func one(from io.Reader, g *binlog.Grouper, take taken) error {
	var b binlog.Buffer
	defer b.Close()
	e, err := binlog.Next(from, &b)
	if err != nil {
		return err
	}
	kind, err := g.See(e)
	if err != nil {
		return err
	}
	return take(kind, e, g.Done())
}

// explained describes an error of the store.
func explained(doing string, err error) error { return fmt.Errorf("%s: %s", doing, store.Explain(err)) }
