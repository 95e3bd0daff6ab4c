// Package promotion keeps the record that a cluster has taken over from another one: an object in the directory of the
// other one's backups. It is created only if there is none of its name, so that one of two clusters wins.
package promotion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// Directory is below that of a cluster's backups. NUMBER.json is a record, NUMBER.overruled.json states that this and
	// all earlier ones do not count any more.
	Directory = "promotions"
	record    = ".json"
	overruled = ".overruled.json"
	// tries is how often the next number is looked for, while others create objects.
	tries = 5
	// most is the highest number that is looked at: no honest one comes near it.
	most = 1 << 32
)

// ErrOverruled reports that a person has overruled what the same cluster has recorded before.
var ErrOverruled = errors.New("a person has overruled there that this cluster takes over, and the other one goes on")

// errDamaged is an object that names no promotion.
var errDamaged = errors.New("it is no record of a promotion")

// Create stores an object, unless there is one of its name (store.Create).
type Create func(ctx context.Context, b *store.Bucket, key string, from io.Reader) error

// Find returns the promotion that counts, nil for none. The first one that was not overruled counts, or what the same
// cluster has recorded after it. One that is withdrawn is none.
func Find(ctx context.Context, b *store.Bucket, cluster string) (*task.Promotion, error) {
	now, _, err := Latest(ctx, b, cluster)
	return now, err
}

// Latest is Find, and returns the number of the next record.
func Latest(ctx context.Context, b *store.Bucket, cluster string) (now *task.Promotion, next uint64, err error) {
	r, err := find(ctx, b, cluster)
	return r.now, r.next, err
}

// records are those about one cluster.
type records struct {
	// now is the one that counts, nil for none, and next the number of the next one.
	now  *task.Promotion
	next uint64
	all
	// last is the number of the last one that is overruled, 0 for none.
	last uint64
}

// all are the numbers of the objects: of records, and of those that overrule them.
type all struct{ numbers, overrules map[uint64]bool }

func find(ctx context.Context, b *store.Bucket, cluster string) (records, error) {
	listed, err := list(ctx, b, cluster)
	if err != nil {
		return records{}, err
	}
	r := records{all: listed}
	for n := range listed.overrules {
		r.last = max(r.last, n)
	}
	for r.next = r.last + 1; r.numbers[r.next]; r.next++ {
		p, err := read(ctx, b, cluster, r.next, record)
		if err != nil {
			return records{}, err
		}
		if !p.Withdrawn && (r.now == nil || r.now.UID == p.UID) {
			r.now = p
		}
	}
	return r, nil
}

// overruled reports whether a person has overruled a promotion of a cluster, which was not followed since. Where a
// record is damaged, the object that has overruled it names whose it was.
func (r records) overruled(ctx context.Context, b *store.Bucket, cluster, uid string) (bool, error) {
	for n := range r.numbers {
		if n > r.last {
			continue
		}
		p, err := read(ctx, b, cluster, n, record)
		for _, by := range slices.Sorted(maps.Keys(r.overrules)) {
			if errors.Is(err, errDamaged) && by >= n {
				p, err = read(ctx, b, cluster, by, overruled)
			}
		}
		if err != nil {
			return false, err
		}
		if p.UID != uid || p.Withdrawn {
			continue
		}
		if since, err := r.followed(ctx, b, cluster, uid, n); err != nil || !since {
			return err == nil, err
		}
	}
	return false, nil
}

// followed reports whether the cluster that the records are about has followed another one since that has recorded one:
// that one may take over again.
func (r records) followed(ctx context.Context, b *store.Bucket, cluster, uid string, n uint64) (bool, error) {
	for by := range r.overrules {
		if by < n {
			continue
		}
		p, err := read(ctx, b, cluster, by, overruled)
		if err != nil && !errors.Is(err, errDamaged) {
			return false, err
		}
		if err == nil && p.UID == uid && p.Followed {
			return true, nil
		}
	}
	return false, nil
}

