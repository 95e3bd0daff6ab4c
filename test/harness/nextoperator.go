package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// BuildOperator compiles the operator in a checkout as another version, and puts its image onto the nodes.
func BuildOperator(ctx context.Context, repository, image, version string) error {
	dir, err := os.MkdirTemp("", "galera-operator-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	flags := "-s -w -X github.com/galera-operator/galera-operator/internal/version.Version=" + version
	for _, program := range []string{"manager", "agent", "backup", "benchmarks", "bench-runner"} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", flags, "-o",
			filepath.Join(dir, "bin", program), ".")
		// In its folder: bench-runner is a module of its own.
		build.Dir, build.Env = filepath.Join(repository, "cmd", program), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("compiling %s: %w: %s", program, err, out)
		}
	}
	dockerfile, err := os.ReadFile(filepath.Join(repository, "Dockerfile"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), dockerfile, 0o600); err != nil {
		return err
	}
	if _, err := run(ctx, "", "docker", "build", "-t", image, dir); err != nil {
		return err
	}
	_, err = run(ctx, "", filepath.Join(repository, "hack", "load.sh"), image)
	return err
}

// Checkout is a commit's files in a folder of their own, until remove is called. The commit is given with its subject.
func Checkout(ctx context.Context, repository, commit string) (dir, name string, remove func(context.Context) error,
	err error) {
	parent, err := os.MkdirTemp("", "galera-operator-")
	if err != nil {
		return "", "", nil, err
	}
	dir = filepath.Join(parent, "checkout")
	if _, err := run(ctx, "", "git", "-C", repository, "worktree", "add", "--detach", dir, commit); err != nil {
		return "", "", nil, errors.Join(err, os.RemoveAll(parent))
	}
	remove = func(ctx context.Context) error {
		_, err := run(ctx, "", "git", "-C", repository, "worktree", "remove", "--force", dir)
		return errors.Join(err, os.RemoveAll(parent))
	}
	out, err := run(ctx, "", "git", "-C", dir, "log", "-1", "--format=%h %s")
	if err != nil {
		return "", "", nil, errors.Join(err, remove(context.WithoutCancel(ctx)))
	}
	return dir, strings.TrimSpace(out), remove, nil
}

// Image returns the image of the operator that is deployed.
func (k Operator) Image(ctx context.Context) (string, error) {
	d, err := k.deployment(ctx)
	if err != nil {
		return "", err
	}
	return d.Spec.Template.Spec.Containers[0].Image, nil
}

// SetImage rolls the operator to an image, waits for it, and returns the image before.
func (k Operator) SetImage(ctx context.Context, image string) (before string, err error) {
	d, err := k.deployment(ctx)
	if err != nil {
		return "", err
	}
	want := d.DeepCopy()
	manager := &want.Spec.Template.Spec.Containers[0]
	before, manager.Image = manager.Image, image
	for i, e := range manager.Env {
		if e.Name == "OPERATOR_IMAGE" {
			manager.Env[i].Value = image
		}
	}
	if err := k.kube.Patch(ctx, want, client.MergeFrom(d)); err != nil {
		return "", err
	}
	return before, k.Wait(ctx, 2*time.Minute)
}

// SetArgument adds an argument to the operator's, waits for it, and returns what takes it away again.
func (k Operator) SetArgument(ctx context.Context, argument string) (undo func(context.Context) error, err error) {
	d, err := k.deployment(ctx)
	if err != nil {
		return nil, err
	}
	before := d.Spec.Template.Spec.Containers[0].Args
	set := func(ctx context.Context, args []string) error {
		d, err := k.deployment(ctx)
		if err != nil {
			return err
		}
		want := d.DeepCopy()
		want.Spec.Template.Spec.Containers[0].Args = args
		if err := k.kube.Patch(ctx, want, client.MergeFrom(d)); err != nil {
			return err
		}
		return k.Wait(ctx, 2*time.Minute)
	}
	undo = func(ctx context.Context) error { return set(ctx, before) }
	return undo, set(ctx, append(append([]string{}, before...), argument))
}
