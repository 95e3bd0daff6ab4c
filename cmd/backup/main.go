// Command backup is what the Jobs of backups run: it checks a store, takes a backup, restores one, or removes one. The
// init containers of a restore, which have the operator's image, try the private key and install it next to
// mariadb-backup, and hand over the backup's plaintext.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/galera-operator/galera-operator/internal/backup/archiver"
	"github.com/galera-operator/galera-operator/internal/backup/leasing"
	"github.com/galera-operator/galera-operator/internal/backup/runner"
	"github.com/galera-operator/galera-operator/internal/backup/serving"
	"github.com/galera-operator/galera-operator/internal/logs"
	"github.com/galera-operator/galera-operator/internal/platform"
	"github.com/galera-operator/galera-operator/internal/version"
)

const usage = `usage:
  backup run                 carry out BACKUP_TASK
  backup open DIRECTORY      try the private key on the backup that BACKUP_TASK names, and install DIRECTORY
  backup fetch               hand its plaintext over to the container that restores it, until asked to stop
  backup archive             follow the binary log of the cluster that BACKUP_TASK names, until asked to stop
  backup lease               renew the lease of the cluster that BACKUP_TASK names, until asked to stop
  backup renewed             report whether it was renewed since the pod was started
  backup serve               let replicas follow the archive that BACKUP_TASK names, until asked to stop
  backup install DIRECTORY   copy this binary to DIRECTORY/backup
  backup --version           print the version`

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
		return runner.Main(ctx)
	case len(args) == 2 && args[0] == "open":
		if err := install(args[1]); err != nil {
			return err
		}
		return runner.Open(ctx)
	case len(args) == 1 && args[0] == "fetch":
		return runner.Fetch(ctx)
	case len(args) == 1 && args[0] == "archive":
		return archiver.Main(ctx)
	case len(args) == 1 && args[0] == "lease":
		return leasing.Main(ctx)
	case len(args) == 1 && args[0] == "renewed":
		return leasing.Renewed()
	case len(args) == 1 && args[0] == "serve":
		return serving.Main(ctx)
	case len(args) == 2 && args[0] == "install":
		return install(args[1])
	case version.Asked(args):
		fmt.Println(version.Version)
		return nil
	}
	return fmt.Errorf("no such command\n%s", usage)
}

// install puts this program where a container with the cluster's image has it.
func install(dir string) error {
	if err := platform.WritePasswd(dir); err != nil {
		return err
	}
	return platform.InstallAs(dir, "backup")
}
