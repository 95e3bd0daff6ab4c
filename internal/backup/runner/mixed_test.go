package runner

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/mbstream"
	"github.com/galera-operator/galera-operator/internal/backup/pipe"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// spaceOf is a tablespace with pages of these LSNs, of 16 KiB, or of 4 KiB as a table with ROW_FORMAT=COMPRESSED has.
func spaceOf(size int, lsns ...uint64) []byte {
	out := make([]byte, size*len(lsns))
	binary.BigEndian.PutUint16(out[24:], 8)
	binary.BigEndian.PutUint32(out[46:], uint32(len(lsns))) //nolint:gosec // few
	binary.BigEndian.PutUint32(out[54:], 0x15)
	if size == 4<<10 {
		binary.BigEndian.PutUint32(out[54:], 3<<1)
	}
	for i, lsn := range lsns {
		binary.BigEndian.PutUint64(out[size*i+16:], lsn)
	}
	return out
}

// TestNewest: the latest LSN of all pages is found, whatever pieces a file comes in.
func TestNewest(t *testing.T) {
	files := map[string][]byte{
		"shop/t.ibd": spaceOf(16<<10, 5, 9, 7), "shop/z.ibd": spaceOf(4<<10, 5, 6, 11, 7, 8), "ibdata1": spaceOf(16<<10, 3),
		"undo001": spaceOf(16<<10, 4, 1), "shop/view.frm": spaceOf(16<<10, 99), "shop/none.ibd": make([]byte, 40),
		"shop/undo1.MYD": spaceOf(16<<10, 99),
	}
	want := map[string]uint64{"shop/t.ibd": 9, "shop/z.ibd": 11, "ibdata1": 3, "undo001": 4, "shop/none.ibd": 0}
	for _, size := range []int{1, 20, 63, 64, 4096, 16 << 10, 1 << 20} {
		n := newest{}
		for name, data := range files {
			at := uint64(0)
			for piece := range slices.Chunk(data, size) {
				n.see(name, at, piece)
				at += uint64(len(piece))
			}
		}
		if have := n.latest(); !maps.Equal(have, want) {
			t.Errorf("by %d: %v", size, have)
		}
	}
	n := newest{}
	data := spaceOf(16<<10, 5, 9, 7)
	n.see("shop/t.ibd", 0, data[:16<<10])
	n.see("shop/t.ibd", 32<<10, data[32<<10:]) // the second page is a hole
	if have := n.latest()["shop/t.ibd"]; have != 7 {
		t.Error(have)
	}
	n.see("shop/t.ibd", 0, spaceOf(16<<10, 2)) // it is sent again
	if have := n.latest()["shop/t.ibd"]; have != 2 {
		t.Error(have)
	}
}

