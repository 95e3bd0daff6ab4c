// Package sysbench reads what sysbench 1.0 prints.
package sysbench

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

var (
	interval = regexp.MustCompile(
		`^\[ ([0-9.]+)s \] thds: \d+ tps: ([0-9.]+) qps: ([0-9.]+) \(r/w/o: [0-9./]+\) lat \(ms,\d+%\): ([0-9.]+) err/s:? ([0-9.]+) reconn/s: ([0-9.]+)`)
	bucket    = regexp.MustCompile(`^\s*([0-9]+\.[0-9]+) \|\**\s+([0-9]+)$`)
	counted   = regexp.MustCompile(`^\s+([a-z ]+):\s+([0-9]+)\s+\(([0-9.]+) per sec\.\)$`)
	totalTime = regexp.MustCompile(`^\s+total time:\s+([0-9.]+)s$`)
	latency   = regexp.MustCompile(`^\s+(avg|max):\s+([0-9.]+)$`)
	version   = regexp.MustCompile(`^sysbench ([0-9][^ ]*)`)
	fatal     = regexp.MustCompile(`FATAL: (.*)$`)
)

// Parse reads the output of a run with --histogram=on and --report-interval. It returns an error,
// and what there was, when the run did not come to its end.
func Parse(text string) (result.OLTPResult, error) {
	var r result.OLTPResult
	var problem string
	ended := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \r")
		// The first complaint, unless a later one brings the server's own words.
		if m := fatal.FindStringSubmatch(line); m != nil && (problem == "" || strings.HasPrefix(m[1], "error ")) {
			problem = m[1]
		}
		ended = readTotals(&r, line) || ended
		readSeries(&r, line)
	}
	if r.Seconds > 0 { // its own rates have two decimals
		r.TPS, r.QPS = float64(r.Transactions)/r.Seconds, float64(r.Queries)/r.Seconds
	}
	r.P50, r.P95, r.P99 = Percentile(r.Histogram, 50), Percentile(r.Histogram, 95), Percentile(r.Histogram, 99)
	switch {
	case problem != "":
		return r, fmt.Errorf("sysbench gave up: %s", problem)
	case !ended:
		return r, fmt.Errorf("sysbench ended before its report")
	}
	return r, nil
}

// readTotals reads a line of the final report, and reports whether it was the total time.
func readTotals(r *result.OLTPResult, line string) bool {
	if m := totalTime.FindStringSubmatch(line); m != nil {
		r.Seconds = decimal(m[1])
		return true
	}
	if m := latency.FindStringSubmatch(line); m != nil {
		if m[1] == "avg" {
			r.LatencyAvg = decimal(m[2])
		} else {
			r.LatencyMax = decimal(m[2])
		}
	}
	m := counted.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	n, rate := whole(m[2]), decimal(m[3])
	switch strings.TrimSpace(m[1]) {
	case "transactions":
		r.Transactions, r.TPS = n, rate
	case "queries":
		r.Queries, r.QPS = n, rate
	case "ignored errors":
		r.Errors = n
	case "reconnects":
		r.Reconnects = n
	}
	return false
}

func readSeries(r *result.OLTPResult, line string) {
	if m := interval.FindStringSubmatch(line); m != nil {
		r.Series = append(r.Series, result.Point{
			Second: decimal(m[1]), TPS: decimal(m[2]), P95: decimal(m[4]), Errors: decimal(m[5]), Reconnects: decimal(m[6]),
		})
	}
	if m := bucket.FindStringSubmatch(line); m != nil {
		r.Histogram = append(r.Histogram, result.Bucket{Value: decimal(m[1]), Count: whole(m[2])})
	}
}

// Percentile returns the latency in milliseconds that p percent of the events did not exceed, 0
// when there were none.
func Percentile(h []result.Bucket, p float64) float64 {
	var total, seen int64
	for _, b := range h {
		total += b.Count
	}
	for _, b := range h {
		seen += b.Count
		if seen >= int64(float64(total)*p/100+0.5) { // rounded as sysbench does it
			return b.Value
		}
	}
	return 0
}

// Version returns sysbench's version, "" when the text does not begin with it.
func Version(text string) string {
	if m := version.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// decimal and whole read what a pattern has matched; it cannot be anything else.
func decimal(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }

func whole(s string) int64 { v, _ := strconv.ParseInt(s, 10, 64); return v }
