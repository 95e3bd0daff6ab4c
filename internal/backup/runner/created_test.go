package runner

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// TestFoundAsCreated: a backup whose data keep other settings than the cluster has is refused before any volume is
// filled, with what to set. One whose manifest names none is no question yet, nor is one for another server.
func TestFoundAsCreated(t *testing.T) {
	is := func(more ...string) map[string]string {
		out := mycnf.Created(nil)
		for _, o := range more {
			name, value, _ := strings.Cut(o, "=")
			out[name] = value
		}
		return out
	}
	for name, c := range map[string]struct {
		was, wanted map[string]string
		says        string
	}{
		"the same":                   {is(), is(), ""},
		"names in lower case":        {is("lower_case_table_names=1"), is(), "lower_case_table_names=1, which"},
		"names as they are written":  {is(), is("lower_case_table_names=1"), "lower_case_table_names=0, which"},
		"smaller pages":              {is("innodb_page_size=8192"), is(), "innodb_page_size=8192, which"},
		"the same pages":             {is("innodb_page_size=8192"), is("innodb_page_size=8k"), ""},
		"another file":               {is("innodb_data_file_path=ibdata1:1G"), is(), "innodb_data_file_path=ibdata1:1G"},
		"of an earlier release":      {nil, is("innodb_page_size=8k"), ""},
		"for a server of the Job's":  {is("innodb_page_size=8192"), nil, ""},
		"a setting of later release": {is("innodb_later=1"), is(), ""},
	} {
		r := newRestoring(t)
		m, err := manifest.Parse(r.text)
		if err != nil {
			t.Fatal(err)
		}
		m.Created = c.was
		if r.text, err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		r.replace(t, manifest.Name, r.text)
		_, err = find(t.Context(), r.bucket, task.Find{Dir: r.dir, ID: r.id, Created: c.wanted})
		reason, final := explain(err) // there is no key here
		if refused := reason == task.ReasonForbiddenSetting && final; refused != (c.says != "") ||
			!refused && reason != task.ReasonWrongKey || refused && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %s: %v", name, reason, err)
		}
	}
}

// TestUnpackedAsCreated: what mariadb-backup notes of InnoDB's files decides for a manifest that names no settings.
func TestUnpackedAsCreated(t *testing.T) {
	const noted = "[mysqld]\ninnodb_checksum_algorithm=full_crc32\ninnodb_data_file_path=ibdata1:12M:autoextend\n" +
		"innodb_page_size=8192\ninnodb_undo_tablespaces=3\n"
	for name, c := range map[string]struct {
		noted         string
		was, wanted   map[string]string
		refused, says string
	}{
		"of an earlier release":     {noted, nil, mycnf.Created(nil), task.ReasonForbiddenSetting, "innodb_page_size=8192"},
		"as the cluster has it":     {noted, nil, map[string]string{"innodb_page_size": "8k"}, "", ""},
		"for a server of the Job's": {noted, nil, nil, "", ""},
		"nothing is noted":          {"", nil, mycnf.Created(nil), "", ""},
		"as the manifest has it": {"", map[string]string{"lower_case_table_names": "1"}, mycnf.Created(nil),
			task.ReasonForbiddenSetting, "lower_case_table_names=1"},
	} {
		p := volume(t)
		if err := os.MkdirAll(p.work, 0o750); err != nil {
			t.Fatal(err)
		}
		if c.noted != "" {
			if err := os.WriteFile(filepath.Join(p.work, optionFile), []byte(c.noted), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := unpackedAsCreated(task.Restore{Created: c.wanted}, manifest.Manifest{ID: "b1", Created: c.was}, p)
		reason, _ := explain(err)
		if err == nil && c.refused != "" || err != nil && (reason != c.refused || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %s: %v", name, reason, err)
		}
	}
}

// TestOnItsOwn: a server that serves a backup for a load has the names and the pages of the backup, and not those of
// the cluster that the tables get into.
func TestOnItsOwn(t *testing.T) {
	cluster := map[string]string{"innodb_page_size": "8k", "INNODB-data-file-path": "x", "lower-case-table-names": "1",
		"max_connections": "5"}
	for name, c := range map[string]struct {
		was, want map[string]string
	}{
		"that names it": {map[string]string{lowerCase: "0"}, map[string]string{lowerCase: "0",
			"max_connections": "5"}},
		"of an earlier release": {nil, map[string]string{"lower-case-table-names": "1", "max_connections": "5"}},
	} {
		if got := onItsOwn(cluster, manifest.Manifest{Created: c.was}); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := onItsOwn(nil, manifest.Manifest{Created: map[string]string{lowerCase: "1"}}); got[lowerCase] != "1" {
		t.Errorf("of a cluster without settings: %v", got)
	}
}
