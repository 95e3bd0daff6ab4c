package datadir

import (
	"strings"
	"testing"
)

// FuzzGrastate: what is read of a grastate.dat stands in it, and is read again as the same.
func FuzzGrastate(f *testing.F) {
	for _, text := range []string{
		"# GALERA saved state\nversion: 2.1\nuuid:    6f9619ff-8b86-d011-b42d-00cf4fc964ff\nseqno:   42\n" +
			"safe_to_bootstrap: 1\n",
		"uuid: 6f9619ff-8b86-d011-b42d-00cf4fc964ff\nseqno: -1", "uuid: 6f9619ff\nseqno: 4", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := parseGrastate(text)
		if err != nil {
			return
		}
		if again, err := parseGrastate(g.render()); err != nil || again != g {
			t.Errorf("%q is read as %+v, and then as %+v, %v", text, g, again, err)
		}
		if !strings.Contains(strings.ToLower(text), g.Position.UUID) || g.Position.UUID == "" {
			t.Errorf("%q has no history %s", text, g.Position.UUID)
		}
	})
}
