package mariadbd

import (
	"os"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agent/platform/procs"
)

// Launch starts mariadbd once nothing of an earlier run is in its way and prepare has prepared the data directory. A worker
// calls it: the volume may not answer.
func Launch(table *procs.Table, p paths.Places, c Command, prepare func() error) (*Process, error) {
	KillOrphans(table)
	if err := datadir.Remove(p.TransferNotes()); err != nil {
		return nil, err
	}
	for _, dir := range []string{p.Data, p.Files()} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, err
		}
	}
	if err := datadir.CleanTmp(p.Tmp); err != nil {
		return nil, err
	}
	if err := prepare(); err != nil {
		return nil, err
	}
	return Start(table, c)
}
