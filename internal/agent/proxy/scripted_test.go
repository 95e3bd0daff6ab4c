package proxy

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// scripted is an admin interface that records statements, and answers a query that contains a key with its rows.
type scripted struct {
	driver.Conn
	mu       sync.Mutex
	executed []string
	rows     map[string][][]string
}

func (s *scripted) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (*scripted) Driver() driver.Driver                          { return nil }
func (*scripted) Close() error                                   { return nil }

func (s *scripted) ExecContext(_ context.Context, q string, _ []driver.NamedValue) (driver.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.executed = append(s.executed, q)
	return driver.ResultNoRows, nil
}

func (s *scripted) QueryContext(_ context.Context, q string, _ []driver.NamedValue) (driver.Rows, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for part, rows := range s.rows {
		if strings.Contains(q, part) {
			return &cells{rows}, nil
		}
	}
	return &cells{}, nil
}

type cells struct{ rows [][]string }

func (*cells) Close() error { return nil }

func (c *cells) Columns() []string {
	if len(c.rows) == 0 {
		return []string{"x"}
	}
	return make([]string, len(c.rows[0]))
}

func (c *cells) Next(into []driver.Value) error {
	if len(c.rows) == 0 {
		return io.EOF
	}
	for i, cell := range c.rows[0] {
		into[i] = cell
	}
	c.rows = c.rows[1:]
	return nil
}

// running is a proxy whose ProxySQL is s.
func running(t *testing.T, s *scripted) *proxy {
	t.Helper()
	db := sql.OpenDB(s)
	t.Cleanup(func() { _ = db.Close() })
	return &proxy{Options: Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}, kick: make(chan struct{}, 1),
		stepped: make(chan struct{}),
		run:     run{process: &mariadbd.Process{}, admin: admin{db}, applied: map[string][]string{}, started: true}}
}

// TestPools: a node that takes statements in one of the two groups is ONLINE, in any order of ProxySQL's rows, and
// the connections of both are counted.
func TestPools(t *testing.T) {
	for name, tc := range map[string]struct {
		groups []string
		want   string
	}{
		"it serves in the first group":  {[]string{"ONLINE", "OFFLINE_SOFT"}, "ONLINE"},
		"it serves in the second group": {[]string{"OFFLINE_SOFT", "ONLINE"}, "ONLINE"},
		"it cannot be reached":          {[]string{"SHUNNED", "OFFLINE_SOFT"}, "SHUNNED"},
		"it cannot be reached in one":   {[]string{"ONLINE", "SHUNNED"}, "ONLINE"},
		"it is cut in the first group":  {[]string{"OFFLINE_HARD", "OFFLINE_SOFT"}, "OFFLINE_SOFT"},
		"it is cut in the second group": {[]string{"ONLINE", "OFFLINE_HARD"}, "ONLINE"},
		"it is cut in both":             {[]string{"OFFLINE_HARD", "OFFLINE_HARD"}, "OFFLINE_HARD"},
		"it is drained":                 {[]string{"OFFLINE_SOFT", "OFFLINE_SOFT"}, "OFFLINE_SOFT"},
	} {
		s := &scripted{rows: map[string][][]string{"stats_mysql_connection_pool": {
			{"10.0.0.1", tc.groups[0], "1", "2", "10", "3", "7"},
			{"10.0.0.1", tc.groups[1], "4", "5", "20", "6", "8"}}}}
		pools, err := running(t, s).admin.pools(t.Context())
		want := agentapi.ProxyPool{Status: tc.want, Used: 5, Free: 7, Queries: 30, Errors: 9, Opened: 15}
		if err != nil || pools["10.0.0.1"] != want {
			t.Errorf("%s: %+v %v", name, pools, err)
		}
	}
}

