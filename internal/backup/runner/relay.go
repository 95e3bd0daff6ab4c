package runner

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/pipe"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// relay is the relay log that is being written: the wanted transactions of the segments, and nothing else.
type relay struct {
	to    pipe.Sink
	out   *bufio.Writer
	cut   *policy.Cut
	size  int64 // to the end of the last wanted transaction
	at    int64
	count int
}

// all adds the segments, and makes sure that they are those that were chosen.
func (w *relay) all(ctx context.Context, bucket *store.Bucket, dir string, r task.Replay, keys []age.Identity) error {
	for n := r.From; n <= r.To; n++ {
		if err := w.fetch(ctx, bucket, dir, n, keys); err != nil {
			return err
		}
	}
	if err := w.cut.Done(r.Sum); err != nil {
		return fatal(task.ReasonPointInTimeUnavailable, err)
	}
	return nil
}

// fetch adds a segment. One that broke off is begun anew.
func (w *relay) fetch(ctx context.Context, bucket *store.Bucket, dir string, number uint64, keys []age.Identity) error {
	key := path.Join(dir, binlog.Key(number))
	size, cut, count := w.size, *w.cut, w.count
	return again(ctx, "a segment could not be read", func(ctx context.Context) error {
		w.size, *w.cut, w.count = size, cut, count
		r, err := bucket.NewReader(ctx, key, nil)
		if store.Missing(err) {
			return fatal(task.ReasonPointInTimeUnavailable, fmt.Errorf("the segment %s is missing", key))
		}
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		from := &noting{r: r}
		if err = w.add(from, number, keys); from.err != nil {
			return from.err // the store's, whatever was made of it
		}
		return unusable(key, err)
	})
}

// unusable sorts out why a segment could not be taken.
func unusable(key string, err error) error {
	var unsuitable policy.Unsuitable
	switch {
	case errors.As(err, &unsuitable):
		return fatal(task.ReasonPointInTimeUnavailable, unsuitable)
	case err != nil && !isStore(err):
		return fatal(task.ReasonBackupDamaged, fmt.Errorf("the segment %s: %w", key, err))
	}
	return err
}

// noting keeps the error of a reader.
type noting struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (n *noting) Read(to []byte) (int, error) {
	k, err := n.r.Read(to)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return k, err
}

// add decrypts a segment, and takes the transactions that are wanted. It is the one of that number, whole, and goes on
// from the one before.
func (w *relay) add(from io.Reader, number uint64, keys []age.Identity) error {
	r := bufio.NewReaderSize(from, binlog.MaxHead)
	line, err := r.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("it has no head: %w", err)
	}
	h, _, err := binlog.Decode(line)
	if err != nil {
		return err
	}
	if err := w.cut.Segment(h, number); err != nil {
		return err
	}
	if h.Empty() {
		return w.cut.End()
	}
	sum := sha256.New()
	raw := io.TeeReader(r, sum)
	if err := w.open(raw, keys); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return err
	}
	if have := hex.EncodeToString(sum.Sum(nil)); have != h.SHA256 {
		return errors.New("its content is not what its head names")
	}
	return w.cut.End()
}

// open decrypts what follows the head.
func (w *relay) open(from io.Reader, keys []age.Identity) error {
	plain, err := age.Decrypt(from, keys...)
	var noMatch *age.NoIdentityMatchError
	if errors.As(err, &noMatch) {
		return fatal(task.ReasonWrongKey, errors.New("none of the private keys opens the archive's segments"))
	}
	if err != nil {
		return err
	}
	packed, err := zstd.NewReader(plain, zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return err
	}
	defer packed.Close()
	w.out = bufio.NewWriterSize(w.to, 1<<20)
	if err := w.rewind(); err != nil {
		return err
	}
	if err := w.copy(bufio.NewReaderSize(packed, 1<<20)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, plain); err != nil { // only its end proves that nothing was cut off
		return err
	}
	return w.rewind() // without a transaction that the segment has not to its end
}

// rewind drops what is written after the last wanted transaction.
func (w *relay) rewind() error {
	err := w.out.Flush()
	if err == nil {
		err = w.to.Truncate(w.size)
	}
	if err != nil {
		return because(task.ReasonToolFailed, err)
	}
	w.at = w.size
	return nil
}

func (w *relay) write(b []byte) error {
	n, err := w.out.Write(b)
	w.at += int64(n)
	if err != nil {
		return because(task.ReasonToolFailed, err)
	}
	return nil
}

// copy takes a segment's transactions. The time of one is known at its end: one that is too late is dropped again.
func (w *relay) copy(from io.Reader) error {
	magic := make([]byte, len(binlog.Magic))
	if _, err := io.ReadFull(from, magic); err != nil || string(magic) != binlog.Magic {
		return errors.New("it holds no binary log")
	}
	var g binlog.Grouper
	for {
		err := w.next(from, &g)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// next takes an event. A large one lies in a file meanwhile.
func (w *relay) next(from io.Reader, g *binlog.Grouper) error {
	var b binlog.Buffer
	defer b.Close()
	e, err := binlog.Next(from, &b)
	if binlog.IsOwn(err) {
		return because(task.ReasonToolFailed, err)
	}
	if err != nil {
		return err
	}
	kind, err := g.See(e)
	if err != nil {
		return err
	}
	return w.take(kind, e, g.Done())
}

func (w *relay) take(kind int, e binlog.Event, t binlog.Transaction) error {
	switch kind {
	case binlog.Format:
		return w.format(e)
	case binlog.Outside:
		return nil
	}
	wanted := t.GTID.Seq > w.cut.Base.Seq && !w.cut.Ended()
	if wanted {
		if err := w.write(e); err != nil {
			return err
		}
	}
	if kind != binlog.End {
		return nil
	}
	apply, err := w.cut.See(t)
	switch {
	case err != nil:
		return err
	case apply:
		w.size = w.at
		w.count++
	case wanted:
		return w.rewind() // it is beyond the target, or the backup holds it
	}
	return nil
}

func (w *relay) format(e binlog.Event) error {
	if w.cut.Ended() {
		return nil
	}
	if w.size == 0 {
		if err := w.write([]byte(binlog.Magic)); err != nil {
			return err
		}
	}
	if err := w.write(e); err != nil {
		return err
	}
	w.size = w.at
	return nil
}
