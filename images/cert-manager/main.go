// Command cert-manager runs cert-manager's own parts, for clusters without a registry to pull its images
// from. The argument names the part: controller (issues from self-signed and CA issuers, which is all that
// the operator and its tests ask for; no ACME), webhook, or cainjector.
//
// The webhook is one of cert-manager's internal packages, which only modules below its path may import. That
// is how cert-manager's own programs do it, and why this module has the name it has.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

var parts = map[string]func(context.Context) error{
	"controller": runController,
	"webhook":    runWebhook,
	"cainjector": runCAInjector,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctrl.SetLogger(klog.Background())
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 || parts[args[0]] == nil {
		return fmt.Errorf("usage: cert-manager controller|webhook|cainjector, got %q", args)
	}
	return parts[args[0]](ctx)
}
