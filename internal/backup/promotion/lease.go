package promotion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/store"
)

// leaseFile announces that the nodes of a cluster accept writes only while its lease is renewed.
const leaseFile = "lease.json"

// Announcement is its content, which people read: it decides nothing.
type Announcement struct {
	Since time.Time `json:"since"`
}

// Announce announces a cluster's lease, unless it was. The announcement stays for good: a store that is full can be
// read, and one with versions does not get one with each renewal.
func Announce(ctx context.Context, b *store.Bucket, cluster string, at time.Time) error {
	there, err := Announced(ctx, b, cluster)
	if err == nil && !there {
		var text []byte
		if text, err = json.Marshal(Announcement{Since: at.UTC()}); err == nil {
			err = store.Write(ctx, b, path.Join(cluster, Directory, leaseFile), text)
		}
	}
	if err != nil {
		return fmt.Errorf("the lease could not be announced: %w", err)
	}
	return nil
}

// Announced reports whether a cluster has announced a lease.
func Announced(ctx context.Context, b *store.Bucket, cluster string) (bool, error) {
	return store.Exists(ctx, b, path.Join(cluster, Directory, leaseFile))
}

// Watch checks again and again whether a promotion counts. A listing may be late: after the first one, the next record
// is read by its name.
type Watch struct{ next uint64 }

// Promoted reports whether a promotion counts.
func (w *Watch) Promoted(ctx context.Context, b *store.Bucket, cluster string) (bool, error) {
	for range tries {
		if w.next == 0 {
			r, err := find(ctx, b, cluster)
			if err != nil || r.now != nil {
				return r.now != nil, err
			}
			w.next = r.next
		}
		there, err := store.Exists(ctx, b, key(cluster, w.next, record))
		if err != nil {
			return false, fmt.Errorf("the next promotion could not be looked for: %w", err)
		}
		if !there {
			return false, nil
		}
		w.next = 0 // it counts, or was overruled meanwhile
	}
	return false, errors.New("the list of the promotions lacks one that is there")
}
