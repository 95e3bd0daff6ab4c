package binlog

import "testing"

// FuzzGTID: whatever a server calls a position is read as it is written, or refused.
func FuzzGTID(f *testing.F) {
	for _, text := range []string{"0-1-42", "", "0-1-42,1-2-3", "0-1", "0-1-18446744073709551616", "00-1-2", " 0-1-2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if g, err := Parse(text); err == nil && g.String() != text {
			t.Errorf("%q is read as %s", text, g)
		}
		if g, others := In(text, 7); g != (GTID{}) && g.Domain != 7 || len(others) > len(text) {
			t.Errorf("%q has %s of the domain, and %d others", text, g, len(others))
		}
	})
}
