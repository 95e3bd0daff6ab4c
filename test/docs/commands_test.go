package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// deletesClaim is the beginning of a command whose end waits for the pod that uses the claim.
var deletesClaim = regexp.MustCompile(`kubectl delete pvc [^\n]*`)

// TestDeletingAClaimDoesNotWait: a claim goes when its pod does, so a command that deletes it and waits hangs for ever,
// whether a page reports it or a message.
func TestDeletingAClaimDoesNotWait(t *testing.T) {
	all := pages(t)
	for _, dir := range []string{"api", "cmd", "controllers", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			all[path] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	for where, text := range all {
		for _, command := range deletesClaim.FindAllString(text, -1) {
			if found++; !strings.Contains(command, "--wait=false") {
				t.Errorf("%s asks to run %q: add --wait=false", where, command)
			}
		}
		if strings.Contains(text, "delete the claim data-") || strings.Contains(text, "delete its volume claim") {
			t.Errorf("%s says to delete a claim without the command: galera.EmptyVolume has it", where)
		}
	}
	if found == 0 {
		t.Error("no command was found")
	}
}
