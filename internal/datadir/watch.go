package datadir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// TryInterval is the pause between two small writes to the volume.
	TryInterval = 10 * time.Second
	// FrozenAfter is how long one may take before the volume counts as frozen.
	FrozenAfter = 15 * time.Second
	aliveFile   = "alive"
)

// VolumeWatch writes a small file to the volume over and over, independently of the loop and the queue. It reports a
// volume that does not answer, or refuses writes; nothing is killed for either. A nil VolumeWatch reports nothing. Safe
// for concurrent use.
type VolumeWatch struct {
	write func() error
	now   func() time.Time
	poke  chan struct{}

	mu    sync.Mutex
	since time.Time // when the write that is in progress began, zero while none is
	ok    time.Time // when the last one that succeeded ended
	err   error     // of the last one that ended
	at    time.Time // when the trouble began
}

// NewVolumeWatch returns a watch that calls write, which makes a small synced write to the volume, and reads the time
// from now.
func NewVolumeWatch(write func() error, now func() time.Time) *VolumeWatch {
	return &VolumeWatch{write: write, now: now, poke: make(chan struct{}, 1)}
}

// TouchVolume does what the order book is written with: a new file, synced, renamed over the old one. Its name is
// always the same, so that nothing piles up.
func TouchVolume(dir string) error {
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
	return SyncDir(dir)
}

// Run writes until ctx ends.
func (d *VolumeWatch) Run(ctx context.Context) {
	pause := time.NewTicker(TryInterval)
	defer pause.Stop()
	for {
		d.Try()
		select {
		case <-ctx.Done():
			return
		case <-d.poke:
		case <-pause.C:
		}
	}
}

// Try makes one write.
func (d *VolumeWatch) Try() {
	d.Begin(d.now())
	d.End(d.write())
}

// Begin notes that a write began.
func (d *VolumeWatch) Begin(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since = at
}

// End notes how the write ended.
func (d *VolumeWatch) End(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.ok = d.now()
	} else if d.err == nil {
		d.at = d.now()
	}
	d.err, d.since = err, time.Time{}
}

// Suspect makes it write at once: something else could not.
func (d *VolumeWatch) Suspect() {
	if d == nil {
		return
	}
	select {
	case d.poke <- struct{}{}:
	default:
	}
}

// Suspected reports whether a write at once has been asked for, and has not begun.
func (d *VolumeWatch) Suspected() bool { return len(d.poke) > 0 }

// Frozen reports whether the volume has not answered for too long.
func (d *VolumeWatch) Frozen() bool {
	f := d.Failure()
	return f != nil && f.Reason == agentapi.FailureFrozen
}

// Answers reports whether a write has succeeded since a moment, and none is late.
func (d *VolumeWatch) Answers(since time.Time) bool {
	if d == nil || d.Failure() != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ok.After(since)
}

// Failure is what is wrong with the volume, nil when nothing is known to be. A message changes every ten seconds at
// most.
func (d *VolumeWatch) Failure() *agentapi.Failure {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if pending := d.now().Sub(d.since); !d.since.IsZero() && pending > FrozenAfter {
		return FrozenFailure(d.since, pending)
	}
	if d.err == nil {
		return nil
	}
	if Full(d.err) {
		return &agentapi.Failure{Reason: agentapi.FailureDiskFull, At: d.at, Message: fmt.Sprintf(
			"the data volume is full: %v. Free space on it, or make it larger", d.err)}
	}
	return &agentapi.Failure{Reason: agentapi.FailureReadOnly, At: d.at, Message: fmt.Sprintf(
		"the data volume refuses writes, so that no order can be recorded: %v. Check the storage and the host's "+
			"kernel log; "+
			"a file system that was made read-only after an error has to be checked and mounted again", d.err)}
}

// FrozenFailure reports a volume that has not answered since a time, for so long.
func FrozenFailure(since time.Time, pending time.Duration) *agentapi.Failure {
	return &agentapi.Failure{Reason: agentapi.FailureFrozen, At: since, Message: fmt.Sprintf(
		"the data volume has not answered for %s: nothing is killed for it, mariadbd continues when it answers. "+
			"Check the storage behind the volume and the host's kernel log, and look for a file system that is frozen "+
			"(fsfreeze)",
		pending.Truncate(TryInterval))}
}