// TestReadRedo: where the log begins and ends is known in the format since 10.8.
func TestReadRedo(t *testing.T) {
	head := make([]byte, redoBegin+100)
	copy(head, "Phys")
	binary.BigEndian.PutUint64(head[8:], 1000)
	binary.BigEndian.PutUint64(head[4096:], 1010)
	binary.BigEndian.PutUint64(head[8192:], 1020)
	old := bytes.Clone(head)
	copy(old, "\x00\x00\x00\x67")
	for name, c := range map[string]struct {
		text []byte
		want redoLog
	}{
		"of 10.8": {head, redoLog{1020, 1100}}, "of 10.6": {old, redoLog{}}, "empty": {[]byte{}, redoLog{}},
		"a part of a header": {head[:9000], redoLog{}}, "none": {nil, redoLog{}},
	} {
		dir := t.TempDir()
		if c.text != nil {
			if err := os.WriteFile(filepath.Join(dir, "ib_logfile0"), c.text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := readRedo(dir); err != nil || have != c.want {
			t.Errorf("%s: %+v, %v", name, have, err)
		}
	}
}

// TestRefuseMixed: the files of a backup agree on its end, as those of 10.11.18 and 11.8.6 do: prepared or not, with an
// increment or without.
func TestRefuseMixed(t *testing.T) {
	pages := map[string]uint64{"shop/t.ibd": 90, "ibdata1": 100}
	for name, c := range map[string]struct {
		kind, last, to string // of …_checkpoints
		infoTo         string
		added          bool
		redo           redoLog
		binlog         string // of …_info
		pages          map[string]uint64
		says           string
	}{
		"a backup": {last: "100", to: "80", infoTo: "80", redo: redoLog{80, 100}, pages: pages},
		"of 10.6":  {last: "100", to: "80", infoTo: "80", pages: pages},
		"prepared": {kind: "log-applied", last: "100", to: "80", infoTo: "80",
			redo: redoLog{84, 100}, pages: pages},
		"prepared, of 10.6": {kind: "log-applied", last: "95", to: "80", infoTo: "80", pages: pages},
		"with an increment": {kind: "log-applied", last: "70", to: "60", infoTo: "80", added: true,
			redo: redoLog{84, 100}, pages: pages},
		"an increment later": {kind: "log-applied", last: "100", to: "80", infoTo: "80", added: true,
			redo: redoLog{84, 100}, pages: pages},
		"a position": {last: "100", to: "80", infoTo: "80", redo: redoLog{80, 100}, pages: pages,
			binlog: "filename 'old.000001', position '417', GTID of the last change '0-1-7'"},
		"a newer table": {last: "100", to: "80", infoTo: "80", redo: redoLog{80, 100},
			pages: map[string]uint64{"shop/t.ibd": 101, "ibdata1": 100},
			says:  "ends at the LSN 100, and files are changed after that (shop/t.ibd at the LSN 101)"},
		"a newer table, prepared": {kind: "log-applied", last: "100", to: "80", infoTo: "80", redo: redoLog{84, 100},
			pages: map[string]uint64{"shop/t.ibd": 101}, says: "shop/t.ibd at the LSN 101"},
		"a newer table, an increment": {kind: "log-applied", last: "70", to: "60", infoTo: "80", added: true,
			redo: redoLog{84, 100}, pages: map[string]uint64{"shop/t.ibd": 101}, says: "shop/t.ibd at the LSN 101"},
		"a newer table, of 10.6": {last: "100", to: "80", infoTo: "80",
			pages: map[string]uint64{"shop/t.ibd": 101}, says: "shop/t.ibd at the LSN 101"},
		"a newer log": {last: "100", to: "80", infoTo: "80",
			redo: redoLog{80, 110}, says: "to 110, and …_checkpoints has last_lsn = 100"},
		"an older log": {last: "100", to: "80", infoTo: "80",
			redo: redoLog{80, 90}, says: "from the LSN 80 to 90"},
		"a newer log, prepared": {kind: "log-applied", last: "100", to: "80", infoTo: "80",
			redo: redoLog{104, 120}, says: "from the LSN 104"},
		"an older log, prepared": {kind: "log-applied", last: "100", to: "80", infoTo: "80", redo: redoLog{74, 90},
			says: "to 90"},
		"an older log, an increment": {kind: "log-applied", last: "100", to: "80", infoTo: "80", added: true,
			redo: redoLog{74, 90}, says: "to 90"},
		"another description": {last: "100", to: "80", infoTo: "70", redo: redoLog{80, 100},
			says: "…_info has innodb_to_lsn = 70, and …_checkpoints to_lsn = 80"},
		"another position": {last: "100", to: "80", infoTo: "80", redo: redoLog{80, 100},
			binlog: "filename 'old.000001', position '417', GTID of the last change '0-1-8'", says: "binlog_pos = "},
		"another offset": {last: "100", to: "80", infoTo: "80", redo: redoLog{80, 100},
			binlog: "filename 'old.000001', position '517', GTID of the last change '0-1-7'", says: "binlog_pos = "},
		"another file": {last: "100", to: "80", infoTo: "80", redo: redoLog{80, 100},
			binlog: "filename 'old.000002', position '417', GTID of the last change '0-1-7'", says: "binlog_pos = "},
		"no end": {to: "80", infoTo: "80", says: "no last_lsn"},
	} {
		a := adopted{Info: map[string]string{"innodb_to_lsn": c.infoTo, "binlog_pos": c.binlog, "incremental": "N"},
			Checkpoints: map[string]string{"backup_type": c.kind, "to_lsn": c.to, "last_lsn": c.last},
			GTID:        "0-1-7", BinlogFile: "old.000001", BinlogPos: "417", Redo: c.redo}
		if c.kind == "" {
			a.Checkpoints["backup_type"] = "full-backuped"
		}
		if c.added {
			a.Info["incremental"] = "Y"
		}
		err := a.refuseMixed(c.pages)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if reason, final := explain(err); err != nil && (reason != task.ReasonBackupDamaged || !final ||
			!strings.Contains(err.Error(), "Upload all of one backup to a path of its own")) {
			t.Errorf("%s: %s, %v: %v", name, reason, final, err)
		}
	}
}

// TestRefuseShort: a table's file is not smaller than its first page says. InnoDB makes some larger.
func TestRefuseShort(t *testing.T) {
	whole := spaceOf(16<<10, 5, 9, 7)
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"whole": {whole, ""}, "larger": {append(bytes.Clone(whole), make([]byte, 100)...), ""},
		"half":               {whole[:20<<10], "shop/t.ibd has 20480 bytes of 49152"},
		"compressed":         {spaceOf(4<<10, 5, 6), ""},
		"half, compressed":   {spaceOf(4<<10, 5, 6)[:6000], "shop/t.ibd has 6000 bytes of 8192"},
		"no tablespace":      {[]byte("x"), ""},
		"a page less a byte": {whole[:len(whole)-1], "has 49151 bytes of 49152. Upload all of it again"},
	} {
		dir := t.TempDir()
		_ = os.Mkdir(filepath.Join(dir, "shop"), 0o750)
		if err := os.WriteFile(filepath.Join(dir, "shop", "t.ibd"), c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		err := refuseShort(dir)
		if reason, final := explain(err); (err == nil) != (c.says == "") || err != nil && (!final ||
			reason != task.ReasonBackupDamaged || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnprepared: a file that is too short is why a program fails that has ended by itself. One that was cut off may
// not have made it longer yet.
func TestUnprepared(t *testing.T) {
	short := fatal(task.ReasonBackupDamaged, errors.New("half"))
	killed := because(task.ReasonToolFailed, fmt.Errorf("mariadb-backup %w (killed)", errKilled))
	failed := because(task.ReasonToolFailed, errors.New("ended with exit code 1"))
	full := because(task.ReasonDiskFull, errors.New("no space"))
	ended := because(task.ReasonToolFailed, context.Canceled)
	for _, c := range []struct{ err, short, want error }{
		{nil, nil, nil}, {nil, short, short}, {failed, nil, failed}, {failed, short, short}, {full, short, full},
		{killed, short, killed}, {ended, short, ended},
	} {
		if got := unprepared(c.err, func() error { return c.short }); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v, %v: %v", c.err, c.short, got)
		}
	}
}

// TestUnpackStored: a stream that is damaged, or leads out of the backup, is so each time. What the store's side says
// of it comes first, and mbstream that has not written all of one is no fault of the stream.
func TestUnpackStored(t *testing.T) {
	var stream bytes.Buffer
	w := mbstream.NewWriter(&stream)
	begins := 0
	for _, name := range []string{"../x", "shop/t.ibd"} {
		begins = stream.Len()
		_ = w.Begin(name)
		_, _ = w.Write(spaceOf(16<<10, 5, 9))
		_ = w.End()
	}
	out := stream.Bytes()
	whole := out[begins:]
	const unpacks = `cat >/dev/null; mkdir -p "$3/shop"; truncate -s `
	broken := errors.New("was changed while it was read")
	for name, c := range map[string]struct {
		data   []byte
		tool   string
		end    error
		reason string
		final  bool
		says   string
	}{
		"whole":       {whole, unpacks + `32768 "$3/shop/t.ibd"`, nil, "", false, ""},
		"damaged":     {whole[:len(whole)-9], `cat >/dev/null; exit 1`, nil, task.ReasonBackupDamaged, true, "ends within"},
		"out":         {out, `cat >/dev/null`, nil, task.ReasonImportRefused, true, "leads out of the backup"},
		"changed":     {whole[:len(whole)-9], `cat >/dev/null`, broken, task.ReasonBackupDamaged, false, "was changed"},
		"not written": {whole, `cat >/dev/null`, nil, task.ReasonToolFailed, false, "has not written shop/t.ibd"},
		"half":        {whole, unpacks + `9 "$3/shop/t.ibd"`, nil, task.ReasonToolFailed, false, "has 9 bytes of 32768"},
		"fails":       {whole, `cat >/dev/null; exit 1`, nil, task.ReasonToolFailed, false, "exit code 1"},
	} {
		r := newRestoring(t)
		stop := r.serve(t, func(_ context.Context, _ pipe.Request, w *pipe.Writer) pipe.End {
			_, _ = w.Write(c.data)
			if c.end != nil {
				return endOf(because(task.ReasonBackupDamaged, c.end))
			}
			return pipe.End{}
		})
		tool(t, "mbstream", c.tool)
		p := r.places
		p.work = filepath.Join(t.TempDir(), "d")
		seen, err := unpackStored(t.Context(), p)
		if reason, final := explain(err); (err == nil) != (c.says == "") || err != nil && (reason != c.reason ||
			final != c.final || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && seen.latest()["shop/t.ibd"] != 9 {
			t.Errorf("%s: %v", name, seen.latest())
		}
		stop()
	}
}
