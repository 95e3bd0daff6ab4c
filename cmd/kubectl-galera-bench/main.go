// Command kubectl-galera-bench is a plugin of kubectl: put it on the PATH and call it as `kubectl galera bench`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/galera-operator/galera-operator/internal/bench/command"
)

func main() {
	log.SetLogger(logr.Discard()) // what matters is printed
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := command.New(os.Stdout).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", command.Printable(err.Error()))
		os.Exit(1)
	}
}
