package measure

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestUnfinished: a promotion is over when the node is the primary, a renewal when all nodes have loaded the
// certificate.
func TestUnfinished(t *testing.T) {
	before := map[string]result.Sample{"x-0": {result.MetricReloads: 1}, "x-1": {result.MetricReloads: 0}}
	for name, tc := range map[string]struct {
		facts result.OperationFacts
		now   map[string]result.Sample
		want  string
	}{
		"not promoted": {result.OperationFacts{Name: "Promotion", Node: "x-1"},
			map[string]result.Sample{"x-0": {result.MetricPrimaryNode: 1}, "x-1": {result.MetricPrimaryNode: 0}},
			"x-1 is not the primary yet"},
		"promoted": {result.OperationFacts{Name: "Promotion", Node: "x-1"},
			map[string]result.Sample{"x-0": {result.MetricPrimaryNode: 0}, "x-1": {result.MetricPrimaryNode: 1}}, ""},
		"one of two": {result.OperationFacts{Name: "Renewal"}, map[string]result.Sample{"x-0": {result.MetricReloads: 2},
			"x-1": {result.MetricReloads: 0}}, "x-1 has not loaded"},
		"no answer": {result.OperationFacts{Name: "Renewal"}, map[string]result.Sample{"x-0": {result.MetricReloads: 2},
			"x-1": nil}, "x-1 has not loaded"},
		"renewed": {result.OperationFacts{Name: "Renewal"}, map[string]result.Sample{"x-0": {result.MetricReloads: 2},
			"x-1": {result.MetricReloads: 1}}, ""},
	} {
		if got := unfinished(&tc.facts, before, tc.now); (got == "") != (tc.want == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestThereAndBack: a switch and a backup look over before they have begun.
func TestThereAndBack(t *testing.T) {
	seen := func(only, giving float64, spoken bool) result.Sample {
		s := result.Sample{result.MetricSynced: 1, result.MetricEncrypted: only, result.MetricGiving: giving}
		if spoken {
			s[result.MetricProtocol] = 1
		}
		return s
	}
	tls, both, plain, gives := seen(1, 0, true), seen(0, 0, true), seen(0, 0, false), seen(1, 1, true)
	started := result.Sample{result.MetricSynced: 1}
	type nodes [2]result.Sample
	for name, tc := range map[string]struct {
		op           string
		before, now  nodes
		half, undone string
	}{
		"not begun": {"Switch", nodes{tls, tls}, nodes{tls, tls}, "has not switched yet", ""},
		"one of two": {"Switch", nodes{tls, tls}, nodes{both, tls}, "x-1 has not switched yet",
			"x-0 has not switched back yet"},
		"both dynamic": {"Switch", nodes{tls, tls}, nodes{both, both}, "", "has not switched back yet"},
		"switched on":  {"Switch", nodes{plain, plain}, nodes{tls, tls}, "", "has not switched back yet"},
		"not yet off": {"Switch", nodes{plain, plain}, nodes{both, plain}, "x-1 has not switched yet",
			"x-0 has not switched back yet"},
		"just started": {"Switch", nodes{tls, tls}, nodes{started, both}, "x-0 has not switched yet",
			"has not switched back yet"},
		"no answer": {"Switch", nodes{tls, tls}, nodes{nil, both}, "x-0 has not switched yet",
			"has not switched back yet"},
		"no backup yet":   {"Backup", nodes{tls, tls}, nodes{tls, tls}, "no node gives a backup yet", ""},
		"a backup":        {"Backup", nodes{tls, tls}, nodes{tls, gives}, "", "x-1 gives a backup"},
		"a silent backup": {"Backup", nodes{tls, tls}, nodes{tls, nil}, "no node gives a backup yet", "x-1 gives a backup"},
	} {
		named := func(n nodes) map[string]result.Sample { return map[string]result.Sample{"x-0": n[0], "x-1": n[1]} }
		facts := &result.OperationFacts{Name: tc.op}
		for what, got := range map[string][2]string{"half": {halfway(facts, named(tc.before), named(tc.now)), tc.half},
			"end": {unfinished(facts, named(tc.before), named(tc.now)), tc.undone}} {
			if (got[0] == "") != (got[1] == "") || !strings.Contains(got[0], got[1]) {
				t.Errorf("%s, %s: %q, want %q", name, what, got[0], got[1])
			}
		}
	}
}

// TestChannelsAreKeptApart: the same metric describes each.
func TestChannelsAreKeptApart(t *testing.T) {
	s := parseMetrics(
		"galera_channel_encrypted{channel=\"replication\"} 1\ngalera_channel_encrypted{channel=\"clients\"} " +
			"0\ngalera_channel_info{channel=\"replication\",protocol=\"TLSv1.3\",cipher=\"x\"} 1\n")
	if encrypted(s) != 2 || s["galera_channel_encrypted:clients"] != 0 {
		t.Errorf("got %v", s)
	}
}

// TestWriters: they connect anew when a server goes away, and keep a connection on which a transaction was only
// refused.
func TestWriters(t *testing.T) {
	var asked atomic.Int64
	onPort(t, fakeDB{answer: func(query string) (string, string) {
		if !strings.HasPrefix(query, "UPDATE `bench_1x10`.sbtest1 SET k = k + 1 WHERE id = ") {
			return "", "what?"
		}
		if asked.Add(1)%10 == 0 {
			return "", "refused"
		}
		return "1", ""
	}}.serve)
	r := &runner{target: target{plan: result.Plan{Data: result.DataSet{Database: "bench_1x10", Tables: 1, Rows: 10},
		Operation: &result.Operation{Primary: serverIP, Threads: 2, PatienceSeconds: 1}}}}
	w, err := r.writers()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	w.run(t.Context(), w.write)
	w.close()
	facts := &result.OperationFacts{}
	w.describe(facts, begin.Add(500*time.Millisecond), begin.Add(time.Second-afterTime))
	if facts.Transactions < 10 || facts.Errors == 0 || facts.LastError == "" ||
		int64(len(w.commits)) != facts.Transactions || facts.During.TPS == 0 {
		t.Errorf("got %+v", facts)
	}
}

// TestWhatARestartMakes: of its own node anything, of others that they give what is missing.
func TestWhatARestartMakes(t *testing.T) {
	all := []string{"x-0", "x-1", "x-2"}
	restart, renewal := &result.OperationFacts{Name: "Restart", Node: "x-1"}, &result.OperationFacts{Name: "Renewal"}
	for name, tc := range map[string]struct {
		member string
		view   result.Sample
		op     *result.OperationFacts
		want   string
	}{
		"is gone":     {"x-0", place("Synced", "x-0", "x-2"), restart, ""},
		"joins":       {"x-1", place("Joining"), restart, ""},
		"a donor":     {"x-2", place("Donor"), restart, ""},
		"third joins": {"x-2", place("Joining"), restart, "x-2 was Joining instead of Synced"},
		"renewal": {"x-0", place("Donor", all...), renewal,
			"x-0 was Donor instead of Synced"},
	} {
		r := &runner{agents: newAgents([]result.Member{{Name: "x-0"}, {Name: "x-1"}, {Name: "x-2"}}),
			out: result.Output{Operation: tc.op}}
		got := strings.Join(r.noticed(r.agents.judge(result.Member{Name: tc.member}, tc.view)), "; ")
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
