package program

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	apiTimeout       = 5 * time.Second
	apiRetryInterval = time.Second
	// Less than the startup probe in config/manager gives, so that the reason is in the log.
	apiStartTimeout = 4 * time.Minute
)

// waitForAPI returns as soon as the API server answers, an error after apiStartTimeout. A process that ended instead
// would be restarted later and later (up to five minutes): after a power cut the databases would wait for that.
func waitForAPI(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.Timeout = apiTimeout
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, apiRetryInterval, apiStartTimeout, true, func(context.Context) (bool, error) {
		_, err := api.ServerGroups()
		if err != nil && last == nil {
			ctrl.Log.WithName("setup").Info("waiting for the API server", "error", err.Error(), "for", apiStartTimeout.String())
		}
		last = err
		return err == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("the API server does not answer: %w", last)
}
