package experiment

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// What measuring takes on two cores besides the measured windows: the times of docs/experiments (TestEstimate), and
// some more, because an estimate that is too short is the worse one.
const (
	jobTime     = 7500 * time.Millisecond // a Job's pod, its proof, and its end
	clusterTime = 10 * time.Second
	nodeTime    = 10 * time.Second        // each node of a private cluster
	changeTime  = 5400 * time.Millisecond // another policy
	restartTime = 5 * time.Second         // one node
	joinTime    = 20 * time.Second        // a node that was away, besides what it has to get
	copyTime    = 10 * time.Second        // a full copy, besides its bytes
	writeRate   = 20e6                    // bytes per second of test data
	copyRate    = 50e6                    // bytes per second of a full copy
	// proxiedTime is what a connection takes through a PoolingProxy, which keeps its own to the database open.
	proxiedTime = 500 * time.Microsecond
	plainTime   = 1100 * time.Microsecond // a connection without TLS
	tlsTime     = 1600 * time.Microsecond // what TLS adds
	largeKey    = 2500 * time.Microsecond // what a key of RSA with 3072 bits or more adds
	// roundTrips are those of a connection.
	roundTrips = 5
)

// txTimes are what a transaction of oltp with events takes, with all processors busy, on tables that do not fit into
// memory.
var txTimes = map[string]time.Duration{"WriteOnly": 2200 * time.Microsecond, "ReadOnly": 1800 * time.Microsecond,
	"ReadWrite": 4600 * time.Microsecond, "PointSelect": 250 * time.Microsecond}

// Estimate is how long a benchmark takes by its spec.
func Estimate(s *v1alpha1.GaleraBenchmarkSpec) time.Duration {
	all, restart := time.Duration(0), 3*restartTime
	own := v1alpha1.TLSSpec{}
	if t := s.Cluster.Template; t != nil {
		all += clusterTime + time.Duration(t.Replicas)*nodeTime
		restart = time.Duration(t.Replicas) * restartTime
		own = t.TLS
	}
	for _, d := range dataSets(s) {
		all += jobTime + ofBytes(Bytes(d), writeRate)
	}
	last := Run{}
	for _, r := range Runs(s) {
		switch changed := last.Arm != r.Arm || last.Round != r.Round; {
		case s.Cluster.Template != nil && len(s.Arms) > 1 && changed:
			all += changeTime + restart
		case r.WithoutAccelerator() != (last.Arm != nil && last.WithoutAccelerator()):
			all += restart
		}
		last = r
		all += jobTime + window(r.Cell, own.With(r.Arm.TLS))
	}
	return all.Round(time.Second)
}

func ofBytes(n int64, rate float64) time.Duration {
	return time.Duration(float64(n) / rate * float64(time.Second))
}

// Duration is how long the measured part of a cell runs, unless a number of operations ends it; of a cipher it is the
// time of one size of records.
func Duration(c Cell) time.Duration {
	switch w := c.Workload; c.Kind {
	case result.KindOLTP:
		return orElse(w.OLTP.Duration, time.Minute)
	case result.KindConnect:
		return orElse(w.Connect.Duration, 30*time.Second)
	case result.KindResultSize:
		return orElse(w.ResultSize.Duration, 30*time.Second)
	case result.KindCipher:
		return orElse(w.Cipher.Duration, time.Second)
	}
	return 0
}

// Warmup is how long transactions run before they are measured.
func Warmup(o *v1alpha1.OLTPWorkload) time.Duration { return orElse(o.Warmup, 5*time.Second) }

// window is how long the load of a cell runs under a policy.
func window(c Cell, tls v1alpha1.TLSSpec) time.Duration {
	switch w := c.Workload; c.Kind {
	case result.KindOLTP:
		return Warmup(w.OLTP) + sized(w.OLTP.Events, txTimes[w.OLTP.Profile], Duration(c))
	case result.KindConnect:
		each := connection(c, tls)
		if c.Latency > 0 {
			each = (each + roundTrips*c.Latency) / time.Duration(max(c.Threads, 1))
		}
		return sized(w.Connect.Connections, each, Duration(c))
	case result.KindOperation:
		return operationTime(c.Operation)
	case result.KindTransfer:
		return BaseSeconds*time.Second + copyTime + ofBytes(Bytes(DataSet(c)), copyRate)
	case result.KindCipher:
		return time.Duration(len(result.CipherFigures)) * Duration(c)
	}
	return Duration(c)
}

// connection is how long one takes that is near by. More threads make no more of them: processors are busy with one.
func connection(c Cell, tls v1alpha1.TLSSpec) time.Duration {
	via, each := c.Workload.Connect.Via, plainTime
	if via == v1alpha1.ViaPoolingProxy {
		return proxiedTime
	}
	if ClientsUseTLS(tls) {
		each += tlsTime
		if algorithm, size := Key(tls); algorithm == "RSA" && size > 2048 {
			each += largeKey
		}
	}
	if via == v1alpha1.ViaWireGuard || via == v1alpha1.ViaGaleraProxy {
		each = each * 8 / 5
	}
	return each
}

func operationTime(name string) time.Duration {
	base := OperationBaseSeconds * time.Second
	switch name {
	case v1alpha1.OperationSwitch:
		return base + 100*time.Second
	case v1alpha1.OperationJoinIST, v1alpha1.OperationJoinSST:
		return base + awayTime + joinTime
	}
	return base + 15*time.Second
}

// sized is the time of a number of operations of which each takes some, or the duration where the number is not set.
func sized(n int64, each, duration time.Duration) time.Duration {
	if n == 0 {
		return duration
	}
	return time.Duration(n) * each
}

func orElse(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}
