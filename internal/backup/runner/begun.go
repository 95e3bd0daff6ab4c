package runner

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/external"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

const (
	// begunFile is the note of a copy that can be resumed.
	begunFile = "import-begun.json"
	// maxBroken is how often the new server may end by itself before what it has is given up.
	maxBroken = 2
)

// errNotServed is a directory that no server runs on.
var errNotServed = errors.New("the new server does not run")

// begun is what a copy that was cut off has left in the working directory. Whose rows they are does not matter: each
// that is kept is compared with the source.
type begun struct {
	// ID is the copy's. Version is the server's that has made the directory, Settings those that it was made with.
	ID       string         `json:"id"`
	Version  string         `json:"version"`
	Settings []mycnf.Option `json:"settings,omitempty"`
	// Mark stands for the definitions of the tables (external.Options); "" before they are there.
	Mark string `json:"mark"`
	// Broken counts how often the server has ended by itself.
	Broken int `json:"broken,omitempty"`
}

// resumes reports whether an attempt goes on with what a note is about.
func (b begun) resumes(now begun) bool {
	return b.Mark != "" && b.Broken <= maxBroken && b.ID == now.ID && b.Version == now.Version &&
		slices.Equal(b.Settings, now.Settings)
}

// left is what is noted of an attempt that has failed: nothing once the directory cannot be trusted, or is of no use.
func (b begun) left(err error, ends bool) (note begun, keep bool) {
	var source external.SourceError
	switch {
	case b.Mark == "" || errors.Is(err, errNotServed) || errors.Is(err, external.ErrOtherTables):
		return b, false
	case ends || errors.As(err, &source):
		return b, true
	case external.Unreachable(err):
		b.Broken++
		return b, b.Broken <= maxBroken
	}
	return b, false
}

// copyOrResume goes on with what an earlier attempt has left, if that is possible, or begins with an empty directory.
func copyOrResume(ctx context.Context, source *sql.DB, t task.External, path, version string, bytes int64, p places) (
	task.Source, error) {
	now := begun{ID: t.ID, Version: version, Settings: mycnf.AtCreation(t.Settings)}
	if was, err := p.begun(); err != nil {
		return task.Source{}, err
	} else if was.resumes(now) {
		say("going on with what an earlier attempt has copied: rows that are no longer the source's are copied again")
		done, err := attempt(ctx, source, t, was, bytes, p)
		if !errors.Is(err, errNotServed) && !errors.Is(err, external.ErrOtherTables) || ctx.Err() != nil {
			return done, err
		}
		say("beginning anew: %v", err)
	}
	if err := makeEmpty(ctx, t, path, p); err != nil {
		return task.Source{}, err
	}
	return attempt(ctx, source, t, now, bytes, p)
}

// attempt copies into the working directory, and notes what is left of it when that fails.
func attempt(ctx context.Context, source *sql.DB, t task.External, note begun, bytes int64, p places) (
	task.Source, error) {
	have, err := sizeOf(p.work)
	if err != nil {
		return task.Source{}, err
	}
	if note.Mark == "" {
		have = 0 // the empty database is no part of the source's tables
	}
	if err := roomFor(p, bytes-have, "the source's tables"); err != nil {
		return task.Source{}, err
	}
	done, err := copySource(ctx, source, t, &note, p)
	if err == nil {
		return done, nil
	}
	was, readErr := p.begun()
	if readErr != nil || was.Mark == "" { // the rows are complete, and what followed is not
		return done, errors.Join(err, readErr)
	}
	if left, keep := was.left(err, ctx.Err() != nil); !keep {
		err = errors.Join(err, p.forgetCopy())
	} else if left.Broken != was.Broken {
		err = errors.Join(err, p.noteBegun(left))
	}
	return done, err
}

func (p places) begunFile() string { return filepath.Join(p.State, begunFile) }

// begun reads the note, an empty one if there is none that can be read: the next attempt begins anew then.
func (p places) begun() (b begun, err error) {
	text, err := os.ReadFile(p.begunFile())
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	if json.Unmarshal(text, &b) != nil {
		b = begun{}
	}
	return b, nil
}

func (p places) noteBegun(b begun) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return datadir.WriteFile(p.begunFile(), text, 0o600)
}

// forgetCopy has the next attempt begin anew.
func (p places) forgetCopy() error { return datadir.Remove(p.begunFile()) }
