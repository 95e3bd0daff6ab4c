package model

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shipped are the agents' decisions that the model runs, in addition to its own directory.
var shipped = []string{"../../internal/agent/lifecycle/*.go", "../../internal/agent/orders/content.go",
	"../../internal/agent/orders/judge.go", "../../internal/agent/arbitrator/decide.go"}

// TestShippedDecisionsArePure: time and facts come in. golangci-lint (depguard) forbids packages; it cannot forbid a
// function of one that is needed for its types.
func TestShippedDecisionsArePure(t *testing.T) {
	const ours = "github.com/galera-operator/galera-operator/internal/"
	siblings := []string{ours + "galera", ours + "agentapi", ours + "agent/lifecycle", ours + "agent/orders"}
	types := []string{"Duration", "Time", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}
	for _, pattern := range shipped {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, imported := range f.Imports {
				path, _ := strconv.Unquote(imported.Path.Value)
				if std := !strings.Contains(path, "."); !std && !slices.Contains(siblings, path) {
					t.Errorf("%s imports %s", file, path)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if use, ok := n.(*ast.SelectorExpr); ok {
					if of, ok := use.X.(*ast.Ident); ok && of.Name == "time" && !slices.Contains(types, use.Sel.Name) {
						t.Errorf("%s: time.%s: time comes in as a parameter", set.Position(use.Pos()), use.Sel.Name)
					}
				}
				return true
			})
		}
	}
}
