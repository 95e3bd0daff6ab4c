package docs

import (
	"path/filepath"
	"strings"
	"testing"
)

// indexes are the pages that lead to the pages of a folder.
var indexes = map[string]string{
	"docs":             "docs/README.md",
	"docs/decisions":   "docs/decisions/README.md",
	"docs/design":      "docs/design/README.md",
	"docs/experiments": "docs/experiments.md",
	"docs/runbooks":    "docs/monitoring.md",
}

// TestEveryPageIsFound: a page that no index has is not read.
func TestEveryPageIsFound(t *testing.T) {
	all := pages(t)
	for page := range all {
		dir := filepath.Dir(page)
		if index, ok := indexes[dir]; ok {
			leads(t, index, all[index], page)
		} else if strings.HasPrefix(page, "docs/") {
			t.Errorf("%s is in a folder without an index", page)
		}
	}
	for dir, index := range indexes {
		if dir != "docs" && filepath.Dir(index) != "docs" {
			leads(t, indexes["docs"], all[indexes["docs"]], index)
		}
	}
}

// leads checks that an index has exactly one link to a page; others may link as often as they like.
func leads(t *testing.T, index, text, page string) {
	t.Helper()
	if index == page {
		return
	}
	rel, err := filepath.Rel(filepath.Dir(index), page)
	if err != nil {
		t.Fatal(err)
	}
	n := strings.Count(text, "]("+rel+")")
	if filepath.Base(index) != "README.md" {
		n = min(n, 1)
	}
	if page == "docs/tutorial.md" {
		n = min(n, 1) // the first sentence of the index names it, too
	}
	if n != 1 {
		t.Errorf("%s has %d links to %s", index, n, page)
	}
}
