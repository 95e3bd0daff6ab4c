package harness

import (
	"strings"
	"testing"
)

func TestPartOf(t *testing.T) {
	second := int64(1) << perWorker // of another connection
	source := map[int64]string{1: "a", 2: "b", 3: "c", second + 1: "x", second + 2: "y"}
	for name, tc := range map[string]struct {
		have   map[int64]string
		before []int64
		want   string
	}{
		"all of it":               {source, []int64{1, second + 2}, ""},
		"a moment before":         {map[int64]string{1: "a", 2: "b", second + 1: "x"}, []int64{1}, ""},
		"a row of the writer's":   {map[int64]string{1: "a"}, []int64{1, 2}, "missing that were acknowledged"},
		"a row of no writer":      {map[int64]string{1: "a", 4: "d"}, nil, "does not have"},
		"a row that is another":   {map[int64]string{1: "b"}, nil, "other ones"},
		"a hole":                  {map[int64]string{1: "a", 3: "c"}, nil, "later ones"},
		"a hole of another's row": {map[int64]string{second + 2: "y"}, nil, "later ones"},
	} {
		err := partOf(source, tc.have, tc.before)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
