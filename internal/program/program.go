// Package program is what the programs that talk to the API server have in common: the operator, and the benchmarks'.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/galera-operator/galera-operator/internal/version"
)

// Main is the main function of a program whose flags are bound to flag.CommandLine. The name is its User-Agent. run
// begins once the settings are checked and the API server answers.
func Main(name string, logFormat *string, check func() error, run func(context.Context, *rest.Config) error) {
	if version.Asked(os.Args[1:]) {
		fmt.Println(version.Version)
		return
	}
	setLogger := bindLogFlags(flag.CommandLine)
	flag.Parse()
	setLogger(*logFormat)
	if err := start(name, check, run); err != nil {
		ctrl.Log.WithName("setup").Error(err, "the program stops")
		os.Exit(1)
	}
}

func start(name string, check func() error, run func(context.Context, *rest.Config) error) error {
	if err := errors.Join(check(), limitMemory(os.Getenv)); err != nil {
		return err
	}
	config := ctrl.GetConfigOrDie()
	config.UserAgent = name + "/" + version.Version
	ctx := ctrl.SetupSignalHandler()
	if err := waitForAPI(ctx, config); err != nil {
		return err
	}
	return run(ctx, config)
}

// List splits a comma-separated value, nil for an empty one.
func List(value string) []string {
	var out []string
	for n := range strings.SplitSeq(value, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}
