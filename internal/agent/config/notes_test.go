package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestScript runs the shell text as bash does it for mariadbd, with options as mariadbd gives them.
func TestScript(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	dir := t.TempDir()
	notes, env, script := filepath.Join(dir, "notes"), filepath.Join(dir, "env.sh"),
		filepath.Join(dir, "wsrep_sst_mariabackup")
	writeExecutable(t, env, "case \"${0##*/}\" in\nwsrep_sst_mariabackup)\n"+notesScript(notes)+"\t;;\nesac\n")
	writeExecutable(t, script, "#!/bin/bash -ue\nexit 0\n")
	for _, args := range [][]string{
		{"--role", "donor", "--address", "shop.test:s3cret@10.0.0.3:4444/xtrabackup_sst//1", "--datadir", "/x"},
		{"--role", "donor", "--bypass", "--address", "10.0.0.3:4444"},
		{"--role", "donor", "--address", "cn:s3cret@[fd00::2]:4444/xtrabackup_sst"},
		{"--role", "joiner", "--address", "10.0.0.2", "--parent", "9"},
		{"--role"},
	} {
		cmd := exec.Command(script, args...)
		cmd.Env = append(os.Environ(), "BASH_ENV="+env)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	got := TransferNotes(notes)
	for i := range got {
		if got[i].PID == 0 || got[i].Running() {
			t.Errorf("pid of %+v", got[i])
		}
		got[i].PID = 0
	}
	want := []TransferNote{
		{Role: "donor", Kind: "SST", Host: "10.0.0.3"}, {Role: "donor", Kind: "IST", Host: "10.0.0.3"},
		{Role: "donor", Kind: "SST", Host: "fd00::2"}, {Role: "joiner", Kind: "SST", Host: "10.0.0.2"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestNotesOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	if TransferNotes(path) != nil {
		t.Error("a file that is not there has notes")
	}
	writeExecutable(t, path, "donor x SST\ngarbage\ndonor 12 SST 10.0.0")
	if got := TransferNotes(path); got != nil {
		t.Errorf("%+v", got)
	}
}

func writeExecutable(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestBackupFailure: the reason is read from the end of what mariadb-backup has logged. The logs are those of a redo
// log of 4 MiB, and 60 MiB that were sent with 2 MiB/s.
func TestBackupFailure(t *testing.T) {
	const remedy = "raise innodb_log_file_size in spec.mariadb.config, or the rate limit of the backup or transfer)"
	logged := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	late, before := logged("backup-overtaken-11.8.log"), strings.Repeat("[01] Streaming ./app/t.frm to <STDOUT>\n", 10000)
	since := time.Now().Add(-time.Minute)
	for name, c := range map[string]struct {
		text  string
		since time.Time
		want  []string
	}{
		"11.8": {late, since, []string{"Was only able to copy log from 41628980 to 46368067, not 295298079 (", remedy}},
		"10.11": {logged("backup-overtaken-10.11.log"), since, []string{"Was only able to copy log from 39965018 to 47879419",
			remedy}},
		"a long log":         {before + late, since, []string{remedy}},
		"long before":        {late + before, since, nil},
		"of an earlier one":  {late, time.Now().Add(time.Minute), nil},
		"one that succeeded": {before + "[00] completed OK!\n", since, nil},
	} {
		dir := t.TempDir()
		writeExecutable(t, filepath.Join(dir, backupLog), c.text)
		got := BackupFailure(dir, c.since)
		if (got == "") != (c.want == nil) || len(got) > 400 {
			t.Errorf("%s: %q", name, got)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	if got := BackupFailure(t.TempDir(), since); got != "" {
		t.Errorf("without a log: %q", got)
	}
}
