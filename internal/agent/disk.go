package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// tryEvery is the pause between two small writes to the volume.
	tryEvery = 10 * time.Second
	// frozenAfter is how long one may take before the volume counts as frozen.
	frozenAfter = 15 * time.Second
	aliveFile   = "alive"
)

// diskWatch writes a small file to the volume over and over, beside the loop and the queue. It tells of a volume
// that does not answer, or refuses; nothing is killed for either. The zero value knows nothing, and complains of nothing.
type diskWatch struct {
	write func() error
	now   func() time.Time
	poke  chan struct{}

	mu    sync.Mutex
	since time.Time // when the write that is under way began, zero while none is
	ok    time.Time // when the last one that succeeded ended
	err   error     // of the last one that ended
	at    time.Time // when the trouble began
}

func newDiskWatch(dir string) *diskWatch {
	return &diskWatch{write: func() error { return touch(dir) }, now: time.Now, poke: make(chan struct{}, 1)}
}

// touch does what the order book is written with: a new file, synced, renamed over the old one. Its name is always the same, so that
// nothing piles up.
func touch(dir string) error {
	next := filepath.Join(dir, "."+aliveFile)
	f, err := os.OpenFile(next, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(time.Now().UTC().Format(time.RFC3339) + "\n")
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(next, filepath.Join(dir, aliveFile))
	}
	if err != nil {
		return err
	}
	return datadir.SyncDir(dir)
}

// run writes until ctx ends.
func (d *diskWatch) run(ctx context.Context) {
	pause := time.NewTicker(tryEvery)
	defer pause.Stop()
	for {
		d.try()
		select {
		case <-ctx.Done():
			return
		case <-d.poke:
		case <-pause.C:
		}
	}
}

func (d *diskWatch) try() {
	d.mu.Lock()
	d.since = d.now()
	d.mu.Unlock()
	err := d.write()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.ok = d.now()
	} else if d.err == nil {
		d.at = d.now()
	}
	d.err, d.since = err, time.Time{}
}

// suspect makes it write at once: something else could not.
func (d *diskWatch) suspect() {
	if d == nil {
		return
	}
	select {
	case d.poke <- struct{}{}:
	default:
	}
}

// frozen says that the volume has not answered for too long.
func (d *diskWatch) frozen() bool {
	f := d.failure()
	return f != nil && f.Reason == agentapi.FailureFrozen
}

// answers says that a write has succeeded since a moment, and none is late.
func (d *diskWatch) answers(since time.Time) bool {
	if d == nil || d.failure() != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ok.After(since)
}

// failure is what is wrong with the volume, nil when nothing is known to be. A message changes every ten seconds at most.
func (d *diskWatch) failure() *agentapi.Failure {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if pending := d.now().Sub(d.since); !d.since.IsZero() && pending > frozenAfter {
		return frozenVolume(d.since, pending)
	}
	if d.err == nil {
		return nil
	}
	if errors.Is(d.err, syscall.ENOSPC) || errors.Is(d.err, syscall.EDQUOT) {
		return &agentapi.Failure{Reason: agentapi.FailureDiskFull, At: d.at, Message: fmt.Sprintf(
			"the data volume is full, so that no order can be recorded: %v. Make room on it, or make it larger", d.err)}
	}
	return &agentapi.Failure{Reason: agentapi.FailureReadOnly, At: d.at, Message: fmt.Sprintf(
		"the data volume refuses writes, so that no order can be recorded: %v. Look at the storage and at the host's kernel log; "+
			"a file system that was made read-only after an error has to be checked and mounted again", d.err)}
}

func frozenVolume(since time.Time, pending time.Duration) *agentapi.Failure {
	return &agentapi.Failure{Reason: agentapi.FailureFrozen, At: since, Message: fmt.Sprintf(
		"the data volume has not answered for %s: nothing is killed for it, mariadbd goes on when it answers. "+
			"Look at the storage behind the volume, at the host's kernel log, and for a file system that is frozen (fsfreeze)", pending.Truncate(tryEvery))}
}
