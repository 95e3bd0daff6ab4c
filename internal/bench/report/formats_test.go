package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// disturbed is sample with an attempt that does not count, for a reason that every format has to quote.
func disturbed() Benchmark {
	b := sample()
	reason := `a <node> left, "for good"`
	b.Records = append(b.Records, result.Record{Run: result.Run{Index: 3, Attempt: 2, Round: 2, Arm: "plain",
		Workload: "write-only", Kind: result.KindOLTP}, Verdict: result.Verdict{Reason: reason}})
	b.Resource.Status.InvalidRuns[0].Attempt, b.Resource.Status.InvalidRuns[0].Reason = 2, reason
	return b
}

func written(t *testing.T, format string, b Benchmark) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, format, b); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return out.String()
}

// explained is the note below the table, and lines what it was measured on.
const (
	explained = "A cost is the geometric mean of the ratios within rounds; it may differ from the ratio of two medians, " +
		"even in its sign. Its interval holds it with 95 % confidence at least (Student's t). What is not significant " +
		"may be chance: Holm's correction for the comparisons of this report (2).\n\n"
	lines = `- runs: 12/12
- measured: 1970-01-01T00:00:00Z to 1970-01-01T00:06:00Z
- order: balanced: plain, encrypted; encrypted, plain
- operator: v1.2.3
- MariaDB: 11.8.6-MariaDB
- Galera: 26.4.25
- OpenSSL: OpenSSL 3.5
- host w1: db-0, client: Some CPU, 2 CPUs (aes), kernel 6.1
- host w2: ssh
- limits: none
- operator image: operator:1 (sha256:1)
- proxy image: proxy:1 (sha256:2)
- run 3, attempt 2 (plain) does not count: a <node> left, "for good"
`
)

// TestTexts: what people read is there to the letter.
func TestTexts(t *testing.T) {
	for format, want := range map[string]string{
		"table": `
sample: encrypted: −5.8 % tps (±0.3) in write-only; 2 of 2 differences are significant
WORKLOAD    ARM        RUNS  COST (95 % INTERVAL)  TPS   SECONDS  AVG MS  P50 MS  P95 MS  P99 MS
write-only  plain      3     baseline              1040  15       7       6       14      22
write-only  encrypted  3     −5.8 % tps (±0.3)     980   15       7       6       15      24
read-only   plain      3     baseline              1040  15       7       6       14      22
read-only   encrypted  3     −5.8 % tps (±0.3)     980   15       7       6       15      24
` + explained + lines,
		"md": `
## sample: encrypted: −5.8 % tps (±0.3) in write-only; 2 of 2 differences are significant

| WORKLOAD | ARM | RUNS | COST (95 % INTERVAL) | TPS | SECONDS | AVG MS | P50 MS | P95 MS | P99 MS |
|---|---|---|---|---|---|---|---|---|---|
| write-only | plain | 3 | baseline | 1040 | 15 | 7 | 6 | 14 | 22 |
| write-only | encrypted | 3 | −5.8 % tps (±0.3) | 980 | 15 | 7 | 6 | 15 | 24 |
| read-only | plain | 3 | baseline | 1040 | 15 | 7 | 6 | 14 | 22 |
| read-only | encrypted | 3 | −5.8 % tps (±0.3) | 980 | 15 | 7 | 6 | 15 | 24 |

` + explained + lines,
	} {
		b := disturbed()
		e := b.Resource.Status.Environment
		b.Resource.Status.Design = &v1alpha1.BenchmarkDesign{Balanced: true,
			Rounds: []string{"plain, encrypted", "encrypted, plain"}}
		e.Operator = "v1.2.3"
		e.OperatorImages, e.ProxyImages = []string{"operator:1 (sha256:1)"}, []string{"proxy:1 (sha256:2)"}
		e.Hosts = []v1alpha1.BenchmarkHost{{Name: "w1", Pods: []string{"db-0", "client"}, Kernel: "6.1", CPU: "Some CPU",
			CPUs: 2, CPUFlags: []string{"aes"}}, {Name: "w2", Pods: []string{"ssh"}}}
		if got := "\n" + written(t, format, b); got != want {
			t.Errorf("%s:\n%s", format, got)
		}
	}
	if err := Write(&bytes.Buffer{}, "xls", sample()); err == nil {
		t.Error("an unknown format")
	}
}

// TestJSON has everything that is known, to be read by programs.
func TestJSON(t *testing.T) {
	b := disturbed()
	var got struct {
		Name   string
		Spec   v1alpha1.GaleraBenchmarkSpec
		Status v1alpha1.GaleraBenchmarkStatus
		Runs   []result.Record
	}
	if err := json.Unmarshal([]byte(written(t, "json", b)), &got); err != nil {
		t.Fatal(err)
	}
	equal := func(what string, got, want any) {
		g, err1 := json.Marshal(got)
		w, err2 := json.Marshal(want)
		if err1 != nil || err2 != nil || !bytes.Equal(g, w) {
			t.Errorf("%s: got %s, want %s", what, g, w)
		}
	}
	if got.Name != "sample" || len(got.Runs) != 13 {
		t.Errorf("%q, %d runs", got.Name, len(got.Runs))
	}
	equal("spec", got.Spec, b.Resource.Spec)
	equal("status", got.Status, b.Resource.Status)
	equal("runs", got.Runs, b.Records) // Write has sorted them
	if r := got.Runs[3]; r.Index != 3 || r.Attempt != 2 || r.Valid || r.Reason != `a <node> left, "for good"` {
		t.Errorf("the attempts are not in order: %+v", r.Run)
	}
}

// TestCSV has a row for every attempt, and a column for every figure there is.
func TestCSV(t *testing.T) {
	b := disturbed()
	for _, r := range b.Records {
		if r.Output != nil && r.Output.OLTP != nil {
			r.Output.OLTP.LatencyAvg = 12.3456789 // intervals are computed from the table again: no digit may be lost
		}
	}
	rows, err := csv.NewReader(strings.NewReader(written(t, "csv", b))).ReadAll() // wants all rows of one length
	if err != nil || len(rows) != 14 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if want := append([]string{"run", "attempt", "round", "arm", "workload", "variant", "valid", "reason"},
		result.FigureNames...); !reflect.DeepEqual(rows[0], want) {
		t.Errorf("heading: %v", rows[0])
	}
	for i, r := range b.Records { // Write has sorted them
		row := rows[i+1]
		want := []string{strconv.Itoa(r.Index), strconv.Itoa(r.Attempt), strconv.Itoa(r.Round), r.Arm, r.Workload, "",
			strconv.FormatBool(r.Valid), r.Reason}
		if !reflect.DeepEqual(row[:8], want) {
			t.Errorf("row %d: %v, want %v", i+1, row[:8], want)
		}
		figures := map[string]float64{}
		if r.Output != nil {
			figures = r.Output.Figures()
		}
		for j, name := range result.FigureNames {
			text := ""
			if v, is := figures[name]; is {
				text = strconv.FormatFloat(v, 'g', -1, 64)
			}
			if row[8+j] != text {
				t.Errorf("row %d: %s: %q, want %q", i+1, name, row[8+j], text)
			}
		}
	}
	if rows[1][8] != "1020" || rows[4][8] != "" || rows[5][8] != "980" {
		t.Errorf("tps: %s, %q, %s", rows[1][8], rows[4][8], rows[5][8])
	}
}
