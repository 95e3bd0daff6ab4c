package serving

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

func gtid(seq uint64) binlog.GTID { return binlog.GTID{Server: 1, Seq: seq} }

// transactions are those of some numbers, after a format description without checksums.
func transactions(numbers ...uint64) (out [][]byte) {
	format := binlogtest.FormatDescription()
	format[len(format)-5] = 0
	out = append(out, format)
	for _, n := range numbers {
		out = append(out, append(binlogtest.Begin(0, 1, n, 15, 0), binlogtest.Commit(15, n)...))
	}
	return out
}

// TestLocate: a position is found in the chain that is followed, and nowhere else.
func TestLocate(t *testing.T) {
	t.Parallel()
	w := newWritten(t, gtid(3))              // 1
	w.add(gtid(5), 2, transactions(4, 5)...) // 2
	w.add(gtid(6), 1, transactions(6)...)    // 3
	w.add(gtid(9), 3, transactions(7, 8, 9)...)
	for _, tc := range []struct {
		name    string
		drop    []uint64
		chain   uint64
		from    binlog.GTID
		want    uint64
		refused string
	}{
		{name: "where it begins", chain: 1, from: gtid(3), want: 1},
		{name: "the end of a segment", chain: 1, from: gtid(5), want: 2},
		{name: "within one", chain: 1, from: gtid(8), want: 4},
		{name: "the end", chain: 1, from: gtid(9), want: 4},
		{name: "any chain", from: gtid(8), want: 4},
		{name: "after the end", chain: 1, from: gtid(10)},
		{name: "before it", chain: 1, from: gtid(2), refused: "not in the archive any more"},
		{name: "removed by retention", drop: []uint64{1, 2}, chain: 1, from: gtid(4), refused: "not in the archive any more"},
		{name: "not removed yet", drop: []uint64{1, 2}, chain: 1, from: gtid(5), want: 3},
		{name: "lost", drop: []uint64{3}, chain: 1, from: gtid(4), refused: "not in the archive any more"},
		{name: "after what is lost", drop: []uint64{3}, chain: 1, from: gtid(7), want: 4},
		{name: "another chain", chain: 7, from: gtid(8), refused: "begun anew with the segment 000000000001"},
		{name: "another server", chain: 1, from: binlog.GTID{Server: 2, Seq: 8}, refused: "holds the transactions 0-1"},
		{name: "another domain", chain: 1, from: binlog.GTID{Domain: 4, Server: 1, Seq: 8},
			refused: "holds the transactions 0-1"},
		{name: "nothing in the store", drop: []uint64{1, 2, 3, 4}, chain: 1, from: gtid(5)},
	} {
		var numbers []uint64
		for n := uint64(1); n <= 4; n++ {
			if !contains(tc.drop, n) {
				numbers = append(numbers, n)
			}
		}
		h, ok, err := locate(numbers, tc.chain, tc.from, func(n uint64) (binlog.Head, error) {
			return w.head(context.Background(), n)
		})
		var refused Refusal
		switch {
		case tc.refused != "":
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s: %v", tc.name, err)
			}
		case err != nil, ok != (tc.want > 0), ok && h.Number != tc.want:
			t.Errorf("%s: %v, %v, %v", tc.name, h.Number, ok, err)
		}
	}
}

func contains(all []uint64, n uint64) bool {
	for _, one := range all {
		if one == n {
			return true
		}
	}
	return false
}

// TestNext: what does not go on from a segment is refused, and what is not there yet is waited for.
func TestNext(t *testing.T) {
	t.Parallel()
	w := newWritten(t, gtid(3))
	before := w.at
	if _, ok, err := w.next(t.Context(), before); ok || err != nil {
		t.Error(ok, err)
	}
	w.add(gtid(4), 1, transactions(4)...)
	if h, ok, err := w.next(t.Context(), before); !ok || err != nil || h.Last != gtid(4) {
		t.Error(h, ok, err)
	}
	exchanged := before
	exchanged.Checksum = "another"
	if _, _, err := w.next(t.Context(), exchanged); err == nil || !strings.Contains(err.Error(), "was exchanged") {
		t.Error(err)
	}
	before = w.at
	w.begin(gtid(4))
	if h, ok, err := w.next(t.Context(), before); !ok || err != nil || !h.Begins {
		t.Error("it begins anew where it has ended:", h, ok, err)
	}
	before = w.at
	w.begin(gtid(5))
	if _, _, err := w.next(t.Context(), before); err == nil || !strings.Contains(err.Error(), "begins anew") {
		t.Error(err)
	}
}