// TestTheDrainOfAPod: a pod that ends takes new clients for a moment, and then ends what is in progress. It follows
// states until it is gone: a node may stop meanwhile.
func TestTheDrainOfAPod(t *testing.T) {
	s := &scripted{rows: map[string][][]string{"stats_mysql_processlist": {{"1"}}}}
	p := running(t, s)
	paused := func() bool { return slices.Contains(s.executed, "PROXYSQL PAUSE") }
	p.drain()
	if p.drained(t.Context()) || paused() {
		t.Error("it ends at once")
	}
	p.ending = time.Now().Add(-lameTimeout)
	if p.drained(t.Context()) || !paused() {
		t.Error("it ends with a statement in progress, or takes new clients")
	}
	p.take(state())
	if err := p.apply(t.Context()); err != nil || !slices.Contains(s.executed, "LOAD MYSQL SERVERS TO RUNTIME") {
		t.Error("it follows no state any more", err)
	}
	p.drain()
	if time.Since(p.ending) < lameTimeout {
		t.Error("a second signal has the wait begin again")
	}
	s.rows = map[string][][]string{"stats_mysql_processlist": {{"0"}},
		"stats_mysql_global": {{"Active_Transactions", "1"}}}
	if p.drained(t.Context()) {
		t.Error("it ends with a transaction in progress")
	}
	p.ending = time.Now().Add(-lameTimeout - drainTimeout - 1)
	if !p.drained(t.Context()) {
		t.Error("it waits for ever")
	}
	p.ending = time.Now().Add(-lameTimeout)
	s.rows = map[string][][]string{"stats_mysql_processlist": {{"0"}}}
	if !p.drained(t.Context()) {
		t.Error("it waits with nothing in progress")
	}
	if n := len(slices.DeleteFunc(s.executed, func(q string) bool { return q != "PROXYSQL PAUSE" })); n != 1 {
		t.Errorf("it was paused %d times", n)
	}
	p.run, p.ended = run{}, time.Time{}
	if err := p.ensure(t.Context()); err == nil || p.process != nil {
		t.Error("ProxySQL is started again in a pod that ends")
	}
	if !p.drained(t.Context()) {
		t.Error("it waits without ProxySQL")
	}
}

// TestARequestIsAnsweredOnceItsStateIsLoaded: the operator learns at once that a node is drained.
func TestARequestIsAnsweredOnceItsStateIsLoaded(t *testing.T) {
	p := running(t, &scripted{rows: map[string][][]string{"stats_mysql_processlist": {{"0"}}}})
	p.provedAt = time.Now().AddDate(100, 0, 0) // no port is there to be proved
	p.answered = time.Now()
	second := state()
	second.Revision++
	p.take(state())
	first := make(chan agentapi.ProxyReport)
	go func() { first <- p.settled(t.Context(), 1) }()
	p.turn(t.Context(), nil)
	if got := <-first; got.Revision != 1 {
		t.Errorf("the state 1 is answered with %d", got.Revision)
	}
	p.take(second)
	go func() { first <- p.settled(t.Context(), 2) }()
	p.turn(t.Context(), nil)
	if got := <-first; got.Revision != 2 {
		t.Errorf("the state 2 is answered with %d", got.Revision)
	}
	if got := p.settled(t.Context(), 3); got.Revision != 2 {
		t.Errorf("a state that is not loaded is answered with %d", got.Revision)
	}
}

// TestASilentNodeHoldsUpNoState: a node that takes connections and says nothing, as one on a lost host or one that
// hangs, is proved outside of the loop. What is known of a node is that of its address.
func TestASilentNodeHoldsUpNoState(t *testing.T) {
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.77:3306")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = silent.Close() }()
	p := running(t, &scripted{})
	s := state()
	for i := range s.Nodes {
		s.Nodes[i].Address = "127.0.0.77"
	}
	p.take(s)
	began := time.Now()
	p.turn(t.Context(), nil)
	s.Revision++
	p.take(s)
	p.turn(t.Context(), nil)
	if p.report.Revision != s.Revision || time.Since(began) > time.Second {
		t.Errorf("the state %d is in effect after %s", p.report.Revision, time.Since(began))
	}
	n := s.Nodes[0]
	at := port{n.Address, n.ServerName}
	for _, tc := range []struct {
		observed string
		want     time.Duration
	}{{"", unprovedInterval}, {agentapi.ObservedUnknown, unprovedInterval}, {agentapi.ObservedTLS, proveInterval},
		{agentapi.ObservedPlaintext, proveInterval}} {
		known := proofs{nodes: map[port]agentapi.ChannelFact{at: {Observed: tc.observed}}}
		if got := known.interval(&agentapi.ProxyState{Nodes: []agentapi.ProxyNode{n}}); got != tc.want {
			t.Errorf("%q: proved again after %s", tc.observed, got)
		}
	}
	n.Address = "10.9.9.9"
	known := proofs{nodes: map[port]agentapi.ChannelFact{at: {Observed: agentapi.ObservedTLS}}}
	if known.interval(&agentapi.ProxyState{Nodes: []agentapi.ProxyNode{n}}) != unprovedInterval {
		t.Error("the proof of an earlier address counts")
	}
}

// TestDigestsAreForgotten: what ProxySQL keeps of statements is emptied when it takes too much, and not before.
func TestDigestsAreForgotten(t *testing.T) {
	for size, want := range map[string]int{"16777216": 0, "16777217": 1, "": 0} {
		s := &scripted{rows: map[string][][]string{"'query_digest_memory'": {{size}}}}
		running(t, s).boundDigests(t.Context())
		if len(s.executed) != want || want > 0 && s.executed[0] != "TRUNCATE TABLE stats.stats_mysql_query_digest" {
			t.Errorf("%q bytes: %v", size, s.executed)
		}
	}
}
