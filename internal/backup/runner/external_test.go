package runner

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// TestExplained: a copy that would fail again is not tried again, and what the source does is distinguished from what
// the new server does.
func TestExplained(t *testing.T) {
	of := func(err error) error { return external.SourceError{Err: err} }
	for name, c := range map[string]struct {
		err    error
		reason string
		final  bool
	}{
		"it differs":        {fmt.Errorf("x: %w", external.ErrDiffers), task.ReasonImportDiffers, true},
		"a definition":      {fmt.Errorf("x: %w", external.ErrRefused), task.ReasonImportRefused, true},
		"a large row":       {fmt.Errorf("x: %w", external.ErrTooLarge), task.ReasonImportRefused, true},
		"DDL":               {of(fmt.Errorf("x: %w", external.ErrChanged)), task.ReasonSourceChanged, false},
		"no route":          {of(&net.OpError{Op: "dial", Err: errors.New("no route")}), task.ReasonSourceUnreachable, false},
		"a broken stream":   {of(mysql.ErrInvalidConn), task.ReasonSourceUnreachable, false},
		"a password":        {of(&mysql.MySQLError{Number: 1045}), task.ReasonSourceRefused, false},
		"a statement":       {of(&mysql.MySQLError{Number: 1227}), task.ReasonSourceRefused, false},
		"a full volume":     {&mysql.MySQLError{Number: 1114}, task.ReasonDiskFull, false},
		"the new server":    {mysql.ErrInvalidConn, task.ReasonToolFailed, false},
		"its own statement": {&mysql.MySQLError{Number: 1064}, task.ReasonToolFailed, false},
	} {
		if reason, final := explain(explained(c.err)); reason != c.reason || final != c.final {
			t.Errorf("%s: %s, %v", name, reason, final)
		}
	}
}

// TestMemoryOfACopy: a copy is bounded by its container's limit, in which a new cluster's server runs, too.
func TestMemoryOfACopy(t *testing.T) {
	for of, want := range map[*task.External]external.Memory{
		{MemoryBytes: 1 << 30}: {Limit: 1 << 30, Shared: true, Pool: 128 << 20},
		{Settings: map[string]string{"loose_innodb_buffer_pool_size": "2g"}}: {Shared: true, Pool: 2 << 30},
		{Settings: map[string]string{"innodb_buffer_pool_size": "much"}}:     {Shared: true},
		{MemoryBytes: 1 << 30, Only: true}:                                   {Limit: 1 << 30},
	} {
		if o := options(*of); o.Memory != want {
			t.Errorf("%+v: %+v", of, o.Memory)
		}
	}
}

// TestImporting: the buffer pool of the server that is filled leaves memory for rows.
func TestImporting(t *testing.T) {
	for _, c := range []struct {
		limit      int64
		pool, want string
	}{
		{1 << 30, "650M", "--innodb-buffer-pool-size=170288742"},
		{512 << 20, "", "--innodb-buffer-pool-size=67108864"},
		{16 << 30, "10G", "--innodb-buffer-pool-size=10737418240"},
		{0, "650M", "--innodb-buffer-pool-size=681574400"},
		{1 << 30, "much", "--sql-mode="},
	} {
		of := task.External{MemoryBytes: c.limit, Connections: 4, Settings: map[string]string{"innodb_io_capacity": "9"}}
		if c.pool != "" {
			of.Settings["innodb_buffer_pool_size"] = c.pool
		}
		of.ServerID = 1 << 20
		have := importing(of, options(of))
		if have[len(have)-1] != c.want || !slices.Contains(have, "--innodb-io-capacity=9") ||
			!slices.Contains(have, "--server-id=1048576") {
			t.Errorf("%+v: %v", c, have)
		}
	}
}

// TestShortened: what is reported of the source always fits.
func TestShortened(t *testing.T) {
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprint(strings.Repeat("x", 300), i))
	}
	s := task.Source{Skipped: shortened(names)}
	if n := len(s.Skipped); n != maxSkipped+1 || s.Skipped[maxSkipped] != "and 468 more" {
		t.Errorf("%d: %s", n, s.Skipped[n-1])
	}
	for range 12 {
		s.Findings = append(s.Findings, task.Finding{Name: "PrimaryKeyMissing", Objects: names[:5], Count: 500,
			Message: "add one"})
	}
	text, err := encode(task.Result{Source: &s})
	if err != nil || len(text) > task.MaxResult || !strings.Contains(string(text), `"count":500`) {
		t.Errorf("%v, %d bytes", err, len(text))
	}
}
