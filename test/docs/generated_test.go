package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestVerifyGeneratesTheSame: hack/verify.sh generates roles from the packages that the Makefile does. With fewer of
// them every comparison fails.
func TestVerifyGeneratesTheSame(t *testing.T) {
	roles := regexp.MustCompile(`rbac:roleName=\S+ paths=\S+`)
	in := func(path ...string) []string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return roles.FindAllString(string(text), -1)
	}
	made, verified := in("Makefile"), in("hack", "verify.sh")
	if len(made) != 2 || !slices.Equal(made, verified) {
		t.Errorf("made: %v, verified: %v", made, verified)
	}
}
