package sysbench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// read returns output of sysbench as this project's image printed it.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParse(t *testing.T) {
	for name, want := range map[string]result.OLTPResult{
		"oltp_write_only.txt": {Seconds: 3.0796, Transactions: 2170, TPS: 704.55, Queries: 13059, QPS: 4239.96, Errors: 15,
			LatencyAvg: 5.63, LatencyMax: 84.71, P95: 14.995},
		"oltp_read_only.txt": {Seconds: 3.0168, Transactions: 718, TPS: 237.95, Queries: 11488, QPS: 3807.25,
			LatencyAvg: 16.76, LatencyMax: 282.48, P95: 43.385},
		"oltp_read_write.txt": {Seconds: 3.0372, Transactions: 387, TPS: 127.40, Queries: 10750, QPS: 3538.91, Errors: 189,
			LatencyAvg: 31.26, LatencyMax: 542.38, P95: 127.805},
		"oltp_point_select.txt": {Seconds: 3.0028, Transactions: 21495, TPS: 7157.34, Queries: 21495, QPS: 7157.34,
			LatencyAvg: 0.56, LatencyMax: 288.72, P95: 1.227},
		"errors.txt": {Seconds: 3.1026, Transactions: 454, TPS: 146.28, Queries: 13921, QPS: 4485.44, Errors: 304,
			LatencyAvg: 26.85, LatencyMax: 325.06, P95: 92.424},
		"events.txt": {Seconds: 0.3422, Transactions: 50, TPS: 145.77, Queries: 1379, QPS: 4020.39, Errors: 24,
			LatencyAvg: 26.33, LatencyMax: 130.55},
	} {
		got, err := Parse(read(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var counted int64
		for _, b := range got.Histogram {
			counted += b.Count
		}
		if name != "events.txt" && (counted != want.Transactions || len(got.Series) != 3) {
			t.Errorf("%s: %d events in the histogram, %d seconds", name, counted, len(got.Series))
		}
		if d := got.P95 - want.P95; d > 0.001 || d < -0.001 || got.P50 > got.P95 || got.P99 < got.P95 {
			t.Errorf("%s: percentiles %g %g %g, sysbench says %g", name, got.P50, got.P95, got.P99, want.P95)
		}
		got.Series, got.Histogram, got.P50, got.P99, got.P95 = nil, nil, 0, 0, want.P95
		// sysbench's own rates have two decimals, and a time in them that is up to a millisecond longer than what it tells.
		for _, rate := range [][2]float64{{got.TPS, want.TPS}, {got.QPS, want.QPS}} {
			if off := rate[0]/rate[1] - 1; off < -1e-4 || off > 0.001/want.Seconds+1e-4 {
				t.Errorf("%s: a rate of %g, sysbench has %g", name, rate[0], rate[1])
			}
		}
		if got.TPS*got.Seconds-float64(got.Transactions) > 1e-6 || got.QPS*got.Seconds-float64(got.Queries) > 1e-6 {
			t.Errorf("%s: rates of %g and %g are not those of what was counted", name, got.TPS, got.QPS)
		}
		got.TPS, got.QPS = want.TPS, want.QPS
		if got.Seconds != want.Seconds || got.Transactions != want.Transactions ||
			got.Queries != want.Queries || got.Errors != want.Errors || got.Reconnects != want.Reconnects ||
			got.LatencyAvg != want.LatencyAvg ||
			got.LatencyMax != want.LatencyMax {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
	}
}

func TestSeries(t *testing.T) {
	got, err := Parse(read(t, "oltp_write_only.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Series[1]; p != (result.Point{Second: 2, TPS: 637.18, P95: 17.63, Errors: 6}) {
		t.Errorf("got %+v", p)
	}
}

func TestParseFailures(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"login":   {read(t, "fatal.txt"), "error 1045: Access denied"},
		"TLS":     {read(t, "tls-refused.txt"), "tlsv1 alert unknown ca"},
		"cut off": {read(t, "oltp_read_only.txt")[:600], "ended before its report"},
		"nothing": {"", "ended before its report"},
	} {
		if _, err := Parse(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestVersion(t *testing.T) {
	if got := Version(read(t, "events.txt")); got != "1.0.20" {
		t.Errorf("got %q", got)
	}
}
