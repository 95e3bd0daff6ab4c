package runner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/pipe"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// tool puts a program in the place of the image's.
func tool(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	//nolint:gosec // it is executed
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestUnpack: mbstream gets all of a backup.
func TestUnpack(t *testing.T) {
	r := newRestoring(t)
	defer r.serve(t, r.answer)()
	m, err := r.places.manifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(r.places.Volume, "d")
	tool(t, "mbstream", `cat >"$3/all"`)
	if err := unpack(t.Context(), m, 0, dir, r.places); err != nil {
		t.Error(err)
	}
	if have, err := os.ReadFile(filepath.Join(dir, "all")); err != nil || !bytes.Equal(have, r.stream) {
		t.Errorf("%d bytes of %d, %v", len(have), len(r.stream), err)
	}
}

// unpackMuch unpacks more than the program's pipe takes.
func unpackMuch(ctx context.Context, t *testing.T) error {
	t.Helper()
	r := newRestoring(t)
	more := make([]byte, 4*pipeSize)
	defer r.serve(t, func(_ context.Context, _ pipe.Request, w *pipe.Writer) pipe.End {
		_, _ = w.Write(more)
		return pipe.End{}
	})()
	return unpack(ctx, manifest.Manifest{StreamBytes: int64(len(more))}, 0, filepath.Join(t.TempDir(), "d"), r.places)
}

// TestUnpackFails: when mbstream ends early, why it has ended is reported, and not that no one reads any more.
func TestUnpackFails(t *testing.T) {
	tool(t, "mbstream", "echo 'mbstream: no space left on device' >&2; exit 3")
	start := time.Now()
	err := unpackMuch(t.Context(), t)
	if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "exit code 3") || took > 20*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
}

// TestUnpackEnds: what is not unpacked whole is none. The error is that of the store, and mbstream's where the store
// has given all. A full volume is tried again, as one may be made larger.
func TestUnpackEnds(t *testing.T) {
	broken := pipe.End{Error: "the store has broken off", Reason: task.ReasonStoreUnreachable}
	for name, c := range map[string]struct {
		script string
		end    pipe.End
		reason string
		says   string
	}{
		"both end well":         {"cat >/dev/null", pipe.End{}, "", ""},
		"the stream breaks off": {"cat >/dev/null", broken, task.ReasonStoreUnreachable, "the store has broken off"},
		"and so does mbstream": {"cat >/dev/null; exit 1", broken, task.ReasonStoreUnreachable,
			"the store has broken off"},
		"mbstream fails at its end": {"cat >/dev/null; exit 3", pipe.End{}, task.ReasonToolFailed, "exit code 3"},
		"the volume is full": {"cat >/dev/null; echo 'No space left on device' >&2; exit 1", pipe.End{},
			task.ReasonDiskFull, "No space"},
		"it has the directory of tmp": {`[ "$PWD" = "$TMPDIR" ] && cat >/dev/null`, pipe.End{}, "", ""},
	} {
		tool(t, "mbstream", c.script)
		r := newRestoring(t)
		stop := r.serve(t, func(_ context.Context, _ pipe.Request, w *pipe.Writer) pipe.End {
			_, _ = w.Write([]byte("some"))
			return c.end
		})
		err := unpack(t.Context(), manifest.Manifest{StreamBytes: 4}, 0, filepath.Join(t.TempDir(), "d"), r.places)
		stop()
		if reason, final := explain(err); reason != c.reason || final || (err == nil) != (c.reason == "") || err != nil &&
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %s %v %v", name, reason, final, err)
		}
	}
}

// TestUnpackTooLittle: mbstream that ends well before it has taken all has not unpacked a backup.
func TestUnpackTooLittle(t *testing.T) {
	tool(t, "mbstream", "exit 0")
	if err := unpackMuch(t.Context(), t); !errors.Is(err, errUnpacked) {
		t.Errorf("%v", err)
	}
}

// TestUnpackHangs: a program that takes nothing does not keep a restore that has no time left.
func TestUnpackHangs(t *testing.T) {
	tool(t, "mbstream", "exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- unpackMuch(ctx, t) }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it has succeeded")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it is still waited for")
	}
}
