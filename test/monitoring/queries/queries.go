// Package queries reads what a dashboard of Grafana asks Prometheus.
package queries

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Query is one question of a dashboard.
type Query struct {
	// Panel is the title of the panel, or the name of the variable, that asks it.
	Panel string
	// Expr is PromQL with Grafana's variables.
	Expr string
}

// With returns the query with values in place of $NAME.
func (q Query) With(values map[string]string) string {
	return variable.ReplaceAllStringFunc(q.Expr, func(s string) string {
		if v, ok := values[strings.Trim(s, "${}")]; ok {
			return v
		}
		return s
	})
}

var (
	variable = regexp.MustCompile(`\$(\w+|\{\w+\})`)
	// labels is how a variable asks for the values of a label.
	labels = regexp.MustCompile(`^label_values\((.*), *\w+\)$`)
)

// Of returns all queries of a dashboard, those of its variables too.
func Of(dashboard []byte) ([]Query, error) {
	var d struct {
		Templating struct {
			List []struct {
				Name  string
				Type  string
				Query any
			}
		}
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(dashboard, &d); err != nil {
		return nil, err
	}
	var out []Query
	for _, v := range d.Templating.List {
		if query, ok := v.Query.(map[string]any); ok && v.Type == "query" {
			text, _ := query["query"].(string)
			out = append(out, Query{Panel: "$" + v.Name, Expr: labels.ReplaceAllString(text, "$1")})
		}
	}
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			out = append(out, Query{Panel: p.Title, Expr: t.Expr})
		}
	}
	return out, nil
}
