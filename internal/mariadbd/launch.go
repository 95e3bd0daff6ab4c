package mariadbd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// Launch starts mariadbd once nothing of an earlier run is in its way and prepare has prepared the data directory. A
// worker calls it: the volume may not answer.
func Launch(table *platform.ProcessTable, p platform.Places, c Command, prepare func() error) (*Process, error) {
	KillOrphans(table)
	if err := datadir.Remove(p.TransferNotes()); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.Data, 0o750); err != nil {
		return nil, err
	}
	args, err := filesArgs(p, c.Log)
	if err != nil {
		return nil, err
	}
	c.Args = slices.Concat(c.Args, args)
	if err := datadir.CleanTmp(p.Tmp); err != nil {
		return nil, err
	}
	if err := prepare(); err != nil {
		return nil, err
	}
	return Start(table, c)
}

// filesArgs makes the directory for the files of SQL statements. A volume on which it cannot be made, because it is
// full, keeps no server from starting: mariadbd, which ends without a directory, gets one that gives access to nothing.
func filesArgs(p platform.Places, log func(line string)) ([]string, error) {
	missing := os.MkdirAll(p.Files(), 0o750)
	if missing == nil {
		return nil, nil
	}
	none := filepath.Join(p.Run, "no-files")
	if err := os.Mkdir(none, 0); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(missing, err)
	}
	log(
		fmt.Sprintf(
			"SQL statements read and write no files until mariadbd is started again: the directory cannot be made: %v", missing))
	return []string{"--secure-file-priv=" + none}, nil
}
