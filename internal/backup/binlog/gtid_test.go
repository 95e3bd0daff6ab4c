package binlog

import (
	"strings"
	"testing"
)

func gtid(seq uint64) GTID { return GTID{Server: 1, Seq: seq} }

func TestGTID(t *testing.T) {
	for text, good := range map[string]bool{"": true, "0-1-5": true, "0-1-18446744073709551615": true, "0-1": false,
		"0-1-5x": false, "-1-1-5": false, "00-1-5": false, "0-1-5,1-1-2": false} {
		if g, err := Parse(text); (err == nil) != good || err == nil && g.String() != text {
			t.Errorf("%q: %v %v", text, g, err)
		}
	}
	g, others := In("0-1-5,1-1-7, 2-3-9", 1)
	if g != (GTID{1, 1, 7}) || len(others) != 2 || others[1] != "2-3-9" {
		t.Errorf("%v %v", g, others)
	}
	if gtid(5).Follows(GTID{Server: 2, Seq: 4}) || gtid(5).Follows(gtid(5)) || !gtid(6).Follows(gtid(4)) ||
		!gtid(6).Follows(GTID{}) || (GTID{Domain: 5, Server: 1, Seq: 6}).Follows(gtid(4)) {
		t.Error("what follows what")
	}
}

func TestHead(t *testing.T) {
	first := Head{Format: FormatVersion, Number: 3, Last: gtid(20), Lines: []Line{{History: "h", ID: "a"}},
		Why: strings.Repeat("x", 2*maxWhy)}
	line, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	h, size, err := Decode(append(line, "\x00\x01\n"...))
	if err != nil || size != len(line) || h.Last != gtid(20) || h.Checksum != first.Checksum || h.Checksum == "" ||
		len(h.Why) != maxWhy {
		t.Errorf("%+v, %d: %v", h, size, err)
	}
	for bad, says := range map[string]string{"": "no head", "{}\n": "format 0", "{": "no head",
		"{\"format\":3}\n": "later release", "x\n": "damaged",
		"{\"format\":1}\n": "earlier build", "{\"format\":2}\n": "earlier build",
		"{\"format\":2,\"lines\":[{\"id\":\"a\"}]}\n": "earlier build"} {
		if _, _, err := Decode([]byte(bad)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for name, good := range map[string]bool{Name(7): true, "x/" + Name(123456): true, ThroughName: false, "7": false,
		"00000000000x": false} {
		if _, ok := Number(name); ok != good {
			t.Errorf("%s: %v", name, ok)
		}
	}
}

// TestBeyond: a position is beyond another one that has nothing which it lacks, and less in one domain.
func TestBeyond(t *testing.T) {
	for name, c := range map[string]struct {
		position, of string
		want         bool
	}{
		"later":                        {"0-1-10", "0-1-9", true},
		"later, of another server":     {"0-2-10", "0-1-9", true},
		"the same":                     {"0-1-9", "0-1-9", false},
		"earlier":                      {"0-1-8", "0-1-9", false},
		"later in one domain of two":   {"0-1-9, 7-2-4", "7-2-3,0-1-9", true},
		"later in one, not in another": {"0-1-10,7-2-2", "0-1-9,7-2-3", false},
		"a domain is missing":          {"0-1-10", "0-1-9,7-2-3", false},
		"a domain more":                {"0-1-9,7-2-3", "0-1-9", false},
		"it is not known":              {"", "0-1-9", false},
		"of nothing":                   {"0-1-9", "", false},
		"of what is none":              {"0-1-9", "x", false},
	} {
		if got := Beyond(c.position, c.of); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDiverged: a number that another server has given shows nothing, in any domain.
func TestDiverged(t *testing.T) {
	for name, c := range map[string]struct {
		position, of string
		want         bool
	}{
		"the same":                        {"0-2-105", "0-2-105", false},
		"later, of the same server":       {"0-1-8", "0-1-7", false},
		"later, of another server":        {"0-1-110", "0-2-105", true},
		"the same number, another server": {"0-1-105", "0-2-105", true},
		"earlier, of another server":      {"0-1-98", "0-2-105", false},
		"another server in one domain":    {"0-1-7,3-1-6", "3-2-6,0-1-7", true},
		"another server in another one":   {"0-1-7,3-1-6", "0-1-7", false},
		"it is not known":                 {"", "0-1-7", false},
		"of nothing":                      {"0-1-7", "", false},
	} {
		if got := Diverged(c.position, c.of); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
