package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/galera-operator/galera-operator/internal/apiclock"
	"github.com/galera-operator/galera-operator/internal/logs"
	"github.com/galera-operator/galera-operator/internal/program"
)

// options are the operator's settings.
type options struct {
	defaultImage    string
	operatorImage   string
	namespace       string
	watchNamespaces string
	clusterDomain   string
	podUsers        string
	podLabels       string
	podAnnotations  string
	accounts        string
	agentProgram    string
	agentClusters   int
	controlCertDir  string
	metricsAddress  string
	metricsSecure   bool
	metricsCertDir  string
	probeAddress    string
	pprofAddress    string
	logFormat       string
	leaderElect     bool
	clock           *apiclock.Clock // the API server's
}

func bindFlags(fs *flag.FlagSet) *options {
	o := &options{clock: &apiclock.Clock{}}
	fs.StringVar(&o.defaultImage, "default-image", "mariadb:11.8", "database image of clusters that name none")
	fs.StringVar(&o.operatorImage, "operator-image", os.Getenv("OPERATOR_IMAGE"),
		"image that contains the agent; default: the environment variable OPERATOR_IMAGE")
	fs.StringVar(&o.agentProgram, "agent", "/agent",
		"the agent's program that replaces those of an earlier operator in place; empty: agents are replaced with their "+
			"pods only")
	fs.IntVar(&o.agentClusters, "agent-upgrade-concurrency", 3,
		"in how many clusters an agent is replaced at the same time, one of each; at least 1")
	fs.StringVar(&o.namespace, "operator-namespace", os.Getenv("POD_NAMESPACE"),
		"namespace of the operator; default: the environment variable POD_NAMESPACE")
	fs.StringVar(&o.watchNamespaces, "watch-namespaces", "", "comma-separated namespaces to watch; empty: all")
	fs.StringVar(&o.clusterDomain, "cluster-domain", "cluster.local", "DNS domain of the Kubernetes cluster")
	fs.StringVar(&o.podUsers, "pod-users", program.UsersAuto,
		"user and group of the pods of clusters and Jobs: fixed, those of the official images; assigned, none is "+
			"named, so that Kubernetes assigns them; auto: assigned on OpenShift, else fixed")
	fs.StringVar(&o.podLabels, "allow-pod-labels", "",
		"comma-separated labels that spec.podTemplate may set, in addition to those that docs/pods.md lists: keys, and "+
			"beginnings of keys that end in / or *")
	fs.StringVar(&o.podAnnotations, "allow-pod-annotations", "", "as --allow-pod-labels, for annotations")
	fs.StringVar(&o.accounts, "allow-service-accounts", "",
		"comma-separated ServiceAccounts that the Jobs of a GaleraBackupStore may run under, in addition to those whose "+
			"names end in -galera")
	fs.StringVar(&o.controlCertDir, "control-cert-dir", "/etc/galera-operator/control",
		"directory with tls.crt, tls.key and ca.crt of the operator's client certificate")
	fs.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443", "address of the metrics; 0: none")
	fs.BoolVar(&o.metricsSecure, "metrics-secure", true,
		"serve metrics over TLS to those whose token may get the URL /metrics (TokenReview and SubjectAccessReview); "+
			"false: in clear, to everyone")
	fs.StringVar(&o.metricsCertDir, "metrics-cert-dir", "",
		"directory with tls.crt and tls.key for the metrics; empty: a self-signed certificate, which clients cannot verify")
	fs.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	fs.StringVar(&o.pprofAddress, "pprof-bind-address", "",
		"address of Go's profiles, under /debug/pprof: who reaches it reads the operator's memory, secrets included, so "+
			"that 127.0.0.1:6060 with kubectl port-forward is best; empty: none")
	fs.StringVar(&o.logFormat, "log-format", string(logs.Text),
		"how the operator, the agents, their databases and the Jobs write their logs: text or json; nothing is restarted "+
			"for it")
	fs.BoolVar(&o.leaderElect, "leader-elect", false, "elect a leader, so that only one of several operators acts")
	return o
}

func (o *options) check() error {
	switch {
	case o.operatorImage == "":
		return errors.New("--operator-image (or OPERATOR_IMAGE) must name the image the agent is taken from")
	case o.namespace == "":
		return errors.New("--operator-namespace (or POD_NAMESPACE) must name the namespace the operator runs in")
	}
	if _, err := logs.Parse(o.logFormat); err != nil {
		return fmt.Errorf("--log-format: %w", err)
	}
	if o.agentClusters < 1 {
		return errors.New("--agent-upgrade-concurrency must be at least 1")
	}
	return program.CheckUsers(o.podUsers)
}

// namespaces to watch, nil for all.
func (o *options) namespaces() []string { return program.List(o.watchNamespaces) }
