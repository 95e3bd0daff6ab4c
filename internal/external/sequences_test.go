package external

import (
	"strings"
	"testing"
)

// TestSequencesDiffer: a follower's sequence goes on where the source's did between the two readings.
func TestSequencesDiffer(t *testing.T) {
	is := func(next, cycles, options string) []Sequence {
		return []Sequence{{Object: Object{Database: "shop", Name: "s"}, Options: options, Next: next, Cycles: cycles}}
	}
	for name, tc := range map[string]struct {
		before, after, have []Sequence
		says                string
	}{
		"the same":                    {is("7", "0", "o"), is("7", "0", "o"), is("7", "0", "o"), ""},
		"numbers are taken":           {is("7", "0", "o"), is("12", "0", "o"), is("9", "0", "o"), ""},
		"it counts down":              {is("12", "0", "o"), is("7", "0", "o"), is("9", "0", "o"), ""},
		"it began anew meanwhile":     {is("99", "0", "o"), is("2", "1", "o"), is("50", "0", "o"), ""},
		"none":                        {},
		"it is behind":                {is("9", "0", "o"), is("12", "0", "o"), is("8", "0", "o"), "goes on with 8"},
		"it is ahead":                 {is("9", "0", "o"), is("12", "0", "o"), is("13", "0", "o"), "goes on with 13"},
		"not compared as text":        {is("9", "0", "o"), is("12", "0", "o"), is("100", "0", "o"), "goes on with 100"},
		"it began anew on the source": {is("9", "1", "o"), is("9", "1", "o"), is("9", "0", "o"), "goes on with 9"},
		"another one":                 {is("7", "0", "o"), is("7", "0", "o"), is("7", "0", "p"), "is defined as p"},
		"no number":                   {is("7", "0", "o"), is("7", "0", "o"), is("", "0", "o"), "goes on with"},
		"missing":                     {is("7", "0", "o"), is("7", "0", "o"), nil, "shop.s is missing"},
		"one more":                    {nil, nil, is("7", "0", "o"), "shop.s is not on the source"},
	} {
		got := strings.Join(sequencesDiffer(tc.before, tc.after, tc.have), "\n")
		if (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
