package runner

import (
	"context"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// counts are those of a node that commits so many a second up to one time, and so many from then on; some of them.
func counts(start time.Time, until, to, before, during float64, reported func(second float64) bool) (out []count) {
	for s := 0.25; s < to; s += 0.5 {
		if reported == nil || reported(s) {
			out = append(out, count{start.Add(time.Duration(s * float64(time.Second))),
				before*min(s, until) + during*max(0, s-until)})
		}
	}
	return out
}

// TestNodeLoads: rates are those of the time before the victim went, and until it was back; of a node that reported too
// little there are none.
func TestNodeLoads(t *testing.T) {
	start := time.Unix(1000, 0)
	anew := counts(start, 10, 30, 40, 10, nil)
	for i := 50; i < len(anew); i++ {
		anew[i].n -= 400
	}
	for name, tc := range map[string]struct {
		counts     []count
		gone, back float64
		want       *result.NodeLoad
	}{
		"loses":            {counts(start, 10, 30, 40, 10, nil), 10, 20, &result.NodeLoad{Before: 40, During: 10}},
		"stands still":     {counts(start, 10, 30, 40, 0, nil), 10, 20, &result.NodeLoad{Before: 40, During: 0}},
		"short before":     {counts(start, 4, 30, 40, 20, nil), 4, 20, &result.NodeLoad{Before: 40, During: 20}},
		"short":            {counts(start, 10, 30, 40, 20, nil), 10, 13, &result.NodeLoad{Before: 40, During: 20}},
		"too short":        {counts(start, 10, 30, 40, 20, nil), 10, 11.9, nil},
		"too short before": {counts(start, 2.5, 30, 400, 20, nil), 2.5, 20, nil},
		"at once":          {counts(start, 10, 30, 40, 20, nil), 10, 10, nil},
		"too few":          {counts(start, 10, 30, 5, 5, nil), 10, 20, nil},
		"no load":          {counts(start, 10, 30, 0, 0, nil), 10, 20, nil},
		"never gone":       {counts(start, 10, 30, 40, 10, nil), -1000, -1000, nil},
		"nothing reported": {nil, 10, 20, nil},
		"some not reported": {counts(start, 10, 30, 40, 10, func(s float64) bool {
			return s < 5 || s > 6 && s < 12 ||
				s > 16
		}), 10, 20, &result.NodeLoad{Before: 40, During: 10}},
		"silent while it gives": {counts(start, 10, 30, 40, 10, func(s float64) bool { return s < 10 || s > 16 }), 10, 20,
			nil},
		"one answer while it did": {counts(start, 10, 30, 40, 10, func(s float64) bool { return s < 10.5 || s > 20 }), 10, 20,
			nil},
		"another server": {anew, 10, 28, nil},
	} {
		at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
		got, is := nodeLoads(map[string][]count{"x-0": tc.counts}, start, at(tc.gone), at(tc.back))["x-0"]
		if is != (tc.want != nil) || is && (math.Abs(got.Before-tc.want.Before) > 1e-6 ||
			math.Abs(got.During-tc.want.During) > 1e-6) {
			t.Errorf("%s: got %+v, %v", name, got, is)
		}
	}
}

// TestCountCommits: every node but the victim is asked, again and again, and what comes late is not believed.
func TestCountCommits(t *testing.T) {
	var asked atomic.Int64
	members := []result.Member{{Name: "x-0", Host: "127.0.0.35"}, {Name: "x-1", Host: "127.0.0.36"},
		{Name: "x-2", Host: "127.0.0.37"}}
	for i, m := range members {
		var lc net.ListenConfig
		l, err := lc.Listen(t.Context(), "tcp", net.JoinHostPort(m.Host, clientPort))
		if err != nil {
			t.Skip("another program has the database's port on this host: ", err)
		}
		defer l.Close()
		var once atomic.Int64
		db := fakeDB{answer: func(query string) (string, string) {
			if !strings.Contains(query, "wsrep_local_commits") {
				return "", ""
			}
			asked.Add(int64(math.Pow10(3 * i)))
			n := once.Add(1)
			if n == 2 {
				time.Sleep(countTime + 50*time.Millisecond) // a slow server
			}
			return strconv.FormatInt(100*n, 10), ""
		}}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go db.serve(c)
			}
		}()
	}
	r := &runner{target: target{plan: result.Plan{Members: members}}}
	ctx, stop := context.WithTimeout(t.Context(), 5*countPace+countPace/2)
	defer stop()
	begin := time.Now()
	got := r.countCommits(ctx, members[1])
	if len(got) != 2 || asked.Load()/1000%1000 != 0 {
		t.Errorf("asked %d: %v", asked.Load(), got)
	}
	for name, all := range got {
		var values []float64
		for _, c := range all {
			values = append(values, c.n)
			if c.at.Before(begin) || c.at.After(time.Now()) {
				t.Errorf("%s: at %s", name, c.at)
			}
		}
		if len(values) < 3 || values[0] != 100 || slices.Contains(values, 200) || !slices.IsSorted(values) {
			t.Errorf("%s: %v", name, values)
		}
	}
}
