// Package program is what the programs that talk to the API server have in common: the operator, and the benchmarks'.
package program

import "strings"

// List splits a comma-separated value, nil for an empty one.
func List(value string) []string {
	var out []string
	for n := range strings.SplitSeq(value, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}
