// Package docs checks that the documents name files, pages and headings that exist.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

var (
	// code is a path of the tree in backticks; patterns and paths inside containers are none.
	code = regexp.MustCompile("`((?:api|charts|cmd|config|controllers|docs|hack|images|internal|test)/[A-Za-z0-9_./-]+)`")
	// span is code: what looks like a link in it is a pattern.
	span = regexp.MustCompile("`[^`\n]+`")
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// heading becomes an anchor as GitHub makes them.
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	dropped = regexp.MustCompile("[^a-z0-9 _-]")
)

func TestPathsExist(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range code.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, strings.TrimSuffix(m[1], "/..."))); err != nil {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
}

func TestLinksLead(t *testing.T) {
	all := pages(t)
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(span.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
			} else if anchor != "" && !anchors(all[target])[anchor] {
				t.Errorf("%s links to %s, a page without that heading", page, m[1])
			}
		}
	}
}

func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		out[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

// pages are all documents by their path in the tree. Folders of tools and caches hold none of ours.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bin" || d.Name() == "dist" || strings.HasPrefix(d.Name(), ".git")) {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		out[rel] = string(text)
		return err
	})
	if err != nil || len(out) < 10 {
		t.Fatalf("%d pages: %v", len(out), err)
	}
	return out
}
