package experiment

import (
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

const (
	// rowBytes is what a row of sysbench's tables takes, with its index entry and the space pages leave.
	rowBytes = 310
	// ownBytes is what a node takes without any data: system tables, redo log, write-set cache.
	ownBytes = 400 << 20
)

// DataSet is the test data a cell works on; its database is "" where there is none. Cells with
// tables of the same size share it.
func DataSet(c Cell) (d result.DataSet) {
	switch w := c.Workload; c.Kind {
	case result.KindOLTP:
		d.Tables, d.Rows = int(w.OLTP.Tables), w.OLTP.TableSize
	case result.KindOperation:
		d.Tables, d.Rows = int(w.Operation.Tables), w.Operation.TableSize
	case result.KindTransfer:
		d.Tables, d.Rows = int(w.StateTransfer.Tables), w.StateTransfer.TableSize
		if n := int(w.StateTransfer.Databases); n > 1 {
			d.Database, d.Databases = fmt.Sprintf("bench_%dof%dx%d", n, d.Tables, d.Rows), n
			return d
		}
	default:
		return d
	}
	d.Database = fmt.Sprintf("bench_%dx%d", d.Tables, d.Rows)
	return d
}

// Writes reports whether every transaction of a workload changes data.
func Writes(s *v1alpha1.GaleraBenchmarkSpec, workload string) bool {
	for _, w := range s.Workloads {
		if w.Name == workload && w.OLTP != nil {
			return w.OLTP.Profile == "WriteOnly" || w.OLTP.Profile == "ReadWrite"
		}
	}
	return false
}

// Bytes is what a data set will take, at least.
func Bytes(d result.DataSet) int64 {
	return int64(max(1, d.Databases)) * int64(d.Tables) * d.Rows * rowBytes
}

// dataSets returns those of a benchmark, each once.
func dataSets(s *v1alpha1.GaleraBenchmarkSpec) (out []result.DataSet) {
	for _, c := range Cells(s) {
		if d := DataSet(c); d.Database != "" &&
			!slices.ContainsFunc(out, func(o result.DataSet) bool { return o.Database == d.Database }) {
			out = append(out, d)
		}
	}
	return out
}

// DiskNeeded is what all data sets of a benchmark, and a node itself, take on a volume.
func DiskNeeded(s *v1alpha1.GaleraBenchmarkSpec) int64 {
	sum := int64(0)
	for _, d := range dataSets(s) {
		sum += Bytes(d)
	}
	if sum == 0 {
		return 0
	}
	return sum + ownBytes
}

// NotEnoughDisk reports whether a data set was refused for lack of space.
func NotEnoughDisk(reason string) bool { return strings.HasPrefix(reason, result.NotEnoughDisk) }

// Through returns what the clients of a workload connect through: a pooling proxy alongside them, or a GaleraProxy.
// Both are nil for neither.
func Through(w *v1alpha1.BenchmarkWorkload) (*v1alpha1.BenchmarkProxy, *v1alpha1.LocalName) {
	switch {
	case w == nil:
	case w.OLTP != nil:
		return w.OLTP.Proxy, w.OLTP.ProxyRef
	case w.Connect != nil:
		return w.Connect.Proxy, w.Connect.ProxyRef
	}
	return nil, nil
}

// UsesGaleraProxy reports whether connections of a cell go through a GaleraProxy.
func UsesGaleraProxy(c Cell) bool {
	_, ref := Through(c.Workload)
	return ref != nil
}

// serves reports whether a cell can be measured against an arm: a GaleraProxy speaks TLS with the nodes in any case.
func serves(s *v1alpha1.GaleraBenchmarkSpec, arm string, c Cell) bool {
	if s.Cluster.Template == nil || !UsesGaleraProxy(c) {
		return true
	}
	return slices.ContainsFunc(s.Arms, func(a v1alpha1.BenchmarkArm) bool {
		return a.Name == arm && ClientsUseTLS(s.Cluster.Template.TLS.With(a.TLS))
	})
}

// Proxies returns which workload has a GaleraProxy and no arm with TLS for it, "" when none has. own is the cluster's
// policy.
func Proxies(s *v1alpha1.GaleraBenchmarkSpec, own v1alpha1.TLSSpec) string {
	for _, w := range s.Workloads {
		if _, ref := Through(&w); ref != nil &&
			!slices.ContainsFunc(s.Arms, func(a v1alpha1.BenchmarkArm) bool { return ClientsUseTLS(own.With(a.TLS)) }) {
			return fmt.Sprintf("the workload %s goes through a GaleraProxy, which speaks TLS only, and no arm has TLS for "+
				"clients; set clients of an arm to Required or Preferred", w.Name)
		}
	}
	return ""
}

// Versions reports which client would be refused by which arm of a cluster with a policy of its own, "" when none
// would.
func Versions(s *v1alpha1.GaleraBenchmarkSpec, own v1alpha1.TLSSpec) string {
	for _, w := range s.Workloads {
		if w.Connect == nil || !slices.Contains(w.Connect.TLSVersions, "1.2") {
			continue
		}
		for _, a := range s.Arms {
			if t := own.With(a.TLS); ClientsUseTLS(t) && Normal(t).MinVersion != "1.2" {
				return fmt.Sprintf(
					"the workload %s has clients of TLS 1.2, and the arm %s accepts 1.3 only; set its tls.minVersion to \"1.2\"",
					w.Name, a.Name)
			}
		}
	}
	return ""
}
