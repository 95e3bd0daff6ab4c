package status

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// constants returns the string constants of a package's files whose names begin with one of prefixes: name to value.
func constants(t *testing.T, pattern string, prefixes ...string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files at %s: %v", pattern, err)
	}
	out := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
				return true
			}
			value, ok := spec.Values[0].(*ast.BasicLit)
			for _, prefix := range prefixes {
				if ok && value.Kind == token.STRING && strings.HasPrefix(spec.Names[0].Name, prefix) {
					out[spec.Names[0].Name], _ = strconv.Unquote(value.Value)
				}
			}
			return true
		})
	}
	return out
}

// TestReasonsAreDocumented: reasons are part of the API. The planner, which imports no Kubernetes, has its own copies;
// all of them are the API's, and all of the API's are in the table that people look them up in.
func TestReasonsAreDocumented(t *testing.T) {
	api := map[string]bool{}
	page, err := os.ReadFile("../../docs/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, reason := range constants(t, "../../api/v1alpha1/*.go", "Reason") {
		api[reason] = true
		if !strings.Contains(string(page), "`"+reason+"`") {
			t.Errorf("docs/conditions.md does not explain what %s (%s) means and what to do", reason, name)
		}
	}
	planned := constants(t, "../plan/*.go", "Reason")
	if len(planned) == 0 || len(api) == 0 {
		t.Fatal("no reasons were found")
	}
	for name, reason := range planned {
		if !api[reason] {
			t.Errorf("plan.%s is %q, which is no reason of the API", name, reason)
		}
	}
}

// TestOrderKindsAreTheAgents: the planner's kinds of orders are those that agents know.
func TestOrderKindsAreTheAgents(t *testing.T) {
	kinds := func(pattern string) map[string]bool {
		out := map[string]bool{}
		for name, value := range constants(t, pattern, "Order") {
			if name != "OrderAccepted" && name != "OrderDone" && name != "OrderRefused" && name != "OrderFailed" {
				out[value] = true
			}
		}
		return out
	}
	planned, known := kinds("../plan/actions.go"), kinds("../agentapi/orders.go")
	if len(planned) != len(known) {
		t.Errorf("the planner has the kinds %v, agents know %v", planned, known)
	}
	for kind := range planned {
		if !known[kind] {
			t.Errorf("agents know no order %q", kind)
		}
	}
}
