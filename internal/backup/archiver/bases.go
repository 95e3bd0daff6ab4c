package archiver

import (
	"cmp"
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

// maxRefused is how many of the manifests that the store does not give out are asked for each time.
const maxRefused = 20

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
	refused error     // why the store does not give it out, nil if it does: it is asked for again then
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
	known, refused, readable, again := map[string]manifestOf{}, error(nil), false, 0
	for _, id := range ids {
		m, ok := b.known[id]
		if m.refused != nil {
			again++
		}
		if !ok || id == b.reported || slices.Contains(due, id) || m.refused != nil && again <= maxRefused {
			if m, ok, err = b.ask(ctx, id); err != nil {
				return nil, "", err
			}
		}
		if !ok { // it is being made, or is gone
			continue
		}
		known[id] = m
		refused, readable = cmp.Or(m.refused, refused), readable || m.damaged == ""
		if m.damaged != "" {
			unread = "the manifest of the backup " + id + " cannot be read (" + m.damaged + "): " + m.remedy()
		}
	}
	b.known = known
	if refused != nil && !readable {
		return nil, "", refused // it may be all of the store's doing: that there is none is not known
	}
	for _, id := range ids {
		m, ok := known[id]
		if !ok || m.damaged != "" {
			continue
		}
		if why, of := b.broken(m.Manifest); why != "" {
			unread = "the backup " + id + " " + why + ": " + of.remedy()
			continue
		}
		out = append(out, policy.BaseOf(m.Manifest, domain))
	}
	return out, unread, nil
}

// remedy is what to do about a manifest that cannot be read.
func (m manifestOf) remedy() string {
	if m.refused != nil {
		return "make the store give it out, or remove the backup's directory"
	}
	return "remove its directory from the store"
}

// broken is why nothing is restored with a backup, by those that it adds to, and which one it is; "" for nothing.
func (b *bases) broken(m manifest.Manifest) (why string, by manifestOf) {
	for m.Base != nil { // each depth is one less than the one before
		of, ok := b.known[m.Base.ID]
		switch {
		case ok && of.refused != nil:
			return "is an increment of " + m.Base.ID + ", whose manifest cannot be read (" + of.damaged + ")", of
		case !ok || of.damaged != "":
			return "is an increment of " + m.Base.ID + ", which the store does not have", of
		}
		if why := m.Extends(of.Manifest, of.sum); why != "" {
			return "cannot be added to " + m.Base.ID + ": " + why, of
		}
		m = of.Manifest
	}
	return "", by
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
	if err == nil && object == "" {
		return m, false, nil
	}
	if known, before := b.known[id]; err == nil && before && known.object == object {
		known.asked = asked
		return known, true, nil
	}
	found := err
	// S3 gives no reason to who asks whether there is an object.
	text, err := store.ReadUpTo(ctx, b.bucket, key, manifest.MaxSize+1)
	if store.Missing(err) {
		return m, false, nil
	}
	if _, final := store.Reason(err); err != nil && final { // of this one: as it is archived, or its key is disabled
		m.refused = explained("the manifest of the backup "+id+" could not be read", err)
		m.damaged, m.asked, m.ID = store.Explain(err), asked, id
		return m, true, nil
	}
	if err = cmp.Or(err, found); err != nil {
		return m, false, explained("the manifest of the backup "+id+" could not be read", err)
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

// askAgain is ask of a manifest that was read. One that is not given out any more fails, and is none from then on.
func (b *bases) askAgain(ctx context.Context, id string) (m manifestOf, ok bool, err error) {
	m, ok, err = b.ask(ctx, id)
	if err == nil && m.refused != nil {
		b.known[id], err = m, m.refused
	}
	return m, ok, err
}

// same reports whether backups are still in the store as they were read, with those that they add to.
func (b *bases) same(ctx context.Context, all []policy.Base, domain uint32) (bool, error) {
	for _, base := range all {
		for of, n := b.known[base.ID].Base, 0; of != nil && n < manifest.MaxDepth; n++ {
			m, ok, err := b.askAgain(ctx, of.ID)
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
		m, ok, err := b.askAgain(ctx, base.ID)
		if err != nil {
			return false, err
		}
		if !ok {
			delete(b.known, base.ID)
			return false, nil
		}
		b.known[base.ID] = m
		why, _ := b.broken(m.Manifest)
		if m.damaged != "" || why != "" || policy.BaseOf(m.Manifest, domain) != base {
			return false, nil
		}
	}
	return true, nil
}