func list(ctx context.Context, b *store.Bucket, cluster string) (all, error) {
	out := all{map[uint64]bool{}, map[uint64]bool{}}
	objects := b.List(&blob.ListOptions{Prefix: path.Join(cluster, Directory) + "/"})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return all{}, fmt.Errorf("the promotions could not be listed: %w", err)
		}
		kind := record
		text, not := strings.CutSuffix(path.Base(o.Key), overruled)
		if not {
			kind = overruled
		} else {
			text = strings.TrimSuffix(text, record)
		}
		switch n, err := strconv.ParseUint(text, 10, 64); {
		case err != nil || n == 0 || n > most || o.Key != key(cluster, n, kind): // none of these
		case not:
			out.overrules[n] = true
		default:
			out.numbers[n] = true
		}
	}
}

// read reads an object of a kind.
func read(ctx context.Context, b *store.Bucket, cluster string, n uint64, kind string) (*task.Promotion, error) {
	text, err := b.ReadAll(ctx, key(cluster, n, kind))
	if err != nil {
		return nil, fmt.Errorf("a promotion could not be read: %w", err)
	}
	p := &task.Promotion{}
	err = json.Unmarshal(text, p)
	if err == nil && (p.UID == "" || p.GTID == "") {
		err = errors.New("it names no cluster, or no transaction")
	}
	if err != nil {
		return nil, fmt.Errorf("the object %s is damaged, and to be deleted once it is certain which cluster accepts "+
			"writes: %w: %w", key(cluster, n, kind), errDamaged, err)
	}
	p.Number = n
	return p, nil
}

// Record has a promotion recorded, and returns the one that counts: another cluster's if that was first. What a person
// has overruled is not recorded again.
func Record(ctx context.Context, b *store.Bucket, create Create, cluster string, mine task.Promotion) (
	*task.Promotion, error) {
	if mine.Number > 0 {
		return claim(ctx, b, create, cluster, mine)
	}
	for range tries {
		r, err := find(ctx, b, cluster)
		if now := r.now; err != nil || now != nil && (now.UID != mine.UID || now.GTID == mine.GTID) {
			return now, err
		}
		switch before, err := r.overruled(ctx, b, cluster, mine.UID); {
		case err != nil:
			return nil, err
		case before:
			return nil, ErrOverruled
		}
		mine.Number = r.next
		if err := write(ctx, b, create, cluster, mine); err != nil {
			return nil, err
		}
	}
	return nil, errBusy
}

var errBusy = errors.New("the promotion could not be recorded: others record theirs at the same time")

// claim records a promotion, or that it is withdrawn, with its number or not at all, and returns the one that counts,
// or is withdrawn with that number. One cluster promotes itself with it, and another one withdraws it: one of them
// wins.
func claim(ctx context.Context, b *store.Bucket, create Create, cluster string, mine task.Promotion) (
	*task.Promotion, error) {
	for range tries {
		now, next, err := Latest(ctx, b, cluster)
		switch {
		case err != nil || now != nil:
			return now, err
		case next < mine.Number:
			return nil, fmt.Errorf("the store lacks the records before the number %d: is it another one?", mine.Number)
		case next > mine.Number:
			p, err := read(ctx, b, cluster, mine.Number, record)
			if errors.Is(err, errDamaged) || err == nil && !p.Withdrawn { // a damaged one that counts is an error before
				p, err = nil, ErrOverruled
			}
			return p, err
		}
		if err := write(ctx, b, create, cluster, mine); err != nil {
			return nil, err
		}
	}
	return nil, errBusy
}

// write creates a record, unless there is one of its number.
func write(ctx context.Context, b *store.Bucket, create Create, cluster string, mine task.Promotion) error {
	text, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	err = create(ctx, b, key(cluster, mine.Number, record), bytes.NewReader(text))
	if err != nil && !store.Taken(err) {
		return fmt.Errorf("the promotion could not be recorded: %w", err)
	}
	return nil
}

// Overrule has a promotion not count any more. With Followed the same cluster may take over again.
func Overrule(ctx context.Context, b *store.Bucket, cluster string, p task.Promotion) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := store.Write(ctx, b, key(cluster, p.Number, overruled), text); err != nil {
		return fmt.Errorf("the promotion could not be overruled: %w", err)
	}
	return nil
}

func key(cluster string, n uint64, kind string) string {
	return path.Join(cluster, Directory, strconv.FormatUint(n, 10)+kind)
}
