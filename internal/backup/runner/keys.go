package runner

import (
	"fmt"

	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/datadir"
)

// takeKeys puts the keys of an encrypted backup where its own option file names them, before anything is copied. It
// refuses a backup whose data the cluster could not read.
func takeKeys(t task.Restore, m manifest.Manifest, p places) error {
	if len(m.Keys) == 0 {
		return nil
	}
	const remedy = "Name a Secret with the keys of the cluster that the backup is of in " +
		"spec.encryption.atRest.keysSecretRef of the new one"
	if len(t.Keys) == 0 {
		return fatal(task.ReasonKeyNeeded, fmt.Errorf(
			"the data in the backup are encrypted, and the cluster has no spec.encryption. %s", remedy))
	}
	if why := atrest.Differ(m.Keys, t.Keys); why != "" {
		return fatal(task.ReasonKeyNeeded, fmt.Errorf("the cluster does not have the encryption keys of the backup: %s. %s",
			why, remedy))
	}
	if t.Algorithm != "" && m.Algorithm != "" && t.Algorithm != m.Algorithm {
		return fatal(task.ReasonKeyNeeded, fmt.Errorf("the data in the backup are encrypted with %s, and the cluster's "+
			"with %s. Set spec.encryption.atRest.algorithm of the new one to the backup's", m.Algorithm, t.Algorithm))
	}
	if err := datadir.InstallKeys(p.Places, t.Keys); err != nil {
		return because(task.ReasonKeyNeeded, err)
	}
	return nil
}
