package report

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// TestBenchstatReadsTheCSV: the command of docs/benchmarks.md makes of a report what benchstat reads, of the runs that
// count only.
func TestBenchstatReadsTheCSV(t *testing.T) {
	page, err := os.ReadFile("../../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile(`(?s)-o csv \| python3 -c '(.*?)'`).FindSubmatch(page)
	if program == nil {
		t.Fatal("the page has no command")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	b := disturbed()
	b.Records[0].Variant = "threads=8,parallel=2"
	python := exec.CommandContext(t.Context(), "python3", "-c", string(program[1]))
	python.Stdin, python.Stderr = strings.NewReader(written(t, "csv", b)), os.Stderr
	lines, err := python.Output()
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]int{}
	for r := benchfmt.NewReader(bytes.NewReader(lines), "sample"); r.Scan(); {
		line, is := r.Result().(*benchfmt.Result)
		if !is {
			t.Fatalf("%v in\n%s", r.Result(), lines)
		}
		runs[line.Name.String()]++
		if tps, is := line.Value("tps"); !is || tps < 900 || tps > 1100 {
			t.Errorf("tps of %s: %g", line.Name, tps)
		}
	}
	if want := map[string]int{"/write-only/threads=8,parallel=2/plain": 1, "/write-only/-/plain": 2,
		"/write-only/-/encrypted": 3, "/read-only/-/plain": 3, "/read-only/-/encrypted": 3}; !reflect.DeepEqual(runs, want) {
		t.Errorf("got %v, want %v", runs, want)
	}
}
