package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// restoredFile is the note alongside the data that they come from a backup. It is written before they become the data
// directory.
const restoredFile = "restored.json"

// places of a restore.
type places struct {
	platform.Places
	// work becomes the data directory when all is done: until then nothing can be taken for a database.
	work string
	// pipe is the socket of the container that holds the keys, and reads the store.
	pipe string
	// encrypted reports whether the data that are restored are.
	encrypted bool
	table     *platform.ProcessTable
}

func defaultPlaces() places {
	p := platform.DefaultPlaces()
	return places{Places: p, work: filepath.Join(p.Volume, "data.restore"), pipe: task.Pipe,
		table: &platform.ProcessTable{}}
}

func (p places) note() string { return filepath.Join(p.State, restoredFile) }

// restored is the note.
type restored struct {
	task.Restored
	History string `json:"history"`
}

// restore fills the volume with a backup, as the beginning of a new history. It may be cut off anywhere: it begins anew
// then.
func restore(ctx context.Context, t task.Restore, p places) (task.Result, error) {
	unlock, err := lock(p)
	if err != nil {
		return task.Result{}, err
	}
	defer unlock()
	if done, err := inspect(p, t); done != nil || err != nil {
		return task.Result{Restored: done}, err
	}
	all, err := p.chain(ctx)
	if err != nil {
		return task.Result{}, err
	}
	m := all[0]
	version, err := usable(ctx, p, all)
	if err != nil {
		return task.Result{}, err
	}
	if err := takeKeys(t, m, p); err != nil {
		return task.Result{}, err
	}
	p.encrypted = len(m.Keys) > 0
	for step := len(all) - 1; step >= 0; step-- { // the full backup first
		if err := add(ctx, t, all[step], step, p); err != nil {
			return task.Result{}, err
		}
	}
	reached, late := "", 0
	if t.Replay != nil {
		if reached, late, err = replay(ctx, t, m, p); err != nil {
			return task.Result{}, err
		}
	}
	if t.Follow {
		if err := setPosition(ctx, p, t.Replay, reached); err != nil {
			return task.Result{}, err
		}
	}
	say("beginning the history %s", t.History)
	source, position, err := begin(ctx, p, t.History, identifiers(t.ServerID, t.Domain)...)
	if err != nil {
		return task.Result{}, err
	}
	out := task.Restored{ID: t.ID, Position: position.String(), Source: source.String(), GTID: reached, Late: late}
	return task.Result{Restored: &out}, finish(p, restored{out, t.History},
		datadir.Versions{Used: version, Tables: m.ServerVersion})
}

// lockFile is on the volume, and held by the process that fills it.
const lockFile = "restore.lock"

// lock keeps a second attempt away from the volume while the one before is still at work: a pod that was deleted by
// force may go on for a while.
func lock(p places) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(p.Volume, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { //nolint:gosec // descriptors are small
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("an attempt before this one is still at work on the volume")
		}
		return nil, because(task.ReasonToolFailed, err)
	}
	return func() { _ = f.Close() }, nil
}

