package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/platform"
	"github.com/galera-operator/galera-operator/test/harness"
)

// ageVersion of the program that a person would call.
const ageVersion = "v1.3.2"

// tools puts age, and a program that stores a stream, into a node's pod, and what they need.
func (b *bench) tools(ctx context.Context, pod string) error {
	dir, err := os.MkdirTemp("", "benchbackup")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	files := map[string]string{"age": filepath.Join(dir, "age"), "hand": filepath.Join(dir, "hand")}
	for _, args := range [][]string{{"build", "-o", files["hand"], "./test/bench/backup/hand"},
		{"install", "filippo.io/age/cmd/age@" + ageVersion}} {
		build := exec.CommandContext(ctx, "go", args...) //nolint:gosec // our own arguments
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+dir)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	for name, content := range map[string]string{"s3.env": b.objects.Environment("/tmp/ca.crt"), "ca.crt": b.objects.CA(),
		"key.txt": b.identity.String() + "\n"} {
		files[name] = filepath.Join(dir, name)
		if err := os.WriteFile(files[name], []byte(content), 0o600); err != nil {
			return err
		}
	}
	for name, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		cmd := b.kubectl(ctx, pod, "cat >/tmp/"+name+"; chmod 700 /tmp/"+name)
		cmd.Stdin = f
		out, err := cmd.CombinedOutput()
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("%s in %s: %w: %s", name, pod, err, out)
		}
	}
	return nil
}

// backupByHand runs the pipe a person would, in the node's pod.
func (b *bench) backupByHand(ctx context.Context, pod string) (time.Duration, error) {
	p := platform.DefaultPlaces()
	return b.timed(ctx, pod, fmt.Sprintf(`t=$(mktemp -d); date +%%s%%N
		mariadb-backup --defaults-file=%s --backup --stream=mbstream --galera-info --parallel=4 --user=mysql --socket=%s --target-dir=$t 2>/dev/null |
		zstd -q | /tmp/age -r %s | /tmp/hand put byhand; date +%%s%%N; rm -rf $t`, p.MyCnf(), p.Socket(),
		b.identity.Recipient()))
}

// restoreByHand gets it again, and prepares it.
func (b *bench) restoreByHand(ctx context.Context, pod string) (time.Duration, error) {
	dir := platform.DefaultPlaces().Volume + "/byhand"
	return b.timed(ctx, pod, fmt.Sprintf(`rm -rf %[1]s; mkdir %[1]s; date +%%s%%N
		/tmp/hand get byhand | /tmp/age -d -i /tmp/key.txt | zstd -dq | mbstream -x -C %[1]s
		mariadb-backup --prepare --target-dir=%[1]s 2>/dev/null; date +%%s%%N; rm -rf %[1]s`, dir))
}

// timed runs a script that prints the time of its beginning and of its end.
func (b *bench) timed(ctx context.Context, pod, script string) (time.Duration, error) {
	out, err := b.kubectl(ctx, pod, "set -e -o pipefail; . /tmp/s3.env; "+script).Output()
	if err != nil {
		return 0, fmt.Errorf("in %s: %w: %s", pod, err, out)
	}
	words := strings.Fields(string(out))
	if len(words) != 2 {
		return 0, fmt.Errorf("in %s: the script printed %s", pod, out)
	}
	begin, errBegin := strconv.ParseInt(words[0], 10, 64)
	end, errEnd := strconv.ParseInt(words[1], 10, 64)
	if errBegin != nil || errEnd != nil {
		return 0, fmt.Errorf("in %s: the script printed %s", pod, out)
	}
	return time.Duration(end - begin), nil
}

func (b *bench) kubectl(ctx context.Context, pod, script string) *exec.Cmd {
	return exec.CommandContext(ctx, "kubectl", "--context", b.options.context, "exec", "-i", "-n", b.namespace, pod, "-c",
		harness.DatabaseContainer, "--", "bash", "-c", script)
}
