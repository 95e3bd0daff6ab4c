package datadir

import (
	"os"
	"path/filepath"
	"testing"
)

func TestVersions(t *testing.T) {
	const old, current = "10.11.18-MariaDB", "11.8.6-MariaDB"
	for name, c := range map[string]struct {
		note  *Versions
		files map[string]string
		want  Versions
	}{
		"nothing is known":     {nil, nil, Versions{}},
		"a database of before": {nil, map[string]string{"mysql_upgrade_info": old}, Versions{old, old}},
		"as new servers leave it": {nil, map[string]string{"mariadb_upgrade_info": current + "\n"},
			Versions{current, current}},
		"both: the later one": {nil, map[string]string{"mariadb_upgrade_info": current, "mysql_upgrade_info": old},
			Versions{current, current}},
		"noted": {&Versions{current, old}, nil, Versions{current, old}},
		"noted, and upgraded by hand": {&Versions{current, old}, map[string]string{"mariadb_upgrade_info": current},
			Versions{current, current}},
		"noted, and an old file": {&Versions{current, current}, map[string]string{"mysql_upgrade_info": old},
			Versions{current, current}},
		"a later server was here": {&Versions{old, old}, map[string]string{"mariadb_upgrade_info": current},
			Versions{current, current}},
	} {
		t.Run(name, func(t *testing.T) {
			m, dir := Markers{Dir: t.TempDir()}, t.TempDir()
			if c.note != nil {
				if err := m.SetVersions(*c.note); err != nil {
					t.Fatal(err)
				}
			}
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := m.Versions(dir); err != nil || got != c.want {
				t.Errorf("%+v %v, want %+v", got, err, c.want)
			}
		})
	}
	m := Markers{Dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(m.Dir, versionsFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Versions(t.TempDir()); err == nil {
		t.Error("a torn note was taken for none")
	}
}
