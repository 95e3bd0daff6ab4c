package runner

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// asCreated refuses data whose directory was created with other settings than the cluster has: with another page size
// no node would start, and with another lower_case_table_names tables would not be found, or be there twice. What is
// not known of the data is taken to be as it is wanted. It is pure.
func asCreated(id string, was, wanted map[string]string) error {
	if wanted == nil {
		return nil
	}
	kept := mycnf.Unchangeable(mixed(wanted, was), wanted)
	if kept == nil {
		return nil
	}
	return fatal(task.ReasonForbiddenSetting, fmt.Errorf("the cluster of the backup %s was created with %s=%s, which its "+
		"data keep: set that in spec.mariadb.config", id, kept.Name, kept.Value))
}

// mixed are settings by their normalised names: the later ones count.
func mixed(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, from := range all {
		for name, value := range from {
			out[mycnf.Normalise(name)] = value
		}
	}
	return out
}

// unpackedAsCreated is asCreated for what was unpacked: a manifest of an earlier release names no settings, and
// mariadb-backup notes those of InnoDB.
func unpackedAsCreated(t task.Restore, m manifest.Manifest, p places) error {
	text, err := readFact(filepath.Join(p.work, optionFile))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return asCreated(m.ID, mixed(pairs(text), m.Created), t.Created)
}

// onItsOwn are settings for a server that runs on the data of a backup alone: those that the data keep are the data's.
// The file of mariadb-backup has InnoDB's.
func onItsOwn(settings map[string]string, m manifest.Manifest) map[string]string {
	value, known := m.Created[lowerCase]
	out := map[string]string{}
	for name := range settings {
		switch mycnf.Normalise(name) {
		case mycnf.Normalise("innodb_page_size"), mycnf.Normalise("innodb_data_file_path"):
			continue
		case mycnf.Normalise(lowerCase):
			if known {
				continue
			}
		}
		out[name] = settings[name]
	}
	if known {
		out[lowerCase] = value
	}
	return out
}

const lowerCase = "lower_case_table_names"
