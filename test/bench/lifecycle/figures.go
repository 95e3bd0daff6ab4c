package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Figure is one measured number alongside what it is compared with.
type Figure struct {
	// Name describes what was measured.
	Name string `json:"name"`
	// Unit of all numbers of this figure.
	Unit string `json:"unit"`
	// Value is the median of Rounds.
	Value  float64   `json:"value"`
	Rounds []float64 `json:"rounds,omitempty"`
	// BestKnown is the best known operator's figure on this stack, where there is one.
	BestKnown *float64 `json:"bestKnown,omitempty"`
	// Goal is what this project wants to reach.
	Goal *float64 `json:"goal,omitempty"`
	// Note describes what a reader should know.
	Note string `json:"note,omitempty"`
}

// figure makes a Figure of one or more rounds. Zero stands for "nothing to compare with".
func figure(name, unit string, bestKnown, goal float64, note string, rounds ...float64) Figure {
	f := Figure{Name: name, Unit: unit, Value: median(rounds), Rounds: rounds, Note: note}
	if bestKnown != 0 {
		f.BestKnown = &bestKnown
	}
	if goal != 0 {
		f.Goal = &goal
	}
	return f
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func seconds(d time.Duration) float64 { return d.Round(10 * time.Millisecond).Seconds() }

// printJSON writes the figures for programs.
func printJSON(w io.Writer, figures []Figure) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"measuredAt": time.Now().UTC().Format(time.RFC3339), "figures": figures})
}

// printTable writes the figures for people.
func printTable(w io.Writer, figures []Figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "WHAT\tHERE\tBEST KNOWN\tGOAL\tROUNDS\tNOTE")
	for _, f := range figures {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, number(&f.Value, f.Unit), number(f.BestKnown, f.Unit),
			number(f.Goal, f.Unit), rounds(f.Rounds), f.Note)
	}
	return t.Flush()
}

func number(v *float64, unit string) string {
	if v == nil {
		return "-"
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", *v), "0"), ".") + " " + unit
}

func rounds(values []float64) string {
	if len(values) < 2 {
		return ""
	}
	var out []string
	for _, v := range values {
		out = append(out, strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), "."))
	}
	return strings.Join(out, " ")
}
