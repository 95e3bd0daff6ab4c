//go:build integration

package agent_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// longIncrement: write-sets of updates in a table without a key take their time to be applied, so one sees a member
// catch up.
func (s *scenario) longIncrement() {
	s.node(0).mustSQL("CREATE TABLE app.slow (a INT, b INT); " +
		"INSERT INTO app.slow WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, 0 " +
		"FROM n; " +
		"INSERT INTO app.slow SELECT * FROM app.slow; INSERT INTO app.slow SELECT * FROM app.slow")
	n := s.node(2)
	s.epoch++
	o, _ := n.send(agentapi.OrderStop, s.epoch, galera.Position{}, s.uuid)
	n.until("stopped", 60*time.Second, done(o.ID))
	const missed = 24
	for range missed {
		s.node(0).mustSQL("UPDATE app.slow SET b = b + 1")
	}
	s.epoch++
	n.send(agentapi.OrderStart, s.epoch, galera.Position{}, s.uuid)
	var shown []agentapi.Join
	r := n.until("back", 180*time.Second, func(r agentapi.Report) bool {
		if j := r.Join; j != nil && j.EndedAt == nil && j.Behind > 0 && !slices.ContainsFunc(shown,
			func(o agentapi.Join) bool { return o.Behind == j.Behind }) {
			s.Logf("%+v", *j)
			shown = append(shown, *j)
		}
		return joined(3)(r)
	})
	s.Logf("%+v", *r.Join)
	if len(shown) < 2 || shown[0].Behind < missed/2 || shown[0].WriteSets+shown[0].Behind < missed ||
		shown[0].Phase != agentapi.JoinApplying {
		s.Fatalf("%+v", shown)
	}
	if last := shown[len(shown)-1]; last.WriteSets <= shown[0].WriteSets || last.Behind >= shown[0].Behind ||
		last.ETA == nil || last.Donor == "" {
		s.Errorf("%+v", last)
	}
	if j := r.Join; j.Kind != agentapi.JoinIST || j.WriteSets < missed || j.Behind != 0 || j.ETA != nil || j.Phase != "" {
		s.Errorf("%+v", *j)
	}
	if out := n.mustSQL("SET SESSION wsrep_sync_wait=1; SELECT MIN(b), MAX(b) FROM app.slow"); out != fmt.Sprintf("%d\t%d",
		missed, missed) {
		s.Errorf("%q", out)
	}
}
