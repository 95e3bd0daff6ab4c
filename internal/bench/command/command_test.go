package command

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommands: each has a help, and wrong calls are refused before anything is asked of a cluster.
func TestCommands(t *testing.T) {
	for args, want := range map[string]string{
		"report": "accepts 1 arg(s)", "recommend a b": "accepts 1 arg(s)", "compare a b": "unknown command",
		"report missing.json": "no such file",
	} {
		var out bytes.Buffer
		root := New(&out)
		root.SetArgs(strings.Fields(args))
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	for _, c := range New(nil).Commands() {
		if c.Short == "" {
			t.Errorf("%s has no help", c.Name())
		}
	}
}

// TestPrintable: what others have written controls no terminal.
func TestPrintable(t *testing.T) {
	if got := Printable("a\x1b[2Jb\u2028c\td\n\u202ee\xff"); got != "a[2Jbc\td\ne" {
		t.Errorf("%q", got)
	}
}
