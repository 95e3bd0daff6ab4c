// Command bench-runner is what a benchmark's Jobs run: it makes data, lets a load run, watches the nodes
// meanwhile, and leaves one result. The init container calls it to install it next to the load generator.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/galera-operator/galera-operator/internal/bench/measure"
	"github.com/galera-operator/galera-operator/internal/logs"
	"github.com/galera-operator/galera-operator/internal/version"
)

const usage = `usage:
  bench-runner run                 carry out BENCH_PLAN
  bench-runner install DIRECTORY   copy this binary to DIRECTORY/bench-runner
  bench-runner sidecar SOCKET   PROGRAM [ARGUMENT]...
                                   run PROGRAM, and report on SOCKET what this container has used
  bench-runner wireguard DIRECTORY TARGET
                                   pass connections on to TARGET, through the tunnel whose keys are in DIRECTORY
  bench-runner --version           print the version`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		logs.FromEnv(os.Stderr).Logger().Error(err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "run":
		return measure.Main(ctx, openClient)
	case len(args) == 2 && args[0] == "install":
		return install(args[1])
	case len(args) > 2 && args[0] == "sidecar":
		return measure.RunSidecar(ctx, args[1], args[2:])
	case len(args) == 3 && args[0] == "wireguard":
		return serveWireGuard(ctx, args[1], args[2])
	case version.Asked(args):
		fmt.Println(version.Version)
		return nil
	}
	return fmt.Errorf("no such command\n%s", usage)
}

// install copies this program to dir, in one step for those who read it.
func install(dir string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = self.Close() }()
	next := filepath.Join(dir, ".bench-runner.next")
	out, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755) //nolint:gosec // it is run by others
	if err != nil {
		return err
	}
	_, err = io.Copy(out, self)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(dir, "bench-runner"))
}
