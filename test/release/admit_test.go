// Package release tests what admits a release.
package release

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReleaseAdmit: only a version on main becomes a release.
func TestReleaseAdmit(t *testing.T) {
	script, err := filepath.Abs("../../hack/release-admit.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(name string, args ...string) (string, error) {
		c := exec.Command(name, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
	git := func(args ...string) {
		t.Helper()
		if out, err := run("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"},
			args...)...); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "one")
	for _, tag := range []string{"v1.2.3", "v1.2.3-rc.1", "vnext", "v1.2", "v01.2.3", "v1.2.3-x;id"} {
		git("tag", tag)
	}
	git("commit", "-q", "--allow-empty", "-m", "two")
	git("checkout", "-q", "-b", "elsewhere")
	git("commit", "-q", "--allow-empty", "-m", "unreviewed")
	git("tag", "-a", "-m", "x", "v2.0.0")
	git("branch", "-q", "v3.0.0")
	for tag, want := range map[string]string{
		"v1.2.3": "", "v1.2.3-rc.1": "", "vnext": "is no version", "v1.2": "is no version", "v01.2.3": "is no version",
		"v1.2.3-x;id": "is no version",
		"v2.0.0":      "is not on main", "v3.0.0": "there is no tag", "v4.0.0": "there is no tag",
	} {
		out, err := run(script, tag, "main")
		if (err == nil) != (want == "") || !strings.Contains(out, want) {
			t.Errorf("%s: %v, %q, want %q", tag, err, out, want)
		}
	}
}
