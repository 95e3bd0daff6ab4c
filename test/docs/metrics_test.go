package docs

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/galera-operator/galera-operator/controllers/galerabackup"
	"github.com/galera-operator/galera-operator/controllers/galerabackupschedule"
	"github.com/galera-operator/galera-operator/controllers/galeracluster"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/archiving"
	"github.com/galera-operator/galera-operator/internal/agent/metrics"
	"github.com/galera-operator/galera-operator/internal/agent/proxy"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/scrape"
	"github.com/galera-operator/galera-operator/internal/undecodable"
)

var update = flag.Bool("update", false, "write the tables of docs/metrics.md")

// TestMetricsPage: the tables have every metric of the code, as the code describes it.
func TestMetricsPage(t *testing.T) {
	const file = "../../docs/metrics.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, table := range map[string]string{"nodes": nodeTable(), "operator": operatorTable(t),
		"proxies": proxyTable()} {
		part := regexp.MustCompile(`(?s)(<!-- ` + name + `:[^\n]*-->\n).*?(<!-- end -->)`)
		if !part.MatchString(want) {
			t.Fatalf("%s has no place for the table of %s", file, name)
		}
		want = part.ReplaceAllStringFunc(want, func(s string) string {
			m := part.FindStringSubmatch(s)
			return m[1] + table + m[2]
		})
	}
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the code says: go test ./test/docs -update", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

func nodeTable() string {
	var ofArbitrators []string
	for _, f := range metrics.ArbitratorFamilies() {
		ofArbitrators = append(ofArbitrators, f.Name)
	}
	var out strings.Builder
	out.WriteString("| metric | type | labels | meaning | arbitrator |\n|---|---|---|---|---|\n")
	var done []string
	for _, f := range append(metrics.NodeFamilies(), metrics.ArbitratorFamilies()...) {
		if slices.Contains(done, f.Name) {
			continue
		}
		done = append(done, f.Name)
		kind, mark := "gauge", ""
		if f.Kind == prometheus.CounterValue {
			kind = "counter"
		}
		if slices.Contains(ofArbitrators, f.Name) {
			mark = "yes"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", f.Name, kind, quoted(f.Labels), f.Help, mark)
	}
	return out.String()
}

func proxyTable() string {
	out := "| metric | type | labels | meaning |\n|---|---|---|---|\n"
	for _, f := range proxy.Families() {
		out += fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.Name, f.Kind(), quoted(f.Labels), f.Help)
	}
	return out
}

var described = regexp.MustCompile(
	`^Desc\{fqName: "([^"]*)", help: "([^"]*)", unit: "[^"]*", constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}\}$`)

func operatorTable(t *testing.T) string {
	var rows []string
	for _, c := range []prometheus.Collector{
		galeracluster.BuildInfo(), galeracluster.NewMetrics(), observe.NewAgentClient(nil).Requests, galerabackup.Metrics{},
		galerabackupschedule.Metrics{}, archiving.Metrics{}, &undecodable.Objects{}, scrape.NewCaches()} {
		ch := make(chan *prometheus.Desc, 100)
		c.Describe(ch)
		close(ch)
		for d := range ch {
			m := described.FindStringSubmatch(d.String())
			if m == nil {
				t.Fatalf("%s cannot be read", d)
			}
			labels := strings.FieldsFunc(m[4], func(r rune) bool { return r == ',' })
			for pair := range strings.SplitSeq(m[3], ",") {
				if name, _, ok := strings.Cut(pair, "="); ok {
					labels = append(labels, name)
				}
			}
			slices.Sort(labels[min(len(labels), 3):])
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", m[1], kindOf(m[1]), quoted(labels), m[2]))
		}
	}
	slices.Sort(rows)
	return "| metric | type | labels | meaning |\n|---|---|---|---|\n" + strings.Join(rows, "")
}

// kindOf reports the type by the name, which the conventions allow; promlint checks it alongside each metric.
func kindOf(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasSuffix(name, "_last_duration_seconds"):
		return "gauge" // of one, not of all
	case strings.HasSuffix(name, "_duration_seconds"), strings.HasSuffix(name, "_outage_seconds"):
		return "histogram"
	}
	return "gauge"
}

func quoted(labels []string) string {
	var out []string
	for _, l := range labels {
		out = append(out, "`"+l+"`")
	}
	return strings.Join(out, ", ")
}
