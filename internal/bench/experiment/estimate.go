package experiment

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// What measuring takes on two cores, roughly, besides the measured windows.
const (
	jobTime     = 8 * time.Second  // a Job's pod, its proof, and its end
	switchedIn  = 25 * time.Second // another policy
	restartTime = 15 * time.Second // one node
	clusterTime = time.Minute      // a private cluster
	joinTime    = 20 * time.Second // a full copy, besides its bytes
	writeRate   = 20e6             // bytes per second of test data, and of a full copy
	txRate      = 400.0            // transactions per second of oltp with events
	connectRate = 300.0            // connections per second
)

// Estimate is how long a benchmark takes by its spec.
func Estimate(s *v1alpha1.GaleraBenchmarkSpec) time.Duration {
	all := time.Duration(0)
	replicas := 3
	if t := s.Cluster.Template; t != nil {
		all += clusterTime
		replicas = int(t.Replicas)
	}
	all += ofBytes(DiskNeeded(s))
	last, round := "", 0
	for _, r := range Runs(s) {
		if r.Arm.Name != last || r.Round != round {
			if all += switchedIn; s.Cluster.Template != nil && len(s.Arms) > 1 {
				all += time.Duration(replicas) * restartTime
			}
			last, round = r.Arm.Name, r.Round
		}
		all += jobTime + window(r.Cell)
	}
	return all.Round(time.Second)
}

func ofBytes(n int64) time.Duration {
	return time.Duration(float64(n) / writeRate * float64(time.Second))
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

// window is how long the load of a cell runs.
func window(c Cell) time.Duration {
	switch w := c.Workload; c.Kind {
	case result.KindOLTP:
		return Warmup(w.OLTP) + sized(w.OLTP.Events, txRate, Duration(c))
	case result.KindConnect:
		rate := connectRate
		if c.Latency > 0 {
			rate = float64(c.Threads) / (5 * c.Latency.Seconds())
		}
		return sized(w.Connect.Connections, rate, Duration(c))
	case result.KindOperation:
		return operationTime(c.Operation)
	case result.KindTransfer:
		return BaseSeconds*time.Second + joinTime + ofBytes(Bytes(DataSet(c)))
	case result.KindCipher:
		return time.Duration(len(result.CipherFigures)) * Duration(c)
	}
	return Duration(c)
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

// sized is the time of a number of operations at a rate, or the duration where the number is not set.
func sized(n int64, rate float64, duration time.Duration) time.Duration {
	if n == 0 {
		return duration
	}
	return time.Duration(float64(n) / rate * float64(time.Second))
}

func orElse(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}
