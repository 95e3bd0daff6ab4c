package archiver

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
)

// bases are the cluster's backups. A manifest is read once; whether it is still there, and the same object, is asked
// for the one that is reported, and some of the others: all are asked for within a day.
type bases struct {
	*archive
	known    map[string]manifestOf
	reported string
	turn     string // the one that was asked for last in turn
}

// manifestOf is a manifest that was read, or why it could not be.
type manifestOf struct {
	manifest.Manifest
	damaged string
	sum     string    // its checksum
	object  string    // which object of its name was read
	asked   time.Time // when it was the one in the store
}

// all returns the complete backups. unread names one whose manifest cannot be read.
func (b *bases) all(ctx context.Context, domain uint32) (out []policy.Base, unread string, err error) {
	ids, err := b.directories(ctx, b.cluster)
	if err != nil {
		return nil, "", err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == binlog.Directory })
	due := b.due(ids)
	known := map[string]manifestOf{}
	for _, id := range ids {
		m, ok := b.known[id]
		if !ok || id == b.reported || slices.Contains(due, id) {
			if m, ok, err = b.ask(ctx, id); err != nil {
				return nil, "", err
			}
		}
		if !ok { // it is being made, or is gone
			continue
		}
		known[id] = m
		if m.damaged != "" {
			unread = "the manifest of the backup " + id + " cannot be read (" + m.damaged +
				"): remove its directory from the store"
		}
	}
	b.known = known
	for _, id := range ids {
		m, ok := known[id]
		if !ok || m.damaged != "" {
			continue
		}
		if why := b.broken(m.Manifest); why != "" {
			unread = "the backup " + id + " " + why + ": remove its directory from the store"
			continue
		}
		out = append(out, policy.BaseOf(m.Manifest, domain))
	}
	return out, unread, nil
}

// broken is why nothing is restored with a backup, by those that it adds to; "" for nothing.
func (b *bases) broken(m manifest.Manifest) string {
	for m.Base != nil { // each depth is one less than the one before
		of, ok := b.known[m.Base.ID]
		if !ok || of.damaged != "" {
			return "is an increment of " + m.Base.ID + ", which the store does not have"
		}
		if why := m.Extends(of.Manifest, of.sum); why != "" {
			return "cannot be added to " + m.Base.ID + ": " + why
		}
		m = of.Manifest
	}
	return ""
}

// due returns some backups in turn: those after the last ones by name, whatever was added or removed meanwhile.
func (b *bases) due(ids []string) (out []string) {
	some := min(len(ids), 1+len(ids)/int(24*time.Hour/idleEvery))
	after, _ := slices.BinarySearch(ids, b.turn+"\x00")
	for k := range some {
		b.turn = ids[(after+k)%len(ids)]
		out = append(out, b.turn)
	}
	return out
}

// read returns when the manifest was read that was not read for the longest time, now for none.
func (b *bases) read(now time.Time) time.Time {
	for _, m := range b.known {
		if m.asked.Before(now) {
			now = m.asked
		}
	}
	return now
}

func (b *bases) ask(ctx context.Context, id string) (m manifestOf, ok bool, err error) {
	asked := time.Now()
	key := path.Join(b.cluster, id, manifest.Name)
	object, err := store.Object(ctx, b.bucket, key)
	if err != nil || object == "" {
		if err != nil {
			err = explained("a backup could not be found", err)
		}
		return m, false, err
	}
	if known, before := b.known[id]; before && known.object == object {
		known.asked = asked
		return known, true, nil
	}
	text, err := b.bucket.ReadAll(ctx, key)
	if store.Missing(err) {
		return m, false, nil
	}
	if err != nil {
		return m, false, explained("a manifest could not be read", err)
	}
	m.object, m.asked = object, asked // an object that has replaced it since is another one at the next question
	m.sum = manifest.Checksum(text)
	if m.Manifest, err = manifest.Parse(text); err == nil && m.ID != id {
		err = fmt.Errorf("it is that of the backup %q", m.ID) // no restore takes it
	}
	if err != nil {
		m.damaged = err.Error()
	}
	m.Parts = nil // not needed here, and large
	m.ID = id
	return m, true, nil
}

// same reports whether backups are still in the store as they were read, with those that they add to.
func (b *bases) same(ctx context.Context, all []policy.Base, domain uint32) (bool, error) {
	for _, base := range all {
		for of, n := b.known[base.ID].Base, 0; of != nil && n < manifest.MaxDepth; n++ {
			m, ok, err := b.ask(ctx, of.ID)
			if err != nil {
				return false, err
			}
			if !ok || m.damaged != "" {
				delete(b.known, of.ID)
				return false, nil
			}
			b.known[of.ID] = m
			of = m.Base
		}
		m, ok, err := b.ask(ctx, base.ID)
		if err != nil {
			return false, err
		}
		if !ok {
			delete(b.known, base.ID)
			return false, nil
		}
		b.known[base.ID] = m
		if m.damaged != "" || b.broken(m.Manifest) != "" || policy.BaseOf(m.Manifest, domain) != base {
			return false, nil
		}
	}
	return true, nil
}
