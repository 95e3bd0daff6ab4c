package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestBegun: what an attempt has left is gone on with only on a directory of the same server and settings that has all
// tables, and not for ever on one that servers end on.
func TestBegun(t *testing.T) {
	settings := []mycnf.Option{mycnf.Set("innodb_page_size", "16k")}
	now := begun{ID: "external-1", Version: "11.8.3-MariaDB", Settings: settings}
	whole := now
	whole.Mark = "m"
	for name, c := range map[string]struct {
		change func(*begun)
		want   bool
	}{
		"it has all tables":       {func(*begun) {}, true},
		"the server has ended":    {func(b *begun) { b.Broken = maxBroken }, true},
		"it ends again and again": {func(b *begun) { b.Broken = maxBroken + 1 }, false},
		"it has no tables yet":    {func(b *begun) { b.Mark = "" }, false},
		"another copy":            {func(b *begun) { b.ID = "external-2" }, false},
		"another server":          {func(b *begun) { b.Version = "11.4.5-MariaDB" }, false},
		"other settings":          {func(b *begun) { b.Settings = nil }, false},
		"nothing":                 {func(b *begun) { *b = begun{} }, false},
	} {
		b := whole
		c.change(&b)
		if got := b.resumes(now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, c := range map[string]struct {
		err    error
		ends   bool
		broken int
		keep   bool
	}{
		"the source is lost":      {because(task.ReasonSourceUnreachable, external.SourceError{Err: mysql.ErrInvalidConn}), false, 0, true},
		"the pod is being ended":  {context.Canceled, true, 0, true},
		"the server has ended":    {because(task.ReasonToolFailed, mysql.ErrInvalidConn), false, 1, true},
		"a statement has failed":  {because(task.ReasonToolFailed, &mysql.MySQLError{Number: 1034}), false, 0, false},
		"the volume is full":      {because(task.ReasonDiskFull, &mysql.MySQLError{Number: 1114}), false, 0, false},
		"the copy differs":        {fatal(task.ReasonImportDiffers, external.ErrDiffers), false, 0, false},
		"other tables":            {fmt.Errorf("x: %w", external.ErrOtherTables), false, 0, false},
		"the server does not run": {fmt.Errorf("%w: %w", errNotServed, errors.New("x")), false, 0, false},
	} {
		got, keep := whole.left(c.err, c.ends)
		if keep != c.keep || got.Broken != c.broken {
			t.Errorf("%s: %+v, %v", name, got, keep)
		}
	}
	broken := whole
	broken.Broken = maxBroken
	if _, keep := broken.left(mysql.ErrInvalidConn, false); keep {
		t.Error("it is kept though servers end on it again and again")
	}
}

// TestBegunNote: the note is read as it was written, and one that is cut off counts as none.
func TestBegunNote(t *testing.T) {
	p := places{Places: platform.Places{State: t.TempDir()}}
	want := begun{ID: "external-1", Version: "11.8.3", Settings: []mycnf.Option{mycnf.Set("a", "b")}, Mark: "m"}
	if b, err := p.begun(); err != nil || b.Mark != "" {
		t.Errorf("%+v, %v", b, err)
	}
	if err := p.noteBegun(want); err != nil {
		t.Fatal(err)
	}
	if b, err := p.begun(); err != nil || !b.resumes(begun{ID: want.ID, Version: want.Version, Settings: want.Settings}) {
		t.Errorf("%+v, %v", b, err)
	}
	if err := os.WriteFile(filepath.Join(p.State, begunFile), []byte(`{"id":"external-1","mar`), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := p.begun(); err != nil || b.ID != "" {
		t.Errorf("%+v, %v", b, err)
	}
	for range 2 {
		if err := p.forgetCopy(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(p.begunFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
