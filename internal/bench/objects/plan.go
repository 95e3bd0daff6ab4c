package objects

import (
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

// scripts are sysbench's own.
var scripts = map[string]string{
	"WriteOnly": "oltp_write_only", "ReadOnly": "oltp_read_only", "ReadWrite": "oltp_read_write",
	"PointSelect": "oltp_point_select",
}

// Plan returns what a Job is reported.
func Plan(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, a experiment.StartJob, domain string) result.Plan {
	a.Data.Database = Database(b, a.Data.Database)
	p := result.Plan{Kind: a.Wire.Kind, User: Account(b),
		TLS: experiment.ClientsUseTLS(c.Spec.TLS), Data: a.Data, Seed: b.Spec.Seed, RequiredBytes: experiment.Bytes(a.Data)}
	for i := range int(c.Spec.Replicas) {
		p.Members = append(p.Members, result.Member{Name: cluster.PodName(c, i), Host: cluster.PodHost(c, i, domain)})
		p.Hosts = append(p.Hosts, cluster.PodHost(c, i, domain))
	}
	if a.Run.Arm == nil {
		return p
	}
	cell := a.Run.Cell
	p.WithoutAcceleration = a.Run.WithoutAccelerator()
	if a.Wire.Kind == cell.Kind {
		p.Proxy, p.Service = through(b, cell)
	}
	switch a.Wire.Kind {
	case result.KindOLTP:
		p.OLTP = oltp(cell)
		// Every attempt has random numbers of its own: with those of another one, on the same data, an update finds its
		// row as it is to be, and writes nothing.
		p.Seed += int64(a.Run.Index) + attemptSeeds*int64(a.Wire.Attempt)
		if cell.Workload.OLTP.Target == "Primary" {
			p.Hosts = primary(c, domain)
		}
	case result.KindConnect:
		p.Connect = connect(c, cell)
		if cell.Workload.Connect.Target == "Primary" {
			p.Hosts = primary(c, domain)
		}
	case result.KindResultSize:
		p.ResultSize = &result.Sized{Size: cell.Size, Threads: cell.Threads, Seconds: seconds(experiment.Duration(cell))}
		if cell.Workload.ResultSize.Target == "Primary" {
			p.Hosts = primary(c, domain)
		}
	case result.KindOperation:
		p.Operation = operation(c, cell)
	case result.KindTransfer:
		p.Transfer = &result.Transfer{Victim: experiment.Victim(c), BaseSeconds: experiment.BaseSeconds,
			LoadThreads: cell.Threads, PatienceSeconds: longest}
		p.Hosts = without(p, p.Transfer.Victim)
	case result.KindCipher:
		return result.Plan{Kind: p.Kind, Seed: p.Seed, WithoutAcceleration: p.WithoutAcceleration,
			Cipher: &result.Cipher{Name: cell.Cipher, Seconds: seconds(experiment.Duration(cell))}}
	}
	return p
}

// attemptSeeds are more than the runs of a benchmark.
const attemptSeeds = 10000

// through is the proxy of a run: its socket, or its Service.
func through(b *v1alpha1.GaleraBenchmark, cell experiment.Cell) (socket, service string) {
	proxy, ref := experiment.Through(cell.Workload)
	if proxy != nil {
		socket = transport.ProxySocket(transport.ProxyDir)
	}
	if ref != nil {
		service = ref.Name + "." + b.Namespace + ".svc"
	}
	return socket, service
}

func oltp(cell experiment.Cell) *result.OLTP {
	w := cell.Workload.OLTP
	o := &result.OLTP{Script: scripts[w.Profile], Threads: cell.Threads, Events: w.Events, Distribution: w.Distribution,
		WarmupSeconds: seconds(experiment.Warmup(w))}
	if w.Events == 0 {
		o.Seconds = seconds(experiment.Duration(cell))
	}
	return o
}

func connect(c *v1alpha1.GaleraCluster, cell experiment.Cell) *result.Connect {
	w := cell.Workload.Connect
	out := &result.Connect{Threads: cell.Threads, Connections: w.Connections, TLSVersion: cell.TLSVersion,
		Resumption: cell.Resumption, Latency: cell.Latency, KeyExchange: cell.KeyExchange,
		NoQuery: w.Query == v1alpha1.QueryNone}
	out.KeyAlgorithm, out.KeySize = experiment.Key(c.Spec.TLS)
	if w.Connections == 0 {
		out.Seconds = seconds(experiment.Duration(cell))
	}
	return out
}

// patience is what an operation may take, in seconds: cert-manager and kubelet have their time in it.
const patience = 900

// early is by how much sooner than asked for an operation is taken to begin, in seconds: a container's start is
// reported in whole seconds, so that the operator may act before the runner expects it.
const early = 2

func operation(c *v1alpha1.GaleraCluster, cell experiment.Cell) *result.Operation {
	o := &result.Operation{Name: cell.Operation, Primary: cluster.PrimaryHost(c),
		Threads:     cell.Threads,
		BaseSeconds: experiment.OperationBaseSeconds - early, PatienceSeconds: patience}
	switch o.Name {
	case v1alpha1.OperationRenewal, v1alpha1.OperationSwitch:
	case v1alpha1.OperationBackup:
		o.Store = cell.Workload.Operation.StoreRef.Name
	default:
		o.Node = experiment.Victim(c)
	}
	return o
}

func seconds(d time.Duration) int { return int(d.Seconds()) }

// primary is the one node behind NAME-primary, by its own name: a run must not change nodes.
func primary(c *v1alpha1.GaleraCluster, domain string) []string {
	for i := range int(c.Spec.Replicas) {
		if cluster.PodName(c, i) == c.Status.Primary {
			return []string{cluster.PodHost(c, i, domain)}
		}
	}
	return []string{cluster.PodHost(c, 0, domain)}
}

func without(p result.Plan, name string) (hosts []string) {
	for _, m := range p.Members {
		if m.Name != name {
			hosts = append(hosts, m.Host)
		}
	}
	return hosts
}
