package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reasonConstant is the declaration of a reason of a condition.
var reasonConstant = regexp.MustCompile(`(?m)^\s*(?:const )?Reason(\w+)\s*= "(\w+)"`)

// TestReasonsHaveOneName: a reason is called the same in the API, in the planner and in the programs of backups, so
// that a search for what a user sees finds all places: its constant is "Reason" and its value.
func TestReasonsHaveOneName(t *testing.T) {
	found := 0
	for _, folder := range []string{"api/v1alpha1", "internal/plan", "internal/backup/task"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range reasonConstant.FindAllStringSubmatch(string(text), -1) {
				// The API of benchmarks has a ReasonClusterBusy of its own.
				if found++; m[1] != m[2] && m[1] != "WaitingCluster" {
					t.Errorf("%s: Reason%s is %q: call it Reason%s", file, m[1], m[2], m[2])
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("%d reasons were found", found)
	}
}

// TestConditionsAreSentences: what users read has a capital and a full stop, because one package sets conditions and
// makes events, and writes them so.
func TestConditionsAreSentences(t *testing.T) {
	own := filepath.Join(root, "internal", "conditions")
	for _, folder := range []string{"cmd", "controllers", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				filepath.Dir(path) == own {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), "SetStatusCondition(") {
				t.Errorf("%s: set conditions by conditions.Set", path)
			}
			recorders := strings.Count(string(text), "GetEventRecorder(")
			if recorders != strings.Count(string(text), "conditions.Events{EventRecorder: mgr.GetEventRecorder(") {
				t.Errorf("%s: make events by conditions.Events", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
