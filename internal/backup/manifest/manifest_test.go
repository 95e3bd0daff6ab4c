package manifest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	good := `{"format":1,"id":"b1","compression":"Zstd","parts":[{"size":1,"sha256":"x"}]}`
	for text, says := range map[string]string{
		good: "",
		strings.Replace(good, `"format":1`, `"format":3`, 1):                                         "later release",
		strings.Replace(good, "Zstd", "Lzma", 1):                                                     "compression",
		strings.Replace(good, "b1", "", 1):                                                           "damaged",
		strings.Replace(good, `"id"`, `"attempt":"../b2","id"`, 1):                                   "attempt",
		strings.Replace(good, `"format":1`, `"format":2`, 1):                                         "base",
		strings.Replace(good, `"id"`, `"base":{"id":"b0","lsn":5,"depth":1},"id"`, 1):                "base",
		strings.Replace(good, `"format":1`, `"format":2,"base":{"id":"b0","lsn":5,"depth":1}`, 1):    "",
		strings.Replace(good, `"format":1`, `"format":2,"base":{"id":"../b0","lsn":5,"depth":1}`, 1): "base",
		strings.Replace(good, `"format":1`, `"format":2,"base":{"id":"b1","lsn":5,"depth":1}`, 1):    "base",
		strings.Replace(good, `"format":1`, `"format":2,"base":{"id":"b0","lsn":0,"depth":1}`, 1):    "base",
		strings.Replace(good, `"format":1`, `"format":2,"base":{"id":"b0","lsn":5,"depth":31}`, 1):   "base",
		strings.Replace(good, `"format":1`, `"format":2,"base":{"id":"b0","lsn":5,"depth":30}`, 1):   "",
		strings.Replace(good, `"format":1`, `"format":2,"base":{"id":"b0","lsn":5,"depth":0}`, 1):    "base",
		strings.Replace(good, `"format":1`, `"format":0`, 1):                                         "no format",
		strings.Replace(good, `{"size":1,"sha256":"x"}`, "", 1):                                      "no parts",
		strings.Replace(good, `"size":1`, `"size":0`, 1):                                             "",
		strings.Replace(good, `"size":1`, `"size":-1`, 1):                                            "-1 bytes",
		strings.Replace(good, `"size":1`, `"size":35184372088833`, 1):                                "35184372088833 bytes",
		strings.Replace(good, "Zstd", "None", 1):                                                     "",
		good[:20]:                                                                                    "damaged",
		"{}":                                                                                         "damaged",
	} {
		if _, err := Parse([]byte(text)); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestExtends: an increment adds to the very backup that it was made of, one after the other.
func TestExtends(t *testing.T) {
	full := Manifest{ID: "b0", LSN: 5}
	first := Manifest{ID: "b1", LSN: 7, Base: &Base{ID: "b0", Checksum: "c0", LSN: 5, Depth: 1}}
	if why := first.Extends(full, "c0"); why != "" {
		t.Error(why)
	}
	if why := (Manifest{Base: &Base{ID: "b1", Checksum: "c1", LSN: 7, Depth: 2}}).Extends(first, "c1"); why != "" {
		t.Error(why)
	}
	for name, change := range map[string]func(m, base *Manifest, sum *string){
		"of another":     func(_, base *Manifest, _ *string) { base.ID = "b9" },
		"a full one":     func(m, _ *Manifest, _ *string) { m.Base = nil },
		"rewritten":      func(_, _ *Manifest, sum *string) { *sum = "c9" },
		"of another LSN": func(_, base *Manifest, _ *string) { base.LSN = 6 },
		"without an LSN": func(m, base *Manifest, _ *string) {
			base.LSN, m.Base = 0, &Base{ID: "b0", Checksum: "c0", Depth: 1}
		},
		"one is left out": func(m, _ *Manifest, _ *string) { m.Base = &Base{ID: "b0", Checksum: "c0", LSN: 5, Depth: 2} },
	} {
		m, base, sum := first, full, "c0"
		change(&m, &base, &sum)
		if m.Extends(base, sum) == "" {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

func TestLater(t *testing.T) {
	for _, c := range []struct {
		backup, image string
		want          bool
	}{
		{"11.8.6-MariaDB", "11.8.2-MariaDB", false}, {"11.8.6-MariaDB", "10.11.8-MariaDB", true},
		{"11.8.6-MariaDB", "12.0.1-MariaDB", false},
		{"12.1.0", "11.8.6", true}, {"11.8.6", "11.4.9", true},
		{"", "11.8.6", false}, {"11.8", "nonsense", false},
	} {
		if got := Later(c.backup, c.image); got != c.want {
			t.Errorf("%s on %s: %v", c.backup, c.image, got)
		}
	}
}

func TestDir(t *testing.T) {
	if got := Dir("demo", "shop", "0123abcd-4567"); got != "demo/shop/0123abcd" {
		t.Error(got)
	}
}

// TestParseHead: the head of a manifest is what it says before its parts, however many these are, and however little of
// them was read.
func TestParseHead(t *testing.T) {
	m := Manifest{Format: 1, ID: "b1", ClusterUID: "u", CompletedAt: time.Unix(1764000000, 0).UTC(),
		Recipients: []string{"age1x"}}
	m.Parts = make([]Part, 1000)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	end := strings.Index(string(text), `"parts"`) + len(`"parts":[`)
	got, err := ParseHead(text[:end])
	if err != nil || got.ID != m.ID || !got.CompletedAt.Equal(m.CompletedAt) || len(got.Parts) != 0 {
		t.Errorf("%+v %v", got, err)
	}
	for n := range end - len(`"parts":[`) {
		if _, err := ParseHead(text[:n]); err == nil {
			t.Fatalf("of %d bytes: no error", n)
		} else if n > 1 && !errors.Is(err, ErrCut) {
			t.Fatalf("of %d bytes: %v", n, err)
		}
	}
	for _, text := range []string{"", "x", "[]", `{"format":1}`, `{"format":1,"parts":[]}`,
		`{"format":3,"id":"b","completedAt":"2026-11-24T00:00:00Z","parts":[]}`, `{"format":1,"id":7,"parts":[]}`,
		`{"format":0,"id":"b","completedAt":"2026-11-24T00:00:00Z","parts":[]}`,
		`{"format":1,"completedAt":"2026-11-24T00:00:00Z","parts":[]}`, `{"format":1,"id":"b","parts":[]}`,
		`{"format":2,"id":"b","completedAt":"2026-11-24T00:00:00Z","parts":[]}`,
		`{"format":1,"id":"b","completedAt":"2026-11-24T00:00:00Z","base":{"id":"a","lsn":5,"depth":1},"parts":[]}`} {
		if _, err := ParseHead([]byte(text)); err == nil || errors.Is(err, ErrCut) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseHead(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"b","completedAt":"2026-11-24T00:00:00Z","parts":[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := ParseHead(text); err == nil && (m.ID == "" || m.CompletedAt.IsZero()) {
			t.Errorf("%+v", m)
		}
		_, _ = Parse(text)
	})
}
