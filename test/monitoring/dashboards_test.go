package monitoring

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/galera-operator/galera-operator/test/monitoring/queries"
)

var folder = filepath.Join(root, "config", "grafana")

// TestDashboardsFollowTheSchema: Grafana's own types know every field, of panels and their options too, and find
// nothing wrong.
func TestDashboardsFollowTheSchema(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	uids := map[string]string{}
	for _, file := range dashboards(t) {
		var d dashboard.Dashboard //nolint:staticcheck // Grafana imports this form, not that of its new API
		problems := []error{d.UnmarshalJSONStrict(read(t, file)), d.Validate()}
		var text struct{ Panels []json.RawMessage }
		must(t, json.Unmarshal(read(t, file), &text))
		for _, raw := range text.Panels {
			problems = append(problems, panel(raw)...)
		}
		for _, err := range problems {
			if err != nil && err.Error() != "" { // an empty list of errors is none
				t.Errorf("%s: %v", file, err)
			}
		}
		if d.Uid == nil || d.Title == nil || uids[*d.Uid] != "" {
			t.Fatalf("%s needs a title, and a uid of its own", file)
		}
		uids[*d.Uid] = file
	}
}

// panel checks what the dashboard's own check leaves out: values of the options of the panel's type, and how fields are
// shown.
func panel(raw []byte) []error {
	var p dashboard.Panel
	if err := json.Unmarshal(raw, &p); err != nil || p.Type == "row" {
		return []error{err}
	}
	o, ok := p.Options.(interface{ Validate() error })
	if !ok {
		return []error{fmt.Errorf("%q: options of the type %s are not known", *p.Title, p.Type)}
	}
	var fields struct{ FieldConfig json.RawMessage }
	if err := json.Unmarshal(raw, &fields); err != nil {
		return []error{err}
	}
	return []error{o.Validate(), new(dashboard.FieldConfigSource).UnmarshalJSONStrict(fields.FieldConfig)}
}

func dashboards(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%v: %v", files, err)
	}
	return files
}

// TestPanelsDoNotOverlap: Grafana would move them about.
func TestPanelsDoNotOverlap(t *testing.T) {
	for _, file := range dashboards(t) {
		var d struct {
			Panels []struct {
				ID      int
				Title   string
				GridPos struct{ X, Y, W, H int }
			}
		}
		must(t, json.Unmarshal(read(t, file), &d))
		taken, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range d.Panels {
			if g := p.GridPos; g.X+g.W > 24 || ids[p.ID] {
				t.Errorf("%s: %q is too wide, or has another's id", file, p.Title)
			}
			ids[p.ID] = true
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					if other := taken[at]; other != "" {
						t.Fatalf("%s: %q lies over %q", file, p.Title, other)
					}
					taken[at] = p.Title
				}
			}
		}
	}
}

// TestQueriesParse, of panels and of variables.
func TestQueriesParse(t *testing.T) {
	var all []map[string]string
	for _, file := range dashboards(t) {
		found, err := queries.Of(read(t, file))
		must(t, err)
		if len(found) < 10 {
			t.Errorf("%s has %d queries only", file, len(found))
		}
		for _, q := range found {
			text := q.With(map[string]string{"namespace": "demo", "cluster": "shop", "__rate_interval": "2m", "__range": "1h"})
			if strings.Contains(text, "$") {
				t.Errorf("%s: %q has a variable that is not known: %s", file, q.Panel, text)
			}
			all = append(all, map[string]string{"record": fmt.Sprintf("q:%d", len(all)), "expr": text})
		}
	}
	rules := map[string]any{"groups": []any{map[string]any{"name": "queries", "rules": all}}}
	if out, err := promtool(t, map[string]any{"queries.yaml": rules}, "check", "rules", "queries.yaml"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

var rate = regexp.MustCompile(`\b(?:i?rate|increase)\([^\[]*\[([^\]]*)\]`)

// TestDashboardsKnowNoPace: how often targets are asked is Prometheus' to say, and a rate over a time with one answer
// is no rate.
func TestDashboardsKnowNoPace(t *testing.T) {
	seen := 0
	for _, file := range dashboards(t) {
		for _, m := range rate.FindAllStringSubmatch(string(read(t, file)), -1) {
			if seen++; m[1] != "$__rate_interval" {
				t.Errorf("%s: a rate over %s", file, m[1])
			}
		}
	}
	if seen < 15 {
		t.Errorf("%d rates only", seen)
	}
}
