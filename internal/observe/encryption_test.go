package observe

import "testing"

func TestHasDynamicSockets(t *testing.T) {
	for version, want := range map[string]bool{
		"26.4.23(r4a5e1b9c)": true, "26.4.8(r1)": true, "26.4.7(r1)": false, "25.3.37(r3992)": false, "4.23(r4a5)": true,
		"4.7(r1)": false, "": false, "none": false,
	} {
		if got := hasDynamicSockets(version); got != want {
			t.Errorf("%q: %t, want %t", version, got, want)
		}
	}
}
