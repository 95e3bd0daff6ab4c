package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

const uuid = "90e0b86f-e577-11f1-b9b1-fa90d5744545"

func TestParseGrastate(t *testing.T) {
	good := "# GALERA saved state\nversion: 2.1\nuuid:    " + uuid + "\nseqno:   17\nsafe_to_bootstrap: 1\n"
	g, err := parseGrastate(good)
	if err != nil || g.Position != (galera.Position{UUID: uuid, Seqno: 17}) || !g.SafeToBootstrap {
		t.Fatalf("%+v %v", g, err)
	}
	if again, err := parseGrastate(g.render()); err != nil || again != g {
		t.Errorf("render does not round-trip: %+v %v", again, err)
	}
	for name, text := range map[string]string{
		"empty":          "",
		"cut off":        "# GALERA saved state\nversion: 2.1\nuuid:    " + uuid + "\n",
		"no uuid":        "seqno: 4\n",
		"bad uuid":       "uuid: x\nseqno: 4\n",
		"bad seqno":      "uuid: " + uuid + "\nseqno: 4x\n",
		"negative seqno": "uuid: " + uuid + "\nseqno: -2\n",
	} {
		if g, err := parseGrastate(text); err == nil {
			t.Errorf("%s: taken for %+v", name, g)
		}
	}
}

func TestPermitBootstrap(t *testing.T) {
	pos := galera.Position{UUID: uuid, Seqno: 9}
	for name, c := range map[string]struct {
		before string
		want   Grastate
	}{
		"keeps the position": {Grastate{Position: pos}.render(), Grastate{pos, true}},
		"no file":            {"", Grastate{galera.Position{UUID: uuid, Seqno: -1}, true}},
		"damaged file":       {"garbage", Grastate{galera.Position{UUID: uuid, Seqno: -1}, true}},
		"other uuid": {Grastate{Position: galera.Position{UUID: galera.ZeroUUID, Seqno: -1}}.render(),
			Grastate{galera.Position{UUID: uuid, Seqno: -1}, true}},
	} {
		dir := t.TempDir()
		if c.before != "" {
			write(t, filepath.Join(dir, grastateFile), c.before)
		}
		if err := PermitBootstrap(dir, pos); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadGrastate(dir); err != nil || got != c.want {
			t.Errorf("%s: %+v %v, want %+v", name, got, err, c.want)
		}
	}
}

// TestForgetSeqno: a joiner that needs a full copy must name no position, and keeps its history.
func TestForgetSeqno(t *testing.T) {
	known, crashed := galera.Position{UUID: uuid, Seqno: 9}, galera.Position{UUID: uuid, Seqno: -1}
	none := galera.Position{UUID: galera.ZeroUUID, Seqno: -1}
	for before, want := range map[Grastate]Grastate{{known, true}: {crashed, false}, {crashed, false}: {crashed, false},
		{none, false}: {none, false}} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, grastateFile), before.render())
		if err := ForgetSeqno(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadGrastate(dir); err != nil || got != want {
			t.Errorf("%+v: %+v %v", before, got, err)
		}
	}
	if err := ForgetSeqno(t.TempDir()); err != nil {
		t.Errorf("no file: %v", err)
	}
}

