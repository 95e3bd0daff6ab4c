package galerabackup

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
)

// TestBase: a Job is named the backup that its increment adds to as it was stored, and none that is gone.
func TestBase(t *testing.T) {
	of := v1alpha1.GaleraBackup{}
	of.Status.ID, of.Status.Checksum, of.Status.LSN = "b0", "c0", 100
	for name, c := range map[string]struct {
		chain *v1alpha1.BackupChain
		want  *manifest.Base
	}{
		"a full one":      {nil, nil},
		"one that became": {&v1alpha1.BackupChain{FullBecause: "x"}, nil},
		"an increment": {&v1alpha1.BackupChain{Base: "b0", Depth: 3},
			&manifest.Base{ID: "b0", Checksum: "c0", LSN: 100, Depth: 3}},
		"of one that is gone": {&v1alpha1.BackupChain{Base: "b9", Depth: 3}, nil},
	} {
		f := taking.Facts{Backup: &v1alpha1.GaleraBackup{}, Backups: []v1alpha1.GaleraBackup{{}, of}}
		f.Backup.Status.Incremental = c.chain
		if got := base(f); (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
