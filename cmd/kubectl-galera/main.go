// Command kubectl-galera is a plugin of kubectl: put it on the PATH and call it as `kubectl galera`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/galera-operator/galera-operator/internal/version"
)

const usage = `usage:
  kubectl galera bench report NAME [-o table|md|html|json|csv|png] [flags]
  kubectl galera bench compare A B [-o table|md|html] [flags]
  kubectl galera --version

flags:
  -n, --namespace NAMESPACE   default: that of the current context
      --context CONTEXT       default: the current one
      --kubeconfig FILE       default: $KUBECONFIG or ~/.kube/config
  -o, --output FORMAT         table (default), md, html, json, csv or png`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if version.Asked(args) {
		fmt.Println(version.Version)
		return nil
	}
	if len(args) >= 3 && args[0] == "bench" {
		switch args[1] {
		case "report":
			return bench(ctx, args[2:], 1)
		case "compare":
			return bench(ctx, args[2:], 2)
		}
	}
	return fmt.Errorf("no such command\n%s", usage)
}