func TestJudge(t *testing.T) {
	rsync, backup := &Joining{Method: "Rsync"}, &Joining{Method: "MariaBackup"}
	begun := &Joining{Method: "MariaBackup", SST: true}
	full := Contents{Database: true, Tablespace: true}
	for name, c := range map[string]struct {
		look Contents
		note *Joining
		want galera.DataState
	}{
		"nothing":                         {Contents{}, nil, galera.DataEmpty},
		"nothing, after an attempt":       {Contents{}, begun, galera.DataEmpty},
		"a database":                      {full, nil, galera.DataPresent},
		"something that is no tablespace": {Contents{Database: true}, nil, galera.DataPresent},
		"a transfer's directory":          {Contents{SST: true}, nil, galera.DataIncomplete},
		"a transfer's directory next to data": {Contents{Database: true, Tablespace: true, SST: true}, nil,
			galera.DataIncomplete},
		"IST cut off":                           {full, backup, galera.DataPresent},
		"transfer cut off":                      {full, begun, galera.DataIncomplete},
		"rsync writes into the data":            {full, rsync, galera.DataIncomplete},
		"tablespace gone in an unfinished join": {Contents{Database: true}, backup, galera.DataIncomplete},
	} {
		if got := Classify(c.look, c.note); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestInspect(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  Contents
	}{
		"by-products only": {[]string{"lost+found/", "galera.cache", "grastate.dat", "gvwstate.dat", "wsrep_sst.pid",
			"sst_in_progress",
			"gcache.page.000001", "mariabackup.backup.log", "aria_log_control", "aria_log.00000001", "ddl_recovery.log",
			"tc.log"}, Contents{}},
		"database":               {[]string{"ibdata1", "mysql/", "grastate.dat"}, Contents{Database: true, Tablespace: true}},
		"half a database":        {[]string{"mysql/"}, Contents{Database: true}},
		"unknown file":           {[]string{"precious"}, Contents{Database: true}},
		"transfer":               {[]string{".sst/", "galera.cache"}, Contents{SST: true}},
		"transfer, next to data": {[]string{".sst/", "app/"}, Contents{SST: true, Database: true}},
	} {
		dir := fill(t, c.files...)
		if got, err := Inspect(dir); err != nil || got != c.want {
			t.Errorf("%s: %+v %v, want %+v", name, got, err, c.want)
		}
	}
	if got, err := Inspect(filepath.Join(t.TempDir(), "none")); err != nil || got != (Contents{}) {
		t.Errorf("a directory that is not there: %+v %v", got, err)
	}
}

func TestClean(t *testing.T) {
	dir := fill(t, "ibdata1", "grastate.dat", "gvwstate.dat", "wsrep_sst.pid", ".sst/", "stunnel.pid", "app/")
	if err := Clean(dir, false); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), []string{"app", "grastate.dat", "gvwstate.dat", "ibdata1"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	if err := Clean(dir, true); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), []string{"app", "ibdata1"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	if err := Clean(filepath.Join(dir, "none"), true); err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
}

func TestReplaceNeverOverwritesData(t *testing.T) {
	root := t.TempDir()
	from, to := filepath.Join(root, "data.init"), filepath.Join(root, "data")
	for _, files := range [][]string{{"precious"}, {"ibdata1"}, {".sst/"}} {
		_ = os.RemoveAll(to)
		into(t, to, files...)
		into(t, from, "ibdata1", "mysql/")
		if err := Replace(from, to); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%v: %v, want a refusal", files, err)
		}
		if _, err := os.Stat(filepath.Join(to, files[0])); err != nil {
			t.Errorf("%v: %v", files, err)
		}
	}
	_ = os.RemoveAll(to)
	into(t, to, "galera.cache", "grastate.dat")
	if err := Replace(from, to); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, to), []string{"ibdata1", "mysql"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := os.Stat(from); !os.IsNotExist(err) {
		t.Error("the working directory is still there")
	}
}

func TestMarkers(t *testing.T) {
	m := Markers{Dir: t.TempDir()}
	if j, err := m.Joining(); j != nil || err != nil {
		t.Fatalf("%v %v", j, err)
	}
	want := Joining{Method: "MariaBackup", SST: true, From: galera.Position{UUID: uuid, Seqno: 3},
		Since: time.Unix(5, 0).UTC()}
	if err := m.SetJoining(want); err != nil {
		t.Fatal(err)
	}
	if j, err := m.Joining(); err != nil || *j != want {
		t.Errorf("%+v %v", j, err)
	}
	write(t, filepath.Join(m.Dir, joiningFile), "{torn")
	if j, err := m.Joining(); err != nil || j == nil || !j.SST {
		t.Errorf("a torn note must count as a transfer: %+v %v", j, err)
	}
	if err := m.ClearJoining(); err != nil {
		t.Fatal(err)
	}
	if j, err := m.Joining(); j != nil || err != nil || m.ClearJoining() != nil {
		t.Errorf("%v %v", j, err)
	}
	if m.Initialising() || m.SetInitialising() != nil || !m.Initialising() || m.ClearInitialising() != nil ||
		m.Initialising() {
		t.Error("the note of an initialisation does not come and go")
	}
	if m.VotedOut() || m.SetVotedOut() != nil || !m.VotedOut() || m.ClearVotedOut() != nil || m.VotedOut() {
		t.Error("the note of a lost vote does not come and go")
	}
}

func TestWriteFileLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left %v", got)
	}
	if err := WriteFile(filepath.Join(dir, "none", "a"), nil, 0o600); err == nil {
		t.Error("no error for a directory that is not there")
	}
}

func TestSize(t *testing.T) {
	dir := fill(t, "app/")
	write(t, filepath.Join(dir, "app", "t.ibd"), "12345")
	write(t, filepath.Join(dir, "galera.cache"), "123456789")
	if got := Size(dir); got != 5 {
		t.Errorf("%d, want 5: the cache does not count", got)
	}
}

func fill(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	into(t, dir, files...)
	return dir
}

// into creates files, and directories where the name ends in a slash.
func into(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		path := filepath.Join(dir, f)
		if f[len(f)-1] == '/' {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, "x")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
