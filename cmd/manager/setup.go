package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
	"github.com/galera-operator/galera-operator/controllers/deployed"
	"github.com/galera-operator/galera-operator/controllers/galerabackup"
	"github.com/galera-operator/galera-operator/controllers/galerabackupschedule"
	"github.com/galera-operator/galera-operator/controllers/galerabackupstore"
	"github.com/galera-operator/galera-operator/controllers/galeracluster"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/archiving"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/serving"
	"github.com/galera-operator/galera-operator/controllers/galeradatabase"
	"github.com/galera-operator/galera-operator/controllers/galeraproxy"
	"github.com/galera-operator/galera-operator/controllers/galerarestore"
	"github.com/galera-operator/galera-operator/controllers/galerauser"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apiclock"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/conditions"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/program"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/version"
)

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, certmanagerv1.AddToScheme,
		v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // a programming error: two types of one name
		}
	}
	return s
}

// setUp wires the parts together.
func setUp(mgr ctrl.Manager, opts *options) error {
	cert, err := certwatcher.New(filepath.Join(opts.controlCertDir, "tls.crt"),
		filepath.Join(opts.controlCertDir, "tls.key"))
	if err != nil {
		return err
	}
	if err := mgr.Add(cert); err != nil {
		return err
	}
	seen, asker := galeracluster.NewMetrics(), observe.NewAgentClient(cert.GetCertificate)
	if err := register(seen, asker.Requests, galeracluster.BuildInfo()); err != nil {
		return err
	}
	agents := &observe.Agents{Client: asker}
	assigned, err := program.AssignedUsers(opts.podUsers, mgr.GetConfig())
	if err != nil {
		return err
	}
	options := resources.Options{
		AssignedUsers: assigned,
		OperatorImage: opts.operatorImage, DefaultImage: opts.defaultImage,
		OperatorNamespace: opts.namespace, ClusterDomain: opts.clusterDomain, LogFormat: opts.logFormat,
		PodLabels: program.List(opts.podLabels), PodAnnotations: program.List(opts.podAnnotations),
	}
	if err := backups(mgr, opts, options, agents, asker); err != nil {
		return err
	}
	if err := users(mgr, agents, asker); err != nil {
		return err
	}
	controlCA := func() ([]byte, error) { return os.ReadFile(filepath.Join(opts.controlCertDir, "ca.crt")) }
	if err := proxies(mgr, options, asker, controlCA); err != nil {
		return err
	}
	replacing, err := replacing(opts)
	if err != nil {
		return err
	}
	return (&galeracluster.Reconciler{
		Replacing: replacing,
		Client:    mgr.GetClient(),
		Readers:   observe.Readers{Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Signing: &observe.SigningCAs{}},
		Agents:    agents,
		Objects:   &apply.Objects{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Actor:     apply.Actor{Client: mgr.GetClient(), Agents: agents},
		Events:    recorder(mgr),
		Options:   options,
		ControlCA: controlCA,
		Metrics:   seen,
		Now:       time.Now,
	}).SetupWithManager(mgr)
}

func register(collectors ...prometheus.Collector) error {
	var errs []error
	for _, c := range collectors {
		errs = append(errs, metrics.Registry.Register(c))
	}
	return errors.Join(errs...)
}

// replacing knows the agent's program, nil where agents are not to be replaced in place.
func replacing(opts *options) (*galeracluster.Replacing, error) {
	if opts.agentProgram == "" {
		return nil, nil
	}
	program, err := agentapi.ReadProgram(opts.agentProgram, version.Version, goruntime.GOARCH)
	if err != nil {
		return nil, fmt.Errorf("--agent: %w", err)
	}
	return &galeracluster.Replacing{Program: program, Clusters: opts.agentClusters}, nil
}

// backups adds the controllers of backups, their stores and schedules, and of restores.
func backups(mgr ctrl.Manager, opts *options, rendering resources.Options, agents *observe.Agents,
	asker *observe.AgentClient) error {
	c, live, jobs := mgr.GetClient(), mgr.GetAPIReader(),
		job.Options{Image: opts.operatorImage, AssignedUsers: rendering.AssignedUsers, LogFormat: rendering.LogFormat,
			ServiceAccounts: program.List(opts.accounts)}
	sources := clone.Sources{Reader: c, Namespaces: opts.namespaces()}
	return errors.Join(
		register(galerabackup.Metrics{Reader: c, Leads: mgr.Elected()}),
		register(galerabackupschedule.Metrics{Reader: c, Leads: mgr.Elected()}),
		(&galerabackupstore.Reconciler{Client: c, Live: live, Jobs: jobs, Now: time.Now}).SetupWithManager(mgr),
		(&galerabackup.Reconciler{Client: c, Live: live, Jobs: jobs, Options: rendering, Agents: agents, Sources: sources,
			Calls:  &calls.Calls[observe.Target, agentapi.BackupAdmission, struct{}]{Do: calls.One(asker.AdmitBackup)},
			Events: recorder(mgr), Now: time.Now, Today: opts.clock.Earlier}).SetupWithManager(mgr),
		(&galerabackupschedule.Reconciler{Client: c, Events: recorder(mgr), Now: time.Now, Today: opts.clock.Earlier}).
			SetupWithManager(mgr),
		metrics.Registry.Register(archiving.Metrics{Reader: c, Leads: mgr.Elected()}),
		(&archiving.Reconciler{Client: c, Live: live, Objects: &apply.Objects{Client: c, Live: live}, Jobs: jobs,
			Options: rendering, Now: time.Now, Today: opts.clock.Earlier, Late: opts.clock.Later, Agents: agents,
			Events: recorder(mgr),
			Aligning: &calls.Calls[observe.Target, agentapi.Alignment, agentapi.AlignmentResult]{
				Do: calls.One(asker.AlignNumbers)},
			Calls: &calls.Calls[string, deployed.Question, task.Archived]{Do: calls.One(func(ctx context.Context, address string,
				q deployed.Question) (task.Archived, error) {
				return deployed.Get[task.Archived](ctx, address, task.ArchiverPort, task.PathArchived, []byte(q.Pair),
					q.Header(dated(opts.clock)))
			})}}).SetupWithManager(mgr),
		(&serving.Reconciler{Client: c, Live: live, Objects: &apply.Objects{Client: c, Live: live}, Jobs: jobs,
			Now: time.Now,
			Calls: &calls.Calls[string, deployed.Question, task.Served]{Do: calls.One(func(ctx context.Context, address string,
				q deployed.Question) (task.Served, error) {
				return deployed.Get[task.Served](ctx, address, task.ServedPort, task.PathServed, []byte(q.Pair), q.Header(nil))
			})}}).SetupWithManager(mgr),
		(&restoring.Reconciler{Client: c, Live: live, Sources: sources, Jobs: jobs, Options: rendering, Now: time.Now,
			Late:  opts.clock.Later,
			Calls: copies()}).SetupWithManager(mgr),
		(&galerarestore.Reconciler{Client: c, Live: live, Jobs: jobs, Options: rendering, Events: recorder(mgr),
			Agents: agents, Calls: copies(), Now: time.Now}).SetupWithManager(mgr),
	)
}

// copies ask Jobs that copy another server how far they are.
func copies() *restoring.Progress {
	return &restoring.Progress{Do: calls.One(func(ctx context.Context, address, leaf string) (task.Copied, error) {
		return deployed.Get[task.Copied](ctx, address, task.CopiedPort, task.PathCopied, []byte(leaf), nil)
	})}
}

// proxies adds the controller of proxies.
func proxies(mgr ctrl.Manager, rendering resources.Options, asker *observe.AgentClient,
	controlCA func() ([]byte, error)) error {
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	return (&galeraproxy.Reconciler{Client: c, Live: live, Objects: &apply.Objects{Client: c, Live: live},
		Options: rendering, ControlCA: controlCA, Forget: asker.Forget, Now: time.Now,
		Calls: &calls.Calls[observe.Target, *agentapi.ProxyState, agentapi.ProxyReport]{Do: calls.One(asker.SetProxy)},
	}).SetupWithManager(mgr)
}

// users adds the controllers of users and databases.
func users(mgr ctrl.Manager, agents *observe.Agents, asker *observe.AgentClient) error {
	c, record := mgr.GetClient(), recorder(mgr)
	to := clusterref.ClusterResolver{Reader: c, Live: mgr.GetAPIReader(), Agents: agents,
		Labels: &clusterref.Labels{Now: time.Now}}
	return errors.Join(
		(&galeradatabase.Reconciler{Client: c, ClusterResolver: to,
			Calls:  &calls.Calls[observe.Target, agentapi.SQLDatabase, agentapi.SQLResult]{Do: calls.One(asker.KeepDatabase)},
			Events: record}).SetupWithManager(mgr),
		(&galerauser.Reconciler{Client: c, ClusterResolver: to, Now: time.Now,
			Calls: &calls.Calls[observe.Target, agentapi.SQLUser, agentapi.SQLResult]{Do: asker.KeepUsers,
				BatchSize: agentapi.MaxUsers, Weight: agentapi.SQLUser.Weight}, Events: record}).SetupWithManager(mgr),
	)
}

// dated is the header of a question with the time by the API server's clock, nil where that is not known yet.
func dated(c *apiclock.Clock) http.Header {
	now, ok := c.Now()
	if !ok {
		return nil
	}
	return http.Header{"Date": {now.UTC().Format(http.TimeFormat)}}
}

// recorder makes events of whole sentences.
func recorder(mgr ctrl.Manager) events.EventRecorder {
	return conditions.Events{EventRecorder: mgr.GetEventRecorder("galera-operator")}
}
