package runner

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

var logFormat = binlogtest.FormatDescription()

// transaction n of a second.
func transaction(n uint64, second uint32) []byte {
	return append(binlogtest.Begin(0, 1, n, second, 0), binlogtest.Commit(second, n)...)
}

// stored is a segment as it lies in a store.
func storedSegment(t *testing.T, to age.Recipient, content ...[]byte) []byte {
	t.Helper()
	head, err := binlog.Head{Format: 1, Number: 2}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.NewBuffer(head)
	sealed, err := age.Encrypt(out, to)
	if err != nil {
		t.Fatal(err)
	}
	packed, _ := zstd.NewWriter(sealed)
	_, _ = packed.Write(append([]byte(binlog.Magic), bytes.Join(content, nil)...))
	if err := errors.Join(packed.Close(), sealed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestRelay: the relay log has exactly the transactions after the base, up to the target, whatever is cut off, or lies beyond.
func TestRelay(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	half := binlogtest.Begin(0, 1, 6, 16, 0)
	first := storedSegment(t, key.Recipient(), logFormat, transaction(3, 13), transaction(4, 14), transaction(5, 15), half)
	second := storedSegment(t, key.Recipient(), logFormat, transaction(6, 16), transaction(7, 17), transaction(8, 12))
	for name, c := range map[string]struct {
		target binlog.Target
		want   [][]byte
		last   uint64
	}{
		"latest":     {binlog.Target{Latest: true}, [][]byte{logFormat, transaction(4, 14), transaction(5, 15), logFormat, transaction(6, 16), transaction(7, 17), transaction(8, 12)}, 8},
		"a time":     {binlog.Target{Time: time.Unix(16, 0)}, [][]byte{logFormat, transaction(4, 14), transaction(5, 15), logFormat, transaction(6, 16)}, 6},
		"a GTID":     {binlog.Target{GTID: binlog.GTID{Server: 1, Seq: 5}}, [][]byte{logFormat, transaction(4, 14), transaction(5, 15), logFormat}, 5},
		"the base's": {binlog.Target{Time: time.Unix(13, 0)}, [][]byte{logFormat}, 3},
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), relayLog))
		if err != nil {
			t.Fatal(err)
		}
		base := binlog.GTID{Server: 1, Seq: 3}
		w := &relay{file: f, cut: &binlog.Cut{Base: base, Last: base, Target: c.target}}
		for _, s := range [][]byte{first, second} {
			if err := w.add(bytes.NewReader(s), []age.Identity{key}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if w.cut.Ended() {
				break
			}
		}
		have, _ := os.ReadFile(f.Name())
		if want := append([]byte(binlog.Magic), bytes.Join(c.want, nil)...); !bytes.Equal(have, want) || w.cut.Last.Seq != c.last {
			t.Errorf("%s: %d bytes instead of %d, up to %s", name, len(have), len(want), w.cut.Last)
		}
	}
}

// TestRelayDamage: a segment that was altered, cut off or exchanged is an error.
func TestRelayDamage(t *testing.T) {
	key, _ := age.GenerateX25519Identity()
	other, _ := age.GenerateX25519Identity()
	good := storedSegment(t, key.Recipient(), logFormat, transaction(4, 14))
	altered := bytes.Clone(good)
	altered[len(altered)-3] ^= 1
	for name, c := range map[string]struct {
		segment []byte
		key     *age.X25519Identity
	}{
		"altered": {altered, key}, "cut off": {good[:len(good)-5], key}, "for another key": {good, other}, "empty": {nil, key}, "no segment": {[]byte("{}\nxxxx"), key},
		"no binary log": {storedSegment(t, key.Recipient()), key},
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), relayLog))
		if err != nil {
			t.Fatal(err)
		}
		w := &relay{file: f, cut: &binlog.Cut{Target: binlog.Target{Latest: true}}}
		err = w.add(bytes.NewReader(c.segment), []age.Identity{c.key})
		if name == "no binary log" {
			if err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSettings(t *testing.T) {
	have := settings(map[string]string{"lower_case_table_names": "1", "log_bin": "x", "skip_slave_start": "1", "datadir": "/x", "innodb_buffer_pool_size": "2G", "wsrep_slave_threads": "4", "read_only": "ON"})
	if len(have) != 2 || have[0] != "--innodb-buffer-pool-size=2G" || have[1] != "--lower-case-table-names=1" {
		t.Errorf("%v", have)
	}
}
