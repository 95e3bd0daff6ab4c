package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestEnded: a chain begins when what the cluster has followed is complete in the data, and knows where that has ended,
// also if no node that answers has it in its binary log.
func TestEnded(t *testing.T) {
	t.Parallel()
	gtids := func(text string) (out []binlog.GTID) {
		for one := range strings.SplitSeq(text, ",") {
			if g, err := binlog.Parse(one); err == nil && one != "" {
				out = append(out, g)
			}
		}
		return out
	}
	for name, tc := range map[string]struct {
		end, applied, seen, want, why string
	}{
		"it has followed nothing":         {"", "", "", "", ""},
		"another server writes":           {"", "", "5-9-1", "5-9-1", ""},
		"it is in the binary log":         {"0-7-54", "0-7-54", "0-7-54", "0-7-54", ""},
		"it is in no binary log":          {"0-7-54", "0-7-54", "", "0-7-54", ""},
		"the binary log has a part of it": {"0-7-54", "0-7-54", "0-7-40", "0-7-40,0-7-54", ""},
		"two domains":                     {"0-7-54, 3-8-2", "3-8-2,0-7-54", "5-9-1", "5-9-1,0-7-54,3-8-2", ""},
		"the data have more":              {"0-7-54", "0-7-60", "0-7-60", "0-7-60", ""},
		"the data lack some":              {"0-7-54", "0-7-53", "0-7-53", "", `"0-7-53"`},
		"the data lack one of two":        {"0-7-54,3-8-2", "0-7-54", "0-7-54", "", "up to 3-8-2"},
		"their position is not known":     {"0-7-54", "", "0-7-54", "", `""`},
		"the cluster's domain is the same": {"900-7-54", "900-7-54", "", "",
			"set spec.hibernate"},
		"what was followed is not known": {"0-7", "0-7-54", "", "", "0-7"},
	} {
		got, why := Ended(900, tc.end, tc.applied, gtids(tc.seen))
		if !slices.Equal(got, gtids(tc.want)) || (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s: %v, %q", name, got, why)
		}
	}
	seen := append(make([]binlog.GTID, 0, 4), gtids("5-9-1")...)
	if _, _ = Ended(900, "0-7-54", "0-7-54", seen); seen[:2][1] != (binlog.GTID{}) {
		t.Error("what was seen is changed")
	}
}
