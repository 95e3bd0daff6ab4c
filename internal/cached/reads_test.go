package cached

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/galera-operator/galera-operator/"

// readers are the packages that read objects from the cache. What renders objects reads its own.
var readers = []string{"controllers/...", "internal/observe", "internal/apply", "internal/status", "internal/validate",
	"internal/users", "internal/backup/outcome"}

// readersOf are the functions of other packages that are given such objects.
var readersOf = map[string][]string{
	"internal/resources": {"LeftBehind", "Owned"},
}

// listed is a package as go list reports it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// reads finds the fields of Kubernetes' types that are read, and where.
func reads(t *testing.T) map[field]string {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}
	for _, path := range readers {
		args = append(args, module+path)
	}
	for path := range readersOf {
		args = append(args, module+path)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, packages := map[string]string{}, []listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			packages = append(packages, p)
		}
	}
	found := map[field]string{}
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range packages {
		readsOf(t, files, imports, p, found)
	}
	return found
}

func readsOf(t *testing.T, files *token.FileSet, imports types.Importer, p listed, found map[field]string) {
	t.Helper()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, files, parsed, info); err != nil {
		t.Fatal(err)
	}
	only := readersOf[strings.TrimPrefix(p.ImportPath, module)]
	for _, f := range parsed {
		for _, d := range f.Decls {
			if fn, is := d.(*ast.FuncDecl); only != nil && (!is || !slices.Contains(only, fn.Name.Name)) {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if s, is := n.(*ast.SelectorExpr); is && info.Selections[s] != nil {
					note(info.Selections[s], files.Position(s.Pos()).String(), found)
				}
				return true
			})
		}
	}
}

// note takes the fields on the path of a selection, embedded ones among them.
func note(s *types.Selection, at string, found map[field]string) {
	in, path := s.Recv(), s.Index()
	if s.Kind() != types.FieldVal {
		path = path[:len(path)-1] // of a method, only the path to it
	}
	for _, i := range path {
		if p, is := in.Underlying().(*types.Pointer); is {
			in = p.Elem()
		}
		of, is := in.Underlying().(*types.Struct)
		if !is {
			return
		}
		if named, is := types.Unalias(in).(*types.Named); is && named.Obj().Pkg() != nil && api(named.Obj().Pkg().Path()) {
			found[field{named.Obj().Pkg().Path() + "." + named.Obj().Name(), of.Field(i).Name()}] = at
		}
		in = of.Field(i).Type()
	}
}
