package measure

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestLeftoversAreNoLackOfSpace: what an attempt before has left is removed before there is a check of the disk. Other
// nodes remove it a moment later.
func TestLeftoversAreNoLackOfSpace(t *testing.T) {
	const ip = "127.0.0.34"
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", net.JoinHostPort(ip, clientPort))
	if err != nil {
		t.Skip("another program has the database's port on this host: ", err)
	}
	defer l.Close()
	var asked []string
	var dropped, looks atomic.Int64
	db := fakeDB{answer: func(query string) (string, string) {
		asked = append(asked, strings.Fields(query)[0])
		if strings.HasPrefix(query, "DROP") {
			dropped.Store(1)
		}
		return "sbtest1", ""
	}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			db.serve(c) // one after the other
		}
	}()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		free := 100
		if dropped.Load() == 1 && looks.Add(1) > 1 {
			free = 1000
		}
		_, _ = fmt.Fprintf(w, "%s %d\n", result.MetricFree, free)
	}))
	defer agent.Close()

	r := &runner{target: target{plan: result.Plan{Members: []result.Member{{Name: "x-0", Host: ip}},
		Data: result.DataSet{Database: "bench_1x10"}, RequiredBytes: 500}}}
	r.agents = newAgents(r.plan.Members)
	r.agents.client.Transport = &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn,
		error) {
		var d net.Dialer
		return d.DialContext(ctx, network, agent.Listener.Addr().String())
	}}
	if err := r.emptyDatabases(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(asked, []string{"SELECT", "DROP"}) {
		t.Errorf("got %v", asked)
	}
	asked, r.plan.Data.Databases = nil, 2
	if err := r.emptyDatabases(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(asked, []string{"SELECT", "DROP", "SELECT", "DROP"}) {
		t.Errorf("of two: %v", asked)
	}
	r.plan.RequiredBytes = 5000
	short, stop := context.WithTimeout(t.Context(), diskPace/2)
	defer stop()
	if err := r.checkDisk(short); err == nil || !strings.HasPrefix(err.Error(), result.NotEnoughDisk+"x-0 has") {
		t.Errorf("got %v", err)
	}
}

// TestRowsAreThoseAskedFor: a data set whose ids have gaps, as those that nodes make themselves, is not measured.
func TestRowsAreThoseAskedFor(t *testing.T) {
	const ip = "127.0.0.35"
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", net.JoinHostPort(ip, clientPort))
	if err != nil {
		t.Skip("another program has the database's port on this host: ", err)
	}
	defer l.Close()
	have := ""
	db := fakeDB{answer: func(query string) (string, string) {
		if strings.Contains(query, "information_schema") {
			return "sbtest1", ""
		}
		return have, ""
	}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			db.serve(c)
		}
	}()
	r := &target{plan: result.Plan{Members: []result.Member{{Name: "x-0", Host: ip}},
		Data: result.DataSet{Database: "bench_1x10", Tables: 1, Rows: 10}}}
	args := r.prepareArguments("bench_1x10")
	if !slices.Contains(args, "--auto_inc=off") || args[len(args)-1] != "prepare" {
		t.Errorf("rows are made with %v", args)
	}
	for ids, right := range map[string]bool{"1 to 10, 10 rows": true, "3 to 30, 10 rows": false, "1 to 30, 10 rows": false,
		"1 to 10, 9 rows": false, "0 to 0, 0 rows": false} {
		have = ids
		if err := r.checkRows(t.Context()); (err == nil) != right {
			t.Errorf("%s: %v", ids, err)
		}
	}
}
