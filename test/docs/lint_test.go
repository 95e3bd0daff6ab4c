package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const module = "github.com/galera-operator/galera-operator"

// TestImportRulesNameExistingPaths: a rule of depguard for a folder that was moved guards nothing, and reports nothing.
func TestImportRulesNameExistingPaths(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct {
						Files []string
						Allow []string
						Deny  []struct{ Pkg string }
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	rules := config.Linters.Settings.Depguard.Rules
	if len(rules) < 10 {
		t.Fatalf("found %d rules of depguard in .golangci.yml", len(rules))
	}
	for name, rule := range rules {
		var paths []string
		for _, pattern := range rule.Files {
			if glob := strings.TrimPrefix(pattern, "!"); !strings.HasPrefix(glob, "$") {
				paths = append(paths, alternatives(glob)...)
			}
		}
		packages := rule.Allow
		for _, deny := range rule.Deny {
			packages = append(packages, deny.Pkg)
		}
		for _, pkg := range packages {
			if path, ours := strings.CutPrefix(strings.TrimSuffix(pkg, "$"), module+"/"); ours {
				paths = append(paths, path)
			}
		}
		for _, path := range paths {
			if found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(path))); err != nil || found == nil {
				t.Errorf("the rule %s names %s, which does not exist", name, path)
			}
		}
	}
}

var (
	braces    = regexp.MustCompile(`^(.*)\{(.*)\}(.*)$`)
	wildcards = regexp.MustCompile(`(/\*{1,2}|/\*\.go)+$`)
)

// alternatives returns the beginnings of a glob, one for each word in its braces.
func alternatives(glob string) (paths []string) {
	glob = strings.TrimPrefix(glob, "**/")
	words := []string{glob}
	if found := braces.FindStringSubmatch(glob); found != nil {
		words = nil
		for word := range strings.SplitSeq(found[2], ",") {
			words = append(words, found[1]+word+found[3])
		}
	}
	for _, word := range words {
		paths = append(paths, wildcards.ReplaceAllString(word, ""))
	}
	return paths
}
