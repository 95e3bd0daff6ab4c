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
func (k *Kube) BuildOperator(ctx context.Context, repository, image, version string) error {
	dir, err := os.MkdirTemp("", "galera-operator-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	flags := "-s -w -X github.com/galera-operator/galera-operator/internal/version.Version=" + version
	for _, program := range []string{"manager", "agent", "backup", "bench-runner"} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", flags, "-o", filepath.Join(dir, "bin", program), "./cmd/"+program)
		build.Dir, build.Env = repository, append(os.Environ(), "CGO_ENABLED=0")
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
func Checkout(ctx context.Context, repository, commit string) (dir, name string, remove func(context.Context) error, err error) {
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

// SetOperatorImage rolls the operator to an image, waits for it, and returns the image before.
func (k *Kube) SetOperatorImage(ctx context.Context, image string) (before string, err error) {
	d, err := k.operatorDeployment(ctx)
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
	if err := k.Patch(ctx, want, client.MergeFrom(d)); err != nil {
		return "", err
	}
	return before, k.WaitOperator(ctx, 2*time.Minute)
}

// ServerRuns tells of each node which run of mariadbd answers: Galera gives every one an ID of its own.
func (c *Cluster) ServerRuns(ctx context.Context) (map[string]string, error) {
	cl, err := c.Client(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := c.PodNames(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, pod := range pods {
		id, err := cl.QueryPod(ctx, pod, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'WSREP_GCOMM_UUID'")
		if err != nil {
			return nil, err
		}
		out[pod] = id
	}
	return out, nil
}
