package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// most is how many files a package may have without a reason in docs/architecture.md.
const most = 15

// TestLargePackagesHaveAReason: the table of docs/architecture.md names all packages of more files, and no other.
func TestLargePackagesHaveAReason(t *testing.T) {
	root := filepath.Join("..", "..")
	count := map[string]int{}
	for _, top := range []string{"api", "cmd", "controllers", "hack", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasPrefix(d.Name(), "zz_generated.") {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(path))
			count[filepath.ToSlash(folder)]++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| package | why it is one |")
	table, _, _ = strings.Cut(strings.TrimSpace(table), "\n\n")
	for folder, files := range count {
		if named := strings.Contains(table, "| `"+folder+"` |"); named != (files > most) {
			t.Errorf("%s has %d files; named in docs/architecture.md: %t (limit: %d)", folder, files, named, most)
		}
	}
	for _, row := range strings.Split(table, "\n")[1:] {
		if folder := strings.Split(row, "`")[1]; count[folder] == 0 {
			t.Errorf("docs/architecture.md names %s, where no file is", folder)
		}
	}
}
