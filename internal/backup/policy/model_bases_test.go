package policy_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// makeBackup copies a node's data.
func (w *world) makeBackup(i int) (id string) {
	last, _ := w.position(i)
	txs := slices.Clone(w.line().txs)
	if len(txs) == 0 {
		return ""
	}
	w.made++
	b := backup{Base: policy.Base{ID: fmt.Sprintf("b%d", w.made), Line: w.line().Line, Seqno: w.seqno,
		Time: w.completedOn(i).Add(time.Duration(w.made) * time.Millisecond)}, txs: txs} // each one later
	b.named = b.ID
	if w.logging {
		b.Session, b.GTID = fmt.Sprint(w.session), last
	}
	w.backups = append(w.backups, b)
	w.say("backup %s at %s, of %s", b.ID, b.GTID, b.Line.ID)
	return b.ID
}

// bases are the backups as their manifests were read. One of them is read again, in turn. unread reports whether a
// manifest is that of another backup.
func (w *world) bases() (out []policy.Base, unread bool) {
	w.turn++
	known := map[string]manifest{}
	for i, b := range w.backups {
		m, ok := w.known[b.ID]
		if !ok || i == w.turn%len(w.backups) {
			m = manifest{b, w.now}
		}
		known[b.ID] = m
		if m.named != b.ID {
			unread = true
			continue
		}
		out = append(out, m.Base)
	}
	w.known = known
	return out, unread
}

// read is when the manifest was read that was not read for the longest time.
func (w *world) read() time.Time {
	at := w.now
	for _, m := range w.known {
		if m.at.Before(at) {
			at = m.at
		}
	}
	return at
}

// replace has the manifest of a backup that an attempt has replaced which was held up, of the data there are now; or
// those of two backups change places.
func (w *world) replace(which int) {
	if len(w.backups) < 2 {
		return
	}
	if i := which % len(w.backups); which%4 > 0 {
		if id := w.makeBackup(which % 3); id != "" {
			now := w.backups[len(w.backups)-1]
			w.backups = w.backups[:len(w.backups)-1]
			now.ID, now.named, now.replaced = w.backups[i].ID, w.backups[i].ID, true
			w.backups[i] = now
			w.say("the backup %s was replaced by %s", now.ID, id)
		}
		return
	}
	i := which % (len(w.backups) - 1)
	a, b := &w.backups[i], &w.backups[i+1]
	a.ID, b.ID = b.ID, a.ID
	*a, *b = *b, *a
	w.say("the manifests of the backups %s and %s have changed places", a.ID, b.ID)
}

// changed reads manifests again, and reports whether one is another than before.
func (w *world) changed(bases []policy.Base) (changed bool) {
	for _, b := range w.backups {
		if slices.ContainsFunc(bases, func(r policy.Base) bool { return r.ID == b.ID && (r != b.Base || b.named != b.ID) }) {
			w.known[b.ID], changed = manifest{b, w.now}, true
		}
	}
	return changed
}
