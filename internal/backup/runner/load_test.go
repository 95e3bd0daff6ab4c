package runner

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// TestLoadName: a Job that is deleted is made again for the same attempt, and does not meet the tables of the one
// before.
func TestLoadName(t *testing.T) {
	if a, b := loadName(2), loadName(2); a == b || len(loadName(1<<31-1)) > 24 {
		t.Errorf("%s, %s", a, b)
	}
}

// TestMemoryOfALoad: a load is bounded by its container's limit, in which the server with the restored data runs, too,
// with a buffer pool that leaves memory for rows.
func TestMemoryOfALoad(t *testing.T) {
	of := task.Load{MemoryBytes: 1 << 30, Settings: map[string]string{"innodb_buffer_pool_size": "700M"}}
	m := loadMemory(of)
	if m != (external.Memory{Limit: 1 << 30, Shared: true, FromSource: true, Pool: 700 << 20}) {
		t.Errorf("%+v", m)
	}
	if args := poolOf(m, 1); strings.Join(args, " ") != "--innodb-buffer-pool-size=189163110" {
		t.Error(args)
	}
	if args := poolOf(loadMemory(task.Load{}), 1); strings.Join(args, " ") != "--innodb-buffer-pool-size=134217728" {
		t.Error(args)
	}
}
