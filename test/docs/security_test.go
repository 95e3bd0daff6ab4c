package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName     = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
)

// TestNamedTestsExist: a page that names a test as its evidence names one that exists.
func TestNamedTestsExist(t *testing.T) {
	root := filepath.Join("..", "..")
	named := map[string]string{}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages were found, %v", len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
			named[m[1]] = page
		}
	}
	if len(named) < 50 {
		t.Fatalf("the pages name %d tests", len(named))
	}
	for _, top := range []string{"api", "cmd", "controllers", "hack", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
				delete(named, m[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, page := range named {
		t.Errorf("%s names %s, which does not exist", page, name)
	}
}

// TestSecurityLinesHaveTests: each line of docs/security.md about who holds what, and what a spec can point at, names a
// test of what it refuses, or refuses nothing.
func TestSecurityLinesHaveTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]int{"| who | holds | may |": 0, "| Secret | holds | opens |": 0,
		"| what the spec points at | possible | refused, and where |": 0}
	table, rows := "", 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		_, is := tables[line]
		switch {
		case is:
			table = line
			tables[line]++
		case !strings.HasPrefix(line, "|"):
			table = ""
		case table == "", strings.HasPrefix(line, "|---"), strings.HasSuffix(line, "| – |"),
			strings.HasSuffix(line, "below |"):
		default:
			rows++
			if !testName.MatchString(line) {
				t.Errorf("no test is named: %s", line)
			}
		}
	}
	for name, n := range tables {
		if n == 0 {
			t.Errorf("there is no table %s", name)
		}
	}
	if rows < 40 {
		t.Errorf("%d lines were found", rows)
	}
}
