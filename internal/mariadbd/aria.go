package mariadbd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	// ariaInterval is the pause between two checks, ariaTimeout bounds one: the tables are small.
	ariaInterval = time.Minute
	ariaTimeout  = 5 * time.Minute
)

// ariaSchemas are those whose tables MariaDB makes itself, with the engine Aria.
var ariaSchemas = []string{"mysql", "sys"}

// ariaName is what their tables are called, and no user's statement can quote itself out of.
var ariaName = regexp.MustCompile(`^[a-z0-9_]+$`)

// Aria writes MariaDB's own Aria tables anew that are encrypted and should not be, or are not and should: Aria, unlike
// InnoDB, does so only when a table is rebuilt. The statements are not replicated, so each member does it for itself.
// Not safe for concurrent use; event loop only.
type Aria struct {
	loop    eventloop.Loop
	places  platform.Places
	rebuild func(ctx context.Context, schema, table string) error

	busy bool
	next time.Time
}

// NewAria returns an Aria that has not checked anything. rebuild writes one table anew on this server alone.
func NewAria(loop eventloop.Loop, places platform.Places, rebuild func(ctx context.Context, schema, table string) error,
) Aria {
	return Aria{loop: loop, places: places, rebuild: rebuild}
}

// Began is called for a new server, which may have other settings.
func (a *Aria) Began() { a.next = time.Time{} }

// Check rebuilds the tables that are not as the running server would write them.
func (a *Aria) Check(now time.Time, encrypted bool) {
	if a.busy || now.Before(a.next) {
		return
	}
	a.busy, a.next = true, now.Add(ariaInterval)
	ctx, cancel := a.loop.Work(ariaTimeout)
	go func() {
		defer cancel()
		rebuilt, err := a.rebuildAll(ctx, encrypted)
		a.loop.Post(func() {
			a.busy = false
			if err != nil {
				a.loop.Logger.Warn("system tables could not be written anew", "encrypted", encrypted, "error", err)
			}
			if rebuilt > 0 {
				a.loop.Logger.Info("system tables were written anew", "encrypted", encrypted, "tables", rebuilt)
			}
		})
	}()
}

// Busy returns what is in progress, "" otherwise.
func (a *Aria) Busy() string {
	if a.busy {
		return "system tables are being written anew"
	}
	return ""
}

// rebuildAll rebuilds what is to be rebuilt, and returns how many tables were.
func (a *Aria) rebuildAll(ctx context.Context, encrypted bool) (int, error) {
	rebuilt := 0
	var errs []error
	for _, schema := range ariaSchemas {
		tables, err := ariaTables(filepath.Join(a.places.Data, schema), encrypted)
		errs = append(errs, err)
		for _, table := range tables {
			if err := a.rebuild(ctx, schema, table); err != nil {
				errs = append(errs, fmt.Errorf("%s.%s: %w", schema, table, err))
				continue
			}
			rebuilt++
		}
	}
	return rebuilt, errors.Join(errs...)
}

// ariaTables are the tables of a schema's directory that are not encrypted and should be, or the other way round.
func ariaTables(dir string, encrypted bool) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.MAI"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, path := range files {
		table := strings.TrimSuffix(filepath.Base(path), ".MAI")
		head, err := headOf(path)
		if err != nil {
			return nil, err
		}
		if a, err := atrest.ParseAria(head); err == nil && a.Encrypted != encrypted && ariaName.MatchString(table) {
			out = append(out, table)
		}
	}
	slices.Sort(out)
	return out, nil
}

// headOf is the beginning of a file.
func headOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, atrest.HeadSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head[:n], nil
}
