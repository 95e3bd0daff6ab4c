package runner

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// dictionary is the query of the tables that InnoDB has, by the names of their files. It keeps them in ibdata1: unlike
// information_schema.tables they do not depend on the files of the tables.
const dictionary = "SELECT name, space FROM information_schema.innodb_sys_tables WHERE name LIKE '%/%'"

// noted is a table, or a partition, in InnoDB's dictionary.
type noted struct {
	Name   string // as of its file, below the data directory
	System bool   // it is in ibdata1
}

// refuseLacking refuses data whose tables' files are not those that InnoDB knows of: a folder that was uploaded in
// part, or from two backups. A server would start with that, and the tables just be missing.
func refuseLacking(ctx context.Context, db *sql.DB, dir string) error {
	rows, err := db.QueryContext(ctx, dictionary)
	if err != nil {
		return because(task.ReasonToolFailed, err)
	}
	defer func() { _ = rows.Close() }()
	var all []noted
	for rows.Next() {
		var t noted
		var space int64
		if err := rows.Scan(&t.Name, &space); err != nil {
			return because(task.ReasonToolFailed, err)
		}
		t.System = space == 0
		all = append(all, t)
	}
	if err := rows.Err(); err != nil {
		return because(task.ReasonToolFailed, err)
	}
	var files []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".ibd" && ext != ".frm" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, name)
		return err
	})
	if err != nil {
		return err
	}
	return lackingFiles(all, files)
}

// auxiliary matches what InnoDB has of its own for a full-text index, and has no definition.
var auxiliary = regexp.MustCompile(`(?i)/FTS_[0-9a-f]{16}_`)

// tableOf is the name of the table that a partition is one of.
func tableOf(name string) string {
	if i := strings.Index(strings.ToLower(name), "#p#"); i > 0 {
		return name[:i]
	}
	return name
}

// temporary reports whether a table is one that ALTER TABLE had begun.
func temporary(name string) bool { return strings.Contains(strings.ToLower(name), "/#sql") }

// lackingFiles compares InnoDB's tables with the files. It is pure.
func lackingFiles(all []noted, files []string) error {
	have, known := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		have[f] = true
	}
	var lacking, indexes, unknown []string
	for _, t := range all {
		known[t.Name] = true
		if temporary(t.Name) {
			continue
		}
		to, index := &lacking, auxiliary.MatchString(t.Name)
		if index {
			to = &indexes
		}
		if file := t.Name + ".ibd"; !t.System && !have[file] {
			*to = append(*to, file)
		}
		if file := tableOf(t.Name) + ".frm"; !index && !have[file] {
			*to = append(*to, file)
		}
	}
	for _, f := range files { // one without a definition is no table, but a file that the server has left there
		name, is := strings.CutSuffix(f, ".ibd")
		if is && !known[name] && !temporary(name) && have[tableOf(name)+".frm"] {
			unknown = append(unknown, f)
		}
	}
	slices.Sort(lacking)
	slices.Sort(indexes)
	slices.Sort(unknown)
	var why []string
	if lacking = append(slices.Compact(lacking), indexes...); len(lacking) > 0 {
		why = append(why, "these files of its tables are missing: "+some(lacking))
	}
	if len(unknown) > 0 {
		why = append(why, "its ibdata1 does not have these tables, which are of another backup: "+some(unknown))
	}
	if why == nil {
		return nil
	}
	return fatal(task.ReasonBackupDamaged, fmt.Errorf("the backup is not whole: %s. Upload all of one backup to a path "+
		"of "+
		"its own. A table whose files are missing on the server as well has to be dropped there, before another backup "+
		"is made", strings.Join(why, ", and ")))
}
