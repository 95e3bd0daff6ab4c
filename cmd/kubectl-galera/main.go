// Command kubectl-galera is a plugin of kubectl: put it on the PATH and call it as `kubectl galera`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/galera-operator/galera-operator/internal/plugin"
	"github.com/galera-operator/galera-operator/internal/plugin/screen"
)

func main() {
	log.SetLogger(logr.Discard()) // what matters is printed
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := plugin.New(os.Stdout, os.Stderr).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", screen.Lines(err.Error()))
		os.Exit(1)
	}
}