// inspect reports whether the volume holds this restore already, and refuses one that holds anything else.
func inspect(p places, t task.Restore) (*task.Restored, error) {
	l, err := datadir.Inspect(p.Data)
	if err != nil {
		return nil, err
	}
	var note restored
	text, err := os.ReadFile(p.note())
	if err == nil {
		err = json.Unmarshal(text, &note)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	switch {
	case l.Database && note.History == t.History && note.ID == t.ID:
		return &note.Restored, nil
	case l.Database || l.SST:
		return nil, fatal(task.ReasonVolumeNotEmpty,
			errors.New(
				"the volume holds a database already, and is left unchanged: to start with what it holds, remove "+
					"spec.bootstrapFrom; otherwise delete the claim, or choose another name for the cluster"))
	}
	return nil, nil
}

// usable refuses a chain that this image, or this volume, cannot take, and returns the version of the image's server.
func usable(ctx context.Context, p places, all []manifest.Manifest) (string, error) {
	server := mariadbd.FindServer()
	if server == "" {
		return "", fatal(task.ReasonToolFailed, errors.New("the image has no mariadbd"))
	}
	version, err := mariadbd.ServerVersion(ctx, p.table, server)
	if err != nil {
		return "", because(task.ReasonToolFailed, err)
	}
	var largest int64 // of the increments, which are unpacked one after the other
	for i, m := range all {
		if err := fits(m, version, runtime.GOARCH); err != nil {
			return "", err
		}
		if i < len(all)-1 {
			largest = max(largest, m.StreamBytes)
		}
	}
	for _, tool := range []string{"mbstream", "mariadb-backup"} {
		if mariadbd.FindProgram(tool) == "" {
			return "", fatal(task.ReasonToolFailed, fmt.Errorf("the image has no %s", tool))
		}
	}
	if err := errors.Join(os.RemoveAll(p.work), os.RemoveAll(p.increment())); err != nil {
		return "", err
	}
	// what an increment adds to the data is there twice for a while; asked again before each
	if err := roomFor(p, all[len(all)-1].StreamBytes+2*largest, "the backup's data"); err != nil {
		return "", err
	}
	return version, os.MkdirAll(p.State, 0o750)
}

// fits refuses a backup whose files a server of that version, on that processor, may not be able to read.
func fits(m manifest.Manifest, version, arch string) error {
	switch {
	case manifest.Later(m.ServerVersion, version):
		return fatal(task.ReasonVersionRefused, fmt.Errorf(
			"the backup was made by MariaDB %s, and the image has %s, which cannot read it: set spec.image to that series or "+
				"a later one", m.ServerVersion, version))
	case m.Arch != "" && m.Arch != arch:
		return fatal(task.ReasonVersionRefused, fmt.Errorf(
			"the backup was made on %s, and this host is %s: MariaDB promises nothing for files that are moved between "+
				"processors. Set spec.scheduling.nodeSelector to hosts with kubernetes.io/arch: %s", m.Arch, arch, m.Arch))
	}
	return nil
}

// roomFor refuses what the volume has no space for.
func roomFor(p places, bytes int64, what string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(p.Volume, &fs); err != nil {
		return err
	}
	if free := int64(fs.Bavail) * fs.Bsize; free < bytes { //nolint:gosec // no file system has 2^63 blocks
		return because(task.ReasonDiskFull, fmt.Errorf(
			"the volume has space for %d MiB, and %s take %d MiB: give the cluster larger volumes (spec.storage.size)",
			free>>20, what, bytes>>20))
	}
	return nil
}

// add makes a database of a full backup, or adds an increment to the one that is there.
func add(ctx context.Context, t task.Restore, m manifest.Manifest, step int, p places) error {
	dir := p.work
	if m.Base != nil {
		dir = p.increment()
		if err := roomFor(p, 2*m.StreamBytes, "an increment, and what it adds to the data,"); err != nil {
			return err
		}
	}
	if err := unpack(ctx, m, step, dir, p); err != nil {
		return err
	}
	if m.Base == nil {
		if err := unpackedAsCreated(t, m, p); err != nil {
			return err
		}
	}
	say("preparing the data")
	if m.Base == nil {
		return prepare(ctx, p)
	}
	if err := prepare(ctx, p, "--incremental-dir="+dir); err != nil {
		return err
	}
	// mariadb-backup ends with exit code 0 where it refuses an increment
	if at, _, err := mariadbd.ReadLSN(p.work); err != nil || at != m.LSN {
		return damaged(m.ID, fmt.Errorf("mariadb-backup has not added the increment %s, which ends at the LSN %d: the data "+
			"are at %d", m.ID, m.LSN, at))
	}
	return os.RemoveAll(dir)
}

// increment is where one is unpacked.
func (p places) increment() string { return p.work + ".increment" }

func isStore(err error) bool {
	var f failure
	return errors.As(err, &f)
}

// finish makes the working directory the data directory. The note comes first: without it a volume with data is
// refused.
func finish(p places, note restored, v datadir.Versions) error {
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	if err := (datadir.Markers{Dir: p.State}).SetVersions(v); err != nil {
		return err
	}
	if err := datadir.WriteFile(p.note(), text, 0o600); err != nil {
		return err
	}
	return datadir.Replace(p.work, p.Data)
}
