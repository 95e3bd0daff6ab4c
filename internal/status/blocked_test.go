package status

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestBlockedStatement: a statement that waits for a lock of a node is Stalled, with the connection to end.
func TestBlockedStatement(t *testing.T) {
	holder := &agentapi.LockHolder{ID: 10, User: "dump", Host: "10.1.2.3:5000", Idle: true, Held: 95 * time.Second}
	for name, c := range map[string]struct {
		of   *agentapi.Blocked
		says []string
	}{
		"nothing": {nil, nil},
		"held by a connection": {&agentapi.Blocked{For: 42 * time.Second, Table: "app.t", Holder: holder}, []string{
			"n-1: ", "a lock on app.t for more than 30s", "connection 10 of the user dump from 10.1.2.3:5000, which is idle",
			"for more than 1m30s", "KILL 10"}},
		"by a statement": {&agentapi.Blocked{For: 21 * time.Second, Holder: &agentapi.LockHolder{ID: 7}}, []string{
			"a lock for more than 20s", "the user (unknown) from (unknown), which carries out a statement"}},
		"not known by whom": {&agentapi.Blocked{For: time.Hour}, []string{"metadata_lock_info", "SHOW OPEN TABLES"}},
		"long names": {&agentapi.Blocked{For: time.Hour, Table: strings.Repeat("x", 5000),
			Holder: &agentapi.LockHolder{ID: 7, User: strings.Repeat("x", 5000), Host: strings.Repeat("x", 5000)}},
			[]string{"xxx..."}},
	} {
		in := healthy()
		seen := in.Seen["n-1"]
		seen.Report.Blocked = c.of
		in.Seen["n-1"] = seen
		p := firstProblem(in)
		if c.of == nil {
			if p != nil {
				t.Errorf("%s: %+v", name, p)
			}
			continue
		}
		if p == nil || p.Reason != v1alpha1.ReasonStatementBlocked || !p.Blocked || len(p.Message) > 1200 {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(p.Message, want) {
				t.Errorf("%s: %q is not in %q", name, want, p.Message)
			}
		}
		seen.Live = false
		if in.Seen["n-1"] = seen; firstProblem(in) != nil && firstProblem(in).Reason == v1alpha1.ReasonStatementBlocked {
			t.Errorf("%s: an agent that does not answer", name)
		}
	}
}
