// Package imports tests what depguard cannot: that the benchmarks can be taken away, and how many packages know each
// other in the agent.
package imports

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/galera-operator/galera-operator/"

// benchmarks are the folders of the benchmarks' programs.
var benchmarks = []string{"internal/bench", "cmd/benchmarks", "cmd/bench-runner", "cmd/kubectl-galera-bench"}

// libraries are what they may import of this module, and so may everyone.
var libraries = []string{"api/v1alpha1", "controllers/retry", "internal/conditions", "internal/logs",
	"internal/ownership", "internal/program", "internal/undecodable", "internal/usage", "internal/version"}

// ofItsOwn is the folder of the benchmarks' other module.
const ofItsOwn = "cmd/bench-runner"

// list is what go list answers in a folder of the repository.
func list(t *testing.T, folder string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	c.Dir, c.Stderr = filepath.Join("../..", folder), os.Stderr
	text, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func in(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}

// removable reports whether a file is removed with the benchmarks: one of their folders, a measuring program, or one of
// their tests among those of the API and of clusters. hack/without-benchmarks.sh and .golangci.yml name the same ones.
func removable(file string) bool {
	tests := func(folder string) bool {
		is, _ := path.Match(folder+"/benchmark_*_test.go", file)
		return is
	}
	return in(file, benchmarks) || in(file, []string{"test/bench"}) || tests("test/api") || tests("test/e2e")
}

// sources calls do with each file of Go, whatever its build tags, and with what it imports of this module.
func sources(t *testing.T, do func(file string, imported []string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	for _, top := range []string{"api", "cmd", "controllers", "hack", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(at string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(at, ".go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), at, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			file, err := filepath.Rel(root, at)
			var imported []string
			for _, i := range parsed.Imports {
				if pkg, ours := strings.CutPrefix(strings.Trim(i.Path.Value, "\"`"), module); ours {
					imported = append(imported, pkg)
				}
			}
			do(filepath.ToSlash(file), imported)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBenchmarksAreApart: no file that stays without the benchmarks imports them, those of other tests included, and
// they import the API and libraries only.
func TestBenchmarksAreApart(t *testing.T) {
	packages, tests, stay := map[string]bool{}, map[string]bool{}, 0
	sources(t, func(file string, imported []string) {
		ofBenchmarks := in(file, benchmarks)
		switch {
		case ofBenchmarks:
			packages[path.Dir(file)] = true
		case removable(file):
			tests[path.Dir(file)] = true
		default:
			stay++
		}
		for _, pkg := range imported {
			switch {
			case ofBenchmarks && !in(pkg, benchmarks) && !in(pkg, libraries):
				t.Errorf("%s imports %s: use the API, or a copy", file, pkg)
			case !removable(file) && in(pkg, benchmarks):
				t.Errorf("%s imports %s of the benchmarks, and stays without them: move what needs it to a file "+
					"benchmark_*_test.go of test/api or test/e2e, or to test/bench", file, pkg)
			}
		}
	})
	if len(packages) < len(benchmarks) || !tests["test/api"] || !tests["test/e2e"] || stay < 500 {
		t.Fatalf("%d packages of benchmarks, tests of them in %v, %d files of others", len(packages), tests, stay)
	}
}

// TestTheCoreBuildsWithoutBenchmarks: with all that is removed with them, the programs of the core compile, and so do
// the tests of the API and of clusters. hack/without-benchmarks.sh runs the core's tests.
func TestTheCoreBuildsWithoutBenchmarks(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	removed := map[string]string{}
	sources(t, func(file string, _ []string) {
		if removable(file) {
			removed[filepath.Join(root, file)] = ""
		}
	})
	text, err := json.Marshal(map[string]any{"Replace": removed})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	do := func(verb string, programs ...string) (string, error) {
		c := exec.CommandContext(t.Context(), "go", append([]string{verb, "-overlay", overlay}, programs...)...)
		c.Dir = root
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := do("build", "./cmd/manager", "./cmd/agent", "./cmd/backup", "./cmd/kubectl-galera"); err != nil {
		t.Errorf("the core: %v: %s", err, out)
	}
	// To list what is exported is to compile without linking.
	if out, err := do("list", "-test", "-export", "./test/api", "./test/e2e"); err != nil {
		t.Errorf("its tests: %v: %s", err, out)
	}
	if out, err := do("list", "./cmd/benchmarks"); err == nil {
		t.Errorf("the benchmarks were not removed: %s", out)
	}
}

// TestTheCoreLinksNoLibraryOfTheBenchmarks: no program of the core has what only they need, and their VPN with its
// network stack is not even among the requirements, by which scanners judge.
func TestTheCoreLinksNoLibraryOfTheBenchmarks(t *testing.T) {
	const vpn, stack = "golang.zx2c4.com/wireguard", "gvisor.dev/gvisor"
	modules := func(folder string) []string { return strings.Fields(list(t, folder, "-m", "-f", "{{.Path}}", "all")) }
	for _, m := range []string{vpn, stack} {
		if slices.Contains(modules("."), m) {
			t.Errorf("the core requires %s: what needs it belongs to %s", m, ofItsOwn)
		}
		if !slices.Contains(modules(ofItsOwn), m) {
			t.Errorf("%s does not require %s: it is not the other module", ofItsOwn, m)
		}
	}
	text := list(t, ".", "-deps", "./cmd/manager", "./cmd/agent", "./cmd/backup", "./cmd/kubectl-galera")
	for path := range strings.FieldsSeq(text) {
		if in(path, []string{"gonum.org/v1", "golang.org/x/perf", "github.com/aclements/go-moremath"}) {
			t.Errorf("the core links %s", path)
		}
	}
	if !strings.Contains(text, module+"internal/plan\n") {
		t.Fatalf("the core is not listed: %s", text)
	}
}

// TestTheAgentIsDividedBySubject: one package for each subject, and few of them know each other.
func TestTheAgentIsDividedBySubject(t *testing.T) {
	const agent, maxPackages, maxArrows = "internal/agent", 16, 95
	packages, arrows := map[string]bool{}, map[[2]string]bool{}
	sources(t, func(file string, imported []string) {
		folder := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") || !in(folder, []string{agent}) || folder == agent+"/agenttest" {
			return
		}
		if folder != agent { // the composition of the others
			packages[folder] = true
		}
		for _, pkg := range imported {
			if in(pkg, []string{agent}) {
				arrows[[2]string{folder, pkg}] = true
			}
		}
	})
	if len(packages) < 5 || len(packages) > maxPackages {
		t.Errorf("%d packages: join what has one subject (limit: %d)", len(packages), maxPackages)
	}
	if len(arrows) < len(packages) || len(arrows) > maxArrows {
		t.Errorf("%d imports between %d packages (limit: %d)", len(arrows), len(packages), maxArrows)
	}
	t.Logf("%d packages, %d imports between them", len(packages), len(arrows))
}
