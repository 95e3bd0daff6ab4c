//go:build integration

package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// TestCreatedSettings: a backup names the settings that its data keep, as the server itself has them. A cluster with
// other ones is refused before any volume is filled; with the manifest of an earlier release once it is unpacked.
func TestCreatedSettings(t *testing.T) {
	own := map[string]string{"lower_case_table_names": "1", "innodb_page_size": "8k"}
	w := newWorld(t, 2, func(c *agentapi.NodeConfig) { c.Settings = own })
	s := &scenario{T: t, world: w}
	s.wait()
	s.form()
	j := newJobs(w)
	n := s.node(0)
	n.mustSQL("CREATE TABLE app.Orders (id INT PRIMARY KEY)")
	b := j.backUp(n, "full", nil)
	path := filepath.Join(j.dir, "store", b.Dir, b.ID, manifest.Name)
	m := got(manifest.Parse(got(os.ReadFile(path))(t)))(t)
	for name, want := range mycnf.Created(map[string]string{"lower_case_table_names": "1", "innodb_page_size": "8192"}) {
		if m.Created[name] != want {
			t.Errorf("%s=%s, and the manifest has %v", name, want, m.Created)
		}
	}
	find := func(settings map[string]string) task.Result {
		return j.run(task.Task{Find: &task.Find{Dir: b.Dir, Created: mycnf.Created(settings)}})
	}
	refused := func(r task.Result, says string) {
		t.Helper()
		if r.Reason != task.ReasonForbiddenSetting || !r.Fatal || !strings.Contains(r.Error, says) {
			t.Errorf("%+v", r)
		}
	}
	refused(find(map[string]string{"innodb_page_size": "8k"}), "lower_case_table_names=1")
	refused(find(map[string]string{"lower_case_table_names": "1"}), "innodb_page_size=8192")
	if r := find(own); r.Error != "" || r.Backup == nil {
		t.Errorf("%+v", r)
	}
	m.Created = nil
	check(t, os.WriteFile(path, got(json.Marshal(m))(t), 0o600))
	fill := func(settings map[string]string) task.Result {
		return j.fill(task.Task{Restore: &task.Restore{Dir: b.Dir, ID: b.ID, History: importHistory,
			Created: mycnf.Created(settings)}})
	}
	refused(fill(map[string]string{"lower_case_table_names": "1"}), "innodb_page_size=8192")
	if r := fill(own); r.Error != "" || r.Restored == nil {
		t.Errorf("%+v", r)
	}
}
