package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reasonConstant is the declaration of a reason of a condition.
var reasonConstant = regexp.MustCompile(`(?m)^\s*(?:const )?Reason(\w+)\s*= "(\w+)"`)

// TestReasonsHaveOneName: a reason is called the same in the API, in the planner and in the programs of backups, so that
// a search for what a user sees finds all places: its constant is "Reason" and its value.
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
