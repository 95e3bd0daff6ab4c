package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestNavHasEveryPage: mkdocs.yml names each page of docs/ once, and none that does not exist. `make docs` needs
// packages from PyPI; this needs none.
func TestNavHasEveryPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "mkdocs.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Nav yaml.Node `yaml:"nav"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	collect(&config.Nav, named)
	for page := range pages(t) {
		rel, ok := strings.CutPrefix(page, "docs/")
		if !ok {
			continue
		}
		if named[rel] != 1 {
			t.Errorf("the nav of mkdocs.yml has %s %d times", page, named[rel])
		}
		delete(named, rel)
	}
	for page := range named {
		t.Errorf("the nav of mkdocs.yml has docs/%s, which does not exist", page)
	}
}

// collect counts the pages below a node. A key of a mapping is a title.
func collect(n *yaml.Node, named map[string]int) {
	if n.Kind == yaml.ScalarNode && strings.HasSuffix(n.Value, ".md") {
		named[n.Value]++
	}
	for _, c := range n.Content {
		collect(c, named)
	}
}
