package accounts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecipes: docs/connecting.md shows the programs that make test-full runs.
func TestRecipes(t *testing.T) {
	const root = "../../"
	doc, err := os.ReadFile(root + "docs/connecting.md")
	if err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(root + "images/drivers/*")
	if err != nil || len(programs) < 6 {
		t.Fatalf("%v: %v", programs, err)
	}
	for _, path := range programs {
		if name := filepath.Base(path); name == "Dockerfile" || name == "again.sh" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(doc), "\n"+string(text)+"```\n") {
			t.Errorf("docs/connecting.md does not show %s as it is", path)
		}
	}
}
