package policy

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestServers: a chain begins where all nodes give transactions one server_id, however far each of them is.
func TestServers(t *testing.T) {
	t.Parallel()
	at := func(server uint32, seq uint64) binlog.GTID { return binlog.GTID{Domain: 900, Server: server, Seq: seq} }
	for name, tc := range map[string]struct {
		last map[string]binlog.GTID
		want string
	}{
		"one node":         {map[string]binlog.GTID{"a": at(900, 7)}, ""},
		"alike":            {map[string]binlog.GTID{"a": at(900, 7), "b": at(900, 8), "c": at(900, 7)}, ""},
		"one has none yet": {map[string]binlog.GTID{"a": at(900, 7), "b": {}}, ""},
		"one differs": {map[string]binlog.GTID{"b": at(1, 7), "a": at(900, 7), "c": at(900, 7)},
			"a is at 900-900-7, b is at 900-1-7, c is at 900-900-7"},
	} {
		if why := Servers(tc.last); (why == "") != (tc.want == "") || !strings.Contains(why, tc.want) {
			t.Errorf("%s: %q", name, why)
		}
	}
}
