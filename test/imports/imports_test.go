// Package imports tests what depguard cannot: that the benchmarks can be taken away, and how many packages know each
// other in the agent.
package imports

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/galera-operator/galera-operator/"

// benchmarks are the folders of the benchmarks.
var benchmarks = []string{"internal/bench", "cmd/benchmarks", "cmd/bench-runner", "cmd/kubectl-galera-bench"}

// libraries are what they may import of this module, and so may everyone.
var libraries = []string{"api/v1alpha1", "controllers/retry", "internal/conditions", "internal/logs",
	"internal/ownership", "internal/program", "internal/undecodable", "internal/usage", "internal/version"}

type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

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

func all(t *testing.T) (out []listed) {
	t.Helper()
	const fields = "-json=ImportPath,Imports,TestImports,XTestImports"
	text := list(t, ".", fields, "./api/...", "./cmd/...", "./controllers/...", "./internal/...") +
		list(t, ofItsOwn, fields, "./...")
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
}

func in(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}

// TestBenchmarksAreApart: no package outside of test imports the benchmarks, and they import the API and libraries
// only.
func TestBenchmarksAreApart(t *testing.T) {
	packages := 0
	for _, p := range all(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		ofBenchmarks := in(path, benchmarks)
		if ofBenchmarks {
			packages++
		}
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			imported, ours := strings.CutPrefix(i, module)
			switch {
			case !ours:
			case ofBenchmarks && !in(imported, benchmarks) && !in(imported, libraries):
				t.Errorf("%s imports %s: use the API, or a copy", path, imported)
			case !ofBenchmarks && in(imported, benchmarks):
				t.Errorf("%s imports %s of the benchmarks", path, imported)
			}
		}
	}
	if packages < len(benchmarks) {
		t.Fatalf("%d packages of benchmarks", packages)
	}
}

// TestTheCoreBuildsWithoutBenchmarks: with their folders removed, the programs of the core compile. What tests import
// is in TestBenchmarksAreApart, and hack/without-benchmarks.sh runs them.
func TestTheCoreBuildsWithoutBenchmarks(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	removed := map[string]string{}
	for _, folder := range benchmarks {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") {
				removed[path] = ""
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
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
	packages, arrows := 0, 0
	for _, p := range all(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if !in(path, []string{agent}) || path == agent+"/agenttest" {
			continue
		}
		if path != agent { // the composition of the others
			packages++
		}
		for _, i := range p.Imports {
			if imported, ours := strings.CutPrefix(i, module); ours && in(imported, []string{agent}) {
				arrows++
			}
		}
	}
	if packages < 5 || packages > maxPackages {
		t.Errorf("%d packages: join what has one subject (limit: %d)", packages, maxPackages)
	}
	if arrows < packages || arrows > maxArrows {
		t.Errorf("%d imports between %d packages (limit: %d)", arrows, packages, maxArrows)
	}
	t.Logf("%d packages, %d imports between them", packages, arrows)
}
