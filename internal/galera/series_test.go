package galera

import "testing"

func TestSeries(t *testing.T) {
	for _, c := range []struct {
		version, than string
		older, same   bool
	}{
		{"10.11.18-MariaDB", "11.8.6-MariaDB", true, false},
		{"11.8.6-MariaDB", "10.11.18-MariaDB", false, false},
		{"11.4.9", "11.8.6", true, false},
		{"10.9.1", "10.11.18", true, false},
		{"11.8.6-MariaDB", "11.8.7-MariaDB", false, true},
		{"11.8", "11.8.7-MariaDB", false, true},
		{"", "11.8.7-MariaDB", false, false},
		{"11.8.7-MariaDB", "latest", false, false},
	} {
		if older, same := Older(c.version, c.than), SameSeries(c.version, c.than); older != c.older || same != c.same {
			t.Errorf("%q and %q: older %v, same series %v", c.version, c.than, older, same)
		}
	}
	if s, ok := ParseSeries("11.8-noble"); !ok || s.String() != "11.8" {
		t.Errorf("%v %v", s, ok)
	}
}
