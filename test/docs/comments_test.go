package docs

import (
	"cmp"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mixedCase is a name in a comment that can only be an identifier of Go, and not a part of a path or of a longer one.
var mixedCase = regexp.MustCompile("(?:^|[ (])([a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,})(?:[ ,.;:)]|$)")

// hiddenMarker is a marker of controller-gen behind other words of its line, where it marks nothing.
var hiddenMarker = regexp.MustCompile(`^//.*[^/ ] +\+(optional|required|nullable|listType|listMapKey|kubebuilder:)`)

var anyWord = regexp.MustCompile(`\w+`)

// foreignNames are names of other programs.
var foreignNames = map[string]bool{"AlwaysAllow": true, "AsioDynamicStreamEngine": true, "GitHub": true,
	"KubeProxyConfiguration": true, "clientAuth": true, "minSyncPeriod": true, "serverAuth": true}

// TestCommentsNameWhatExists: a comment that names something of the code names it as it is called now.
func TestCommentsNameWhatExists(t *testing.T) {
	known, named := map[string]bool{}, map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist") {
			return cmp.Or(err, fs.SkipDir)
		}
		text, err := readKind(path, d)
		if err != nil || text == nil {
			return err
		}
		if filepath.Ext(path) != ".go" {
			for _, w := range anyWord.FindAllString(string(text), -1) {
				known[w] = true
			}
			return nil
		}
		var s scanner.Scanner
		file := token.NewFileSet().AddFile("", -1, len(text))
		s.Init(file, text, nil, scanner.ScanComments)
		for pos, tok, lit := s.Scan(); tok != token.EOF; pos, tok, lit = s.Scan() {
			switch {
			case tok == token.COMMENT && hiddenMarker.MatchString(lit):
				t.Errorf("%s of %s: a marker has a line of its own", file.Position(pos), path)
			case tok == token.IDENT, tok == token.STRING:
				for _, w := range anyWord.FindAllString(lit, -1) {
					known[w] = true
				}
			case tok == token.COMMENT && !strings.HasPrefix(lit, "// +") && !strings.HasPrefix(lit, "//go:"):
				for _, m := range mixedCase.FindAllStringSubmatch(strings.TrimPrefix(lit, "//"), -1) {
					named[m[1]] = append(named[m[1]], file.Position(pos).String()+" of "+path)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(named) < 1000 {
		t.Errorf("%d names were found", len(named))
	}
	for name, places := range named {
		if !known[name] && !foreignNames[name] {
			t.Errorf("%s is named in line %s, and does not exist", name, strings.Join(places, ", "))
		}
	}
}

// readKind reads what code, manifests and documents are made of, nil for other files and for the history of changes.
func readKind(path string, d fs.DirEntry) ([]byte, error) {
	switch filepath.Ext(path) {
	case ".go", ".yaml", ".sh", ".md":
		if !d.IsDir() && d.Name() != "CHANGELOG.md" {
			return os.ReadFile(path)
		}
	}
	return nil, nil
}

// TestHarnessHasAnIndex: the package document of the harness names every file, so that an author of a spec finds what
// there is.
func TestHarnessHasAnIndex(t *testing.T) {
	folder := filepath.Join(root, "test", "harness")
	index, err := os.ReadFile(filepath.Join(folder, "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	patterns := regexp.MustCompile(`[a-z_]+\*?\.go`).FindAllString(string(index), -1)
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) < 30 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		named := slices.ContainsFunc(patterns, func(p string) bool { is, _ := filepath.Match(p, name); return is })
		if !named && name != "doc.go" && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("test/harness/doc.go does not name %s", name)
		}
	}
}
