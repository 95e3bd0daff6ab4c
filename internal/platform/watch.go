package platform

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle lets a burst of events pass, so that a change is read once and whole.
	settle = 100 * time.Millisecond
	// rescanInterval is how often everything is checked without any event: one may have been lost.
	rescanInterval = 15 * time.Second
)

// WatchDirs calls changed after something changed in one of the directories, and every now and then
// anyway, until ctx ends. A directory that is not there yet is tried again.
func WatchDirs(ctx context.Context, dirs []string, changed func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		poll(ctx, changed)
		return
	}
	defer func() { _ = watcher.Close() }()
	missing := add(watcher, dirs)
	ticker := time.NewTicker(rescanInterval)
	defer ticker.Stop()
	quiet := time.NewTimer(settle)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-watcher.Events:
			quiet.Reset(settle)
		case err := <-watcher.Errors:
			_ = err // an overflow, which only means that something has changed
			quiet.Reset(settle)
		case <-ticker.C:
			missing = add(watcher, missing)
			changed()
		case <-quiet.C:
			changed()
		}
	}
}

func add(w *fsnotify.Watcher, dirs []string) (missing []string) {
	for _, d := range dirs {
		if w.Add(d) != nil {
			missing = append(missing, d)
		}
	}
	return missing
}

func poll(ctx context.Context, changed func()) {
	ticker := time.NewTicker(rescanInterval / 5)
	defer ticker.Stop()
	for {
		changed()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