// TestLocateAcrossChains: a follower goes on in a chain that begins exactly where the one before has ended, wherever it
// is, and as long as the store shows that.
func TestLocateAcrossChains(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		anew    uint64 // where the archive begins anew
		line    string
		more    int64
		drop    []uint64
		chain   uint64
		from    uint64
		want    uint64
		refused string
	}{
		{name: "before the end of its own", anew: 5, chain: 1, from: 4, want: 2},
		{name: "at the end of its own", anew: 5, chain: 1, from: 5, want: 2},
		{name: "in the later one", anew: 5, chain: 1, from: 6, want: 4},
		{name: "its own is removed", anew: 5, drop: []uint64{1, 2}, chain: 3, from: 6, want: 4},
		{name: "its own is removed, and it is not past it", anew: 5, drop: []uint64{1, 2}, chain: 3, from: 4,
			refused: "not in the archive any more"},
		{name: "it is back in the one before", anew: 5, chain: 3, from: 4, want: 2},
		{name: "nothing shows that it goes on", anew: 5, drop: []uint64{1, 2}, chain: 1, from: 6, refused: "begun anew"},
		{name: "the end of its own is lost", anew: 5, drop: []uint64{2}, chain: 1, from: 4, refused: "begun anew"},
		{name: "something is missing", anew: 6, chain: 1, from: 4, refused: "begun anew with the segment 000000000003"},
		{name: "something that has no number is missing", anew: 5, more: 1, chain: 1, from: 4, refused: "begun anew"},
		{name: "another line of history", anew: 5, line: "b", chain: 1, from: 4, refused: "begun anew"},
		{name: "a chain that it does not go on from", anew: 5, chain: 2, from: 6, refused: "begun anew"},
	} {
		w := newWritten(t, gtid(3))              // 1
		w.add(gtid(5), 2, transactions(4, 5)...) // 2
		w.line, w.more = tc.line, tc.more
		w.begin(gtid(tc.anew))                // 3
		w.add(gtid(7), 1, transactions(7)...) // 4
		var numbers []uint64
		for n := uint64(1); n <= 4; n++ {
			if !contains(tc.drop, n) {
				numbers = append(numbers, n)
			} else if err := w.bucket.Delete(t.Context(), w.archived.key(n)); err != nil {
				t.Fatal(err)
			}
		}
		h, ok, err := locate(numbers, tc.chain, gtid(tc.from), func(n uint64) (binlog.Head, error) {
			return w.head(context.Background(), n)
		})
		var refused Refusal
		switch {
		case tc.refused != "":
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s: %v", tc.name, err)
			}
		case err != nil, !ok, h.Number != tc.want:
			t.Errorf("%s: %v, %v, %v", tc.name, h.Number, ok, err)
		}
		w.chain = tc.chain
		b := &board{}
		b.poll(t.Context(), w.archived)
		have := b.answer(t)
		if goesOn := tc.chain == 1 && !strings.Contains(tc.refused, "begun anew"); (have.Continues == 1) != goesOn ||
			goesOn && have.Begin != "0-1-5" || have.Chain != 3 {
			t.Errorf("%s: %+v", tc.name, have)
		}
	}
}

// TestCheck: a segment is refused as a whole if it is not what its head names, and so is a position that is not in it.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		from  uint64
		last  uint64
		count int
		has   []uint64
		says  string
	}{
		"whole":                         {3, 6, 3, []uint64{4, 5, 6}, ""},
		"the replica has a part":        {5, 6, 3, []uint64{4, 5, 6}, ""},
		"one is missing":                {3, 6, 2, []uint64{4, 6}, "are missing"},
		"the last one is missing":       {3, 6, 3, []uint64{4, 5}, "instead of 3"},
		"the position is not one of it": {5, 7, 2, []uint64{4, 7}, "between 0-1-4 and 0-1-7 are missing"},
	} {
		w := newWritten(t, gtid(3))
		w.add(gtid(tc.last), tc.count, transactions(tc.has...)...)
		file, err := w.fetch(t.Context(), w.at)
		if err != nil {
			t.Fatal(err)
		}
		f := &follower{archive: w.archived, from: gtid(tc.from)}
		switch err := f.check(file, w.at); {
		case tc.says == "" && err != nil, tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
			t.Errorf("%s: %v", name, err)
		}
		_ = file.Close()
	}
	w := newWritten(t, gtid(3))
	w.add(gtid(4), 1, binlogtest.FormatDescription(), transactions(4)[1])
	file, err := w.fetch(t.Context(), w.at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := (&follower{archive: w.archived, from: gtid(3)}).check(file, w.at); err != nil {
		t.Error(err)
	}
	other := w.at
	other.SHA256 = "another"
	if _, err := w.fetch(t.Context(), other); err == nil || !strings.Contains(err.Error(), "not what its head names") {
		t.Error(err)
	}
}

// TestKeys: a segment that no private key opens is not damaged. It is waited for, and a key that comes later is used.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWritten(t, gtid(3))
	w.add(gtid(4), 1, transactions(4)...)
	right, keys := w.keys, func() ([]age.Identity, error) { return nil, errors.New("the Secret is empty") }
	w.keys = func() ([]age.Identity, error) { return keys() }
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file, err := w.fetch(t.Context(), w.at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	f := &follower{archive: w.archived, from: gtid(3)}
	for _, says := range []string{"the Secret is empty", "none of the private keys"} {
		err := f.check(file, w.at)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Fatal(err)
		}
		if n, text := failure(err); n != passing || strings.Contains(text, Refused) {
			t.Error(n, text)
		}
		keys = func() ([]age.Identity, error) { return []age.Identity{other}, nil }
	}
	keys = right
	if err := f.check(file, w.at); err != nil {
		t.Error(err)
	}
}

// TestSame: an archive that was begun in another store is not followed, though its chain has the same number.
func TestSame(t *testing.T) {
	t.Parallel()
	w := newWritten(t, gtid(3))
	w.add(gtid(4), 1, transactions(4)...)
	w.add(gtid(5), 1, transactions(5)...)
	find := func(to uint64, sum string) error {
		of := *w.archived
		of.to, of.sum = to, sum
		f := &follower{sender: &sender{packets: newPackets(nil)}, archive: &of, from: gtid(4), beat: time.Hour,
			poll: testPoll, sent: time.Now()}
		_, err := f.find(t.Context())
		return err
	}
	var refused Refusal
	for name, err := range map[string]error{"it": find(3, w.at.Checksum), "nothing was applied": find(0, "")} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := find(2, "another"); !errors.As(err, &refused) || !strings.Contains(err.Error(), "begun anew") {
		t.Error(err)
	}
	if err := find(4, "later"); err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "another store") {
		t.Error(err)
	}
	if err := w.bucket.Delete(t.Context(), w.archived.key(2)); err != nil {
		t.Fatal(err)
	}
	if err := find(2, "removed"); err != nil && strings.Contains(err.Error(), "begun anew") {
		t.Error(err)
	}
}
