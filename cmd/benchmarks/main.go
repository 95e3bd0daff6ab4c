// Command benchmarks runs GaleraBenchmarks. It is a program of its own, with rights of its own, and asks for everything
// by resources of the Kubernetes API, as any other user of the operator.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/galerabenchmark"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/conditions"
	"github.com/galera-operator/galera-operator/internal/logs"
	"github.com/galera-operator/galera-operator/internal/program"
	"github.com/galera-operator/galera-operator/internal/undecodable"
	"github.com/galera-operator/galera-operator/internal/version"
)

const leaseName = "galera-operator-benchmarks"

// options are the settings.
type options struct {
	image, loadImage, namespace, watchNamespaces, clusterDomain, podUsers, logFormat, probeAddress string
	leaderElect                                                                                    bool
}

func bindFlags(fs *flag.FlagSet) *options {
	o := &options{}
	fs.StringVar(&o.image, "operator-image", os.Getenv("OPERATOR_IMAGE"),
		"image with the program of the benchmarks' Jobs; default: the environment variable OPERATOR_IMAGE")
	fs.StringVar(&o.loadImage, "benchmark-image", os.Getenv("BENCHMARK_IMAGE"),
		"image with sysbench for benchmarks that name none; default: the environment variable BENCHMARK_IMAGE")
	fs.StringVar(&o.namespace, "operator-namespace", os.Getenv("POD_NAMESPACE"),
		"namespace of this program, with the Lease of the leader; default: the environment variable POD_NAMESPACE")
	fs.StringVar(&o.watchNamespaces, "watch-namespaces", "", "comma-separated namespaces to watch; empty: all")
	fs.StringVar(&o.clusterDomain, "cluster-domain", "cluster.local", "DNS domain of the Kubernetes cluster")
	fs.StringVar(&o.podUsers, "pod-users", program.UsersAuto,
		"user and group of the Jobs' pods: fixed, 65532; assigned, none is named, so that Kubernetes assigns them; auto: "+
			"assigned on OpenShift, else fixed")
	fs.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	fs.StringVar(&o.logFormat, "log-format", string(logs.Text),
		"how this program and the Jobs write their logs: text or json")
	fs.BoolVar(&o.leaderElect, "leader-elect", false, "elect a leader, so that only one of several processes acts")
	return o
}

func (o *options) check() error {
	if o.image == "" {
		return errors.New("--operator-image (or OPERATOR_IMAGE) must name the image with the program of the Jobs")
	}
	if o.leaderElect && o.namespace == "" {
		return errors.New("--operator-namespace (or POD_NAMESPACE) must name the namespace of the Lease")
	}
	if _, err := logs.Parse(o.logFormat); err != nil {
		return fmt.Errorf("--log-format: %w", err)
	}
	return program.CheckUsers(o.podUsers)
}

func main() {
	opts := bindFlags(flag.CommandLine)
	program.Main(leaseName, &opts.logFormat, opts.check, opts.run)
}

func (o *options) run(ctx context.Context, config *rest.Config) error {
	mgr, err := newManager(config, o)
	if err != nil {
		return err
	}
	assigned, err := program.AssignedUsers(o.podUsers, config)
	if err != nil {
		return err
	}
	r := &galerabenchmark.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Domain: o.clusterDomain,
		Images: objects.Images{Operator: o.image, Client: o.loadImage, AssignedUsers: assigned, LogFormat: o.logFormat},
		Now:    time.Now}
	if err := r.SetupWithManager(mgr); err != nil {
		return err
	}
	ctrl.Log.WithName("setup").Info("starting", "version", version.Version, "image", o.image)
	return mgr.Start(ctx)
}

func newManager(config *rest.Config, opts *options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	bad, kept := &undecodable.Objects{}, cacheOptions(opts)
	var err error
	if kept.HTTPClient, err = bad.HTTPClient(config, scheme); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Cache: kept, NewClient: bad.NewClient,
		Metrics:                       metricsserver.Options{BindAddress: "0"}, // what is measured is in the resources
		HealthProbeBindAddress:        opts.probeAddress,
		LeaderElection:                opts.leaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       opts.namespace,
		LeaderElectionReleaseOnCancel: true, // the process ends right after mgr.Start
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	reporter := &undecodable.Reporter{Objects: bad, Live: mgr.GetClient(),
		Events: conditions.Events{EventRecorder: mgr.GetEventRecorder(leaseName)}}
	return mgr, errors.Join(mgr.Add(reporter), mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("ping", healthz.Ping))
}

// cacheOptions keep what belongs to benchmarks, the pods of clusters, and without what only reports show.
func cacheOptions(opts *options) cache.Options {
	with := func(label string) labels.Selector {
		has, err := labels.NewRequirement(label, selection.Exists, nil)
		if err != nil {
			panic(err) // a programming error: no label
		}
		return labels.NewSelector().Add(*has)
	}
	strip := cache.TransformStripManagedFields()
	o := cache.Options{DefaultTransform: strip, ByObject: map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Label: with(v1alpha1.LabelBenchmark), Transform: galerabenchmark.SlimResults(strip)},
		&batchv1.Job{}:      {Label: with(v1alpha1.LabelBenchmark)},
		&corev1.Pod{}:       {Label: with(v1alpha1.LabelCluster)},
	}}
	for _, n := range program.List(opts.watchNamespaces) {
		if o.DefaultNamespaces == nil {
			o.DefaultNamespaces = map[string]cache.Config{}
		}
		o.DefaultNamespaces[n] = cache.Config{}
	}
	return o
}
