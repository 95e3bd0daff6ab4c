package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestLackingFiles: a table that InnoDB knows of has its files, and the other way round.
func TestLackingFiles(t *testing.T) {
	all := []noted{{Name: "mysql/gtid_slave_pos"}, {Name: "shop/t"}, {Name: "shop/FTS_0000000000000012_CONFIG"},
		{Name: "zoo/a#P#p0"}, {Name: "zoo/a#P#p1"}, {Name: "zoo/sub#p#p0#sp#s0"}, {Name: "zoo/insys", System: true},
		{Name: "zoo/#sql-alter-1-2"}, {Name: "we@002dird/t"}}
	files := []string{"mysql/gtid_slave_pos.frm", "mysql/gtid_slave_pos.ibd", "mysql/db.frm", "shop/t.frm", "shop/t.ibd",
		"shop/FTS_0000000000000012_CONFIG.ibd", "shop/view.frm", "zoo/a.frm", "zoo/a#P#p0.ibd", "zoo/a#P#p1.ibd",
		"zoo/sub.frm", "zoo/sub#p#p0#sp#s0.ibd", "zoo/insys.frm", "we@002dird/t.frm", "we@002dird/t.ibd",
		"zoo/left.ibd", "zoo/#sql-ib9.ibd"}
	for name, c := range map[string]struct {
		without string // the beginning of files' names
		with    []string
		says    string // "" for no refusal
	}{
		"whole":                {},
		"a database":           {without: "shop/", says: ": shop/t.frm, shop/t.ibd, shop/FTS_0000000000000012_CONFIG.ibd. "},
		"another database":     {without: "we@002dird/", says: "we@002dird/t.frm, we@002dird/t.ibd. Upload"},
		"data":                 {without: "shop/t.ibd", says: "missing: shop/t.ibd. Upload"},
		"a definition":         {without: "shop/t.frm", says: "missing: shop/t.frm. Upload"},
		"a definition, system": {without: "zoo/insys.frm", says: "missing: zoo/insys.frm. Upload"},
		"of a partitioned one": {without: "zoo/a.frm", says: "missing: zoo/a.frm. Upload"},
		"a partition":          {without: "zoo/a#P#p1", says: "missing: zoo/a#P#p1.ibd. Upload"},
		"a full-text index":    {without: "shop/FTS", says: "missing: shop/FTS_0000000000000012_CONFIG.ibd. Upload"},
		"of the system":        {without: "mysql/gtid", says: "mysql/gtid_slave_pos.frm, mysql/gtid_slave_pos.ibd. Upload"},
		"a later table": {with: []string{"shop/new.frm", "shop/new.ibd"},
			says: "of another backup: shop/new.ibd. Upload"},
		"a later partition": {with: []string{"zoo/a#P#p2.ibd"},
			says: "whole: its ibdata1 does not have these tables, which are of another backup: zoo/a#P#p2.ibd. "},
		"both": {without: "shop/t.ibd", with: []string{"zoo/a#P#p2.ibd"}, says: "shop/t.ibd, and its ibdata1"},
	} {
		have := slices.DeleteFunc(slices.Clone(files), func(f string) bool {
			return c.without != "" && strings.HasPrefix(f, c.without)
		})
		err := lackingFiles(all, append(have, c.with...))
		if (err == nil) != (c.says == "") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err == nil {
			continue
		}
		if reason, final := explain(err); reason != task.ReasonBackupDamaged || !final ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %s, %v: %v", name, reason, final, err)
		}
	}
}
