package runner

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/backup/tables"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// TestCopiedError: an error is the source's or the cluster's, and only what another attempt would meet as well is
// final.
func TestCopiedError(t *testing.T) {
	source := func(err error) error { return fmt.Errorf("copying: %w", external.SourceError{Err: err}) }
	for name, c := range map[string]struct {
		err    error
		reason string
		final  bool
	}{
		"the source is away":    {source(mysql.ErrInvalidConn), task.ReasonSourceUnreachable, false},
		"its account":           {source(&mysql.MySQLError{Number: 1045}), task.ReasonSourceRefused, false},
		"its tables change":     {source(external.ErrChanged), task.ReasonSourceChanged, false},
		"the cluster is away":   {mysql.ErrInvalidConn, task.ReasonLoadFailed, false},
		"a definition":          {fmt.Errorf("%w: x", external.ErrRefused), task.ReasonTableRefused, true},
		"a difference":          {external.ErrDiffers, task.ReasonLoadDiffers, false},
		"the name is taken":     {tables.ErrExists, task.ReasonTargetExists, true},
		"the table has gone":    {tables.ErrNotFound, task.ReasonTableNotFound, true},
		"the cluster is full":   {&mysql.MySQLError{Number: 1114}, task.ReasonDiskFull, true},
		"the source has a full": {source(&mysql.MySQLError{Number: 1114}), task.ReasonDiskFull, false},
	} {
		if reason, final := explain(copiedError(c.err)); reason != c.reason || final != c.final {
			t.Errorf("%s: %s, %t", name, reason, final)
		}
	}
	if copiedError(nil) != nil {
		t.Error("an error of nothing")
	}
}

// TestRoomInCluster: tables need their size twice, and a cluster of an unknown size takes any.
func TestRoomInCluster(t *testing.T) {
	for bytes, fit := range map[int64]bool{5 << 30: true, 6 << 30: false} {
		err := roomInCluster(bytes, 10<<30)
		if reason, final := explain(err); (err == nil) != fit || !fit && (reason != task.ReasonDiskFull || !final) {
			t.Errorf("%d: %v", bytes, err)
		}
		if err := roomInCluster(bytes, 0); err != nil {
			t.Error(err)
		}
	}
}
