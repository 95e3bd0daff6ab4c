// The manager is the operator: it watches GaleraCluster resources and runs what they declare.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
	_ "time/tzdata" // for windows of maintenance: the image holds no other files

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/galera-operator/galera-operator/internal/program"
	"github.com/galera-operator/galera-operator/internal/scrape"
	"github.com/galera-operator/galera-operator/internal/undecodable"
	"github.com/galera-operator/galera-operator/internal/version"
)

// The usual times of client-go. A container that is restarted in its pod has the same identity and goes on at once;
// when a pod is lost, another one takes over after leaseDuration and at most 2.2 of retryPeriod.
const (
	leaseName     = "galera-operator"
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

func main() {
	opts := bindFlags(flag.CommandLine)
	program.Main("galera-operator", &opts.logFormat, opts.check, opts.run)
}

func (o *options) run(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.Wrap(o.clock.Wrap)
	mgr, err := newManager(config, o)
	if err != nil {
		return err
	}
	if err := setUp(mgr, o); err != nil {
		return err
	}
	ctrl.Log.WithName("setup").Info("starting", "version", version.Version, "operatorImage", o.operatorImage,
		"defaultImage", o.defaultImage)
	return start(ctx, mgr, o)
}

// start runs the manager, and the server of metrics alongside it: the manager would start it once the caches are filled
// only, and one that stays empty would not be seen.
func start(ctx context.Context, mgr ctrl.Manager, opts *options) error {
	group, ctx := errgroup.WithContext(ctx)
	if opts.metricsAddress != "0" {
		caches := scrape.NewCaches()
		if err := errors.Join(mgr.Add(caches), register(caches)); err != nil {
			return err
		}
		server := &scrape.Server{Address: opts.metricsAddress, Insecure: !opts.metricsSecure, CertDir: opts.metricsCertDir,
			Registry: metrics.Registry, Config: mgr.GetConfig(), Log: ctrl.Log.WithName("metrics")}
		group.Go(func() error { return server.Start(ctx) })
	}
	group.Go(func() error { return mgr.Start(ctx) })
	return group.Wait()
}

func newManager(config *rest.Config, opts *options) (ctrl.Manager, error) {
	lease, renew, retry := leaseDuration, renewDeadline, retryPeriod
	lock, err := newLock(config, opts)
	if err != nil {
		return nil, err
	}
	bad, scheme := &undecodable.Objects{}, scheme()
	cache := cacheOptions(opts)
	if cache.HTTPClient, err = bad.HTTPClient(config, scheme); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                              scheme,
		Cache:                               cache,
		NewClient:                           bad.NewClient,
		Metrics:                             metricsserver.Options{BindAddress: "0"}, // see internal/scrape
		HealthProbeBindAddress:              opts.probeAddress,
		PprofBindAddress:                    opts.pprofAddress,
		LeaderElection:                      opts.leaderElect,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true, // the process ends right after mgr.Start
		LeaseDuration:                       &lease,
		RenewDeadline:                       &renew,
		RetryPeriod:                         &retry,
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	reporter := &undecodable.Reporter{Objects: bad, Live: mgr.GetClient(), Events: recorder(mgr)}
	if err := errors.Join(mgr.Add(reporter), register(bad)); err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("ping", healthz.Ping)
}

// newLock names the holder after the pod alone, without the usual random suffix.
func newLock(config *rest.Config, opts *options) (resourcelock.Interface, error) {
	if !opts.leaderElect {
		return nil, nil
	}
	identity, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, opts.namespace, leaseName,
		resourcelock.ResourceLockConfig{Identity: identity}, config, renewDeadline)
}
