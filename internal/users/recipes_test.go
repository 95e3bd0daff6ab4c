package users

import (
	"os"
	"path/filepath"
	"slices"
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
		if slices.Contains([]string{"Dockerfile", "again.sh", "package.json", "package-lock.json", "requirements.txt"},
			filepath.Base(path)) {
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
