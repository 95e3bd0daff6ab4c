package backup

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
)

// copies is mariadb-backup as far as it reports LSNs: a full copy ends at 100, an increment 100 later than it begins.
const copies = `for a; do case $a in --extra-lsndir=*) dir=${a#*=};; --incremental-lsn=*) from=${a#*=};; esac; done
printf "to_lsn = $((${from:-0} + 100))\nfrom_lsn = ${from:-0}\n" > $dir/mariadb_backup_checkpoints; ` + complete

func TestIncrement(t *testing.T) {
	now := mark{Boot: "x", Version: "11.8.9-MariaDB", Keys: map[string]string{"1": "a"}, Algorithm: "AES_CTR"}
	for says, change := range map[string]func(marks *[]mark, now *mark){
		"":                               func(*[]mark, *mark) {},
		"the data directory is not":      func(marks *[]mark, _ *mark) { *marks = nil },
		"is not the one that the backup": func(marks *[]mark, _ *mark) { (*marks)[0].LSN++ },
		"data directory is not the one":  func(marks *[]mark, _ *mark) { (*marks)[0].ID = "b2" },
		"the host was started again":     func(_ *[]mark, now *mark) { now.Boot = "y" },
		"host was started again": func(marks *[]mark, now *mark) {
			now.Boot, (*marks)[0].Boot = "", ""
		},
		"the server was upgraded from 11.8.9": func(_ *[]mark, now *mark) { now.Version = "12.3.1-MariaDB" },
		"encryption keys have changed": func(_ *[]mark, now *mark) {
			now.Keys = map[string]string{"1": "a", "2": "b"}
		},
		"the encryption keys": func(_ *[]mark, now *mark) { now.Algorithm = "AES_CBC" },
	} {
		base := now
		base.ID, base.LSN = "b1", 100
		marks, today := []mark{base}, now
		change(&marks, &today)
		if why := increment(marks, "b1", 100, today); (why == "") != (says == "") || !strings.Contains(why, says) {
			t.Errorf("%q: %q", says, why)
		}
	}
	later := now
	later.Version = "11.8.10-MariaDB"
	if why := increment([]mark{{ID: "b1", LSN: 1, Boot: "x", Version: now.Version, Keys: now.Keys,
		Algorithm: now.Algorithm}}, "b1", 1, later); why != "" {
		t.Errorf("of the same series: %q", why)
	}
}

// TestMarks: of many copies the last ones are kept, one of each backup; a damaged file is none.
func TestMarks(t *testing.T) {
	dir := t.TempDir()
	for i := range maxMarks + 5 {
		if err := addMark(dir, mark{ID: fmt.Sprint("b", i), LSN: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := addMark(dir, mark{ID: "b104", LSN: 7}); err != nil {
		t.Fatal(err)
	}
	if m := readMarks(dir); len(m) != maxMarks || m[0].ID != "b5" || m[maxMarks-1].LSN != 7 {
		t.Errorf("%d, %+v", len(m), m)
	}
	if err := ForgetMarks(dir); err != nil || readMarks(dir) != nil || ForgetMarks(dir) != nil {
		t.Errorf("%v %v", err, readMarks(dir))
	}
	if err := os.WriteFile(marksPath(dir), []byte("[{"), 0o600); err != nil || readMarks(dir) != nil {
		t.Errorf("%v %v", err, readMarks(dir))
	}
}

// TestStreamOfAnIncrement: a caller gets what has changed since a copy of this data directory, and everything, with the
// reason, where that cannot be.
func TestStreamOfAnIncrement(t *testing.T) {
	s := start(t, copies)
	s.streamer.places.Data = t.TempDir()
	take := func(id, base string, lsn uint64) agentapi.BackupEnd {
		t.Helper()
		s.admit(t, id)
		of := s.url
		defer func() { s.url = of }()
		query := ""
		if base != "" {
			query = "?" + url.Values{agentapi.QueryBase: {base}, agentapi.QueryLSN: {fmt.Sprint(lsn)}}.Encode()
		}
		_, end, _, err := s.take(t.Context(), id+query, s.pair)
		if err != nil || end.Error != "" {
			t.Fatalf("%s: %+v %v", id, end, err)
		}
		return end
	}
	if end := take("b1", "", 0); end.LSN != 100 || end.FromLSN != 0 || end.Full != "" {
		t.Errorf("a full one: %+v", end)
	}
	if end := take("b2", "b1", 100); end.LSN != 200 || end.FromLSN != 100 || end.Full != "" {
		t.Errorf("an increment: %+v", end)
	}
	if end := take("b3", "b2", 200); end.LSN != 300 || end.FromLSN != 200 {
		t.Errorf("an increment of it: %+v", end)
	}
	if end := take("b4", "b2", 100); end.FromLSN != 0 || !strings.Contains(end.Full, "not the one") {
		t.Errorf("of another LSN: %+v", end)
	}
	if end := take("b5", "b1", 0); end.FromLSN != 0 || !strings.Contains(end.Full, "no LSN") {
		t.Errorf("of none: %+v", end)
	}
	s.do(func() { s.run.Note = &datadir.Joining{SST: true} })
	if end := take("joining", "b3", 300); end.FromLSN != 0 || !strings.Contains(end.Full, "has just joined") {
		t.Errorf("of an SST that is not recorded yet: %+v", end)
	}
	s.do(func() { s.run.Note = nil })
	if end := take("joined", "b3", 300); end.FromLSN != 300 {
		t.Errorf("of data that were not copied: %+v", end)
	}
	if err := ForgetMarks(s.streamer.places.Data); err != nil {
		t.Fatal(err)
	}
	if end := take("b6", "b3", 300); end.FromLSN != 0 || end.Full == "" {
		t.Errorf("after another copy: %+v", end)
	}
	s.streamer.places.Data += "/away"
	if end := take("b7", "", 0); end.LSN != 0 || end.Position == "" {
		t.Errorf("without a mark there can be no increment of it: %+v", end)
	}
}

// TestOtherIncrement: what begins elsewhere than was asked for is no copy.
func TestOtherIncrement(t *testing.T) {
	s := start(t, strings.Replace(copies, "from_lsn = ${from:-0}", "from_lsn = ${from:+7}", 1))
	s.streamer.places.Data = t.TempDir()
	s.admit(t, "b1")
	base := mark{ID: "b0", LSN: 100, Boot: boot(), Version: "11.8.6-MariaDB"}
	if err := addMark(s.streamer.places.Data, base); err != nil {
		t.Fatal(err)
	}
	_, end, _, err := s.take(t.Context(), "b1?base=b0&lsn=100", s.pair)
	if err != nil || !strings.Contains(end.Error, "since 100, and names 7") {
		t.Errorf("%+v %v", end, err)
	}
}

// TestUnmarkedIncrement: a restore needs to know where an increment ends, also of one that cannot be noted.
func TestUnmarkedIncrement(t *testing.T) {
	s := start(t, `for a; do case $a in --datadir=*) rm -r ${a#*=};; esac; done; `+copies)
	s.streamer.places.Data = t.TempDir()
	s.admit(t, "b1")
	base := mark{ID: "b0", LSN: 100, Boot: boot(), Version: "11.8.6-MariaDB"}
	if err := addMark(s.streamer.places.Data, base); err != nil {
		t.Fatal(err)
	}
	_, end, _, err := s.take(t.Context(), "b1?base=b0&lsn=100", s.pair)
	if err != nil || end.Error != "" || end.FromLSN != 100 || end.LSN != 200 {
		t.Errorf("%+v %v", end, err)
	}
}
