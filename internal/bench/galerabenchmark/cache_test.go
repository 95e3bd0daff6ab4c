package galerabenchmark

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// slimmed is a ConfigMap as the operator's cache keeps it. It may be asked to more than once.
func slimmed(t *testing.T, cm *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	var out any = cm.DeepCopy()
	for range 2 {
		var err error
		if out, err = SlimResults(cache.TransformStripManagedFields())(out); err != nil {
			t.Fatal(err)
		}
	}
	return out.(*corev1.ConfigMap)
}

// tenMinutes is the result of a run of that length, as its Job leaves it.
func tenMinutes(t *testing.T, kind string, judged bool) *corev1.ConfigMap {
	t.Helper()
	o := wordy(kind, 1)
	var points []result.Point
	for i := range 600 {
		points = append(points, result.Point{Second: float64(i + 1), TPS: 1234.56, P95: 12.34, Errors: 200})
	}
	switch {
	case o.OLTP != nil:
		o.OLTP.Series, o.OLTP.Histogram = points, make([]result.Bucket, 300)
	case o.Connect != nil:
		o.Connect.Series = points
	case o.Transfer != nil:
		o.Transfer.Series = points
	}
	o.Members["x-0"].Before[result.MetricSynced], o.Members["x-0"].After[result.MetricSynced] = 1, 1
	for i := range 600 { // as many as a server has
		name := fmt.Sprintf("mysql_global_status_some_counter_%d", i)
		for _, w := range o.Members {
			w.Before[name], w.After[name] = float64(i), float64(i)
		}
	}
	cm := &corev1.ConfigMap{Data: map[string]string{result.KeyLog: strings.Repeat("[ 1s ] thds: 8 tps: 1\n", 3000),
		result.KeyProof: strings.Repeat("[]", 2000)}}
	cm.Name, cm.Labels = "x-run-001-1", map[string]string{v1alpha1.LabelBenchmark: "x"}
	put := func(key string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		cm.Data[key] = string(text)
	}
	put(result.KeyRun, result.Run{Index: 1, Attempt: 1, Kind: kind})
	put(result.KeyOutput, o)
	if judged {
		put(result.KeyVerdict, result.Verdict{Valid: true})
		put(result.KeyPods, pods(1)[:1])
	}
	return cm
}

// TestTheCacheIsSmall, and all that the operator makes of a run is the same with what the cache has kept.
func TestTheCacheIsSmall(t *testing.T) {
	for _, kind := range []string{result.KindOLTP, result.KindConnect, result.KindTransfer} {
		for _, judged := range []bool{false, true} {
			whole := tenMinutes(t, kind, judged)
			kept := slimmed(t, whole)
			size := 0
			for text := range maps.Values(kept.Data) {
				size += len(text)
			}
			if limit := 20 << 10; size > limit {
				t.Errorf("%s, judged %t: %d bytes", kind, judged, size)
			}
			a, b := benchmarkFacts{State: experiment.State{Judged: map[string]bool{}}},
				benchmarkFacts{State: experiment.State{Judged: map[string]bool{}}}
			a.addRecord(whole)
			b.addRecord(kept)
			if len(b.Records) == 0 {
				t.Errorf("%s, judged %t: the run is forgotten, and begins again", kind, judged)
				continue
			}
			x, y := a.Records[0], b.Records[0]
			if kind == result.KindTransfer && !judged { // the verdict wants every second, which is read from the API
				if y.Output != nil || x.Run != y.Run {
					t.Errorf("%s: %+v", kind, y)
				}
				continue
			}
			if !reflect.DeepEqual(a.Judged, b.Judged) || !reflect.DeepEqual(x.Pods, y.Pods) || x.Run != y.Run ||
				x.Verdict != y.Verdict ||
				!reflect.DeepEqual(x.Output.Figures(), y.Output.Figures()) || !reflect.DeepEqual(x.Output.Environment,
				y.Output.Environment) || !x.Output.EndedAt.Equal(y.Output.EndedAt) {
				t.Errorf("%s, judged %t: something is missing", kind, judged)
			}
			v, w := verdictOf(&v1alpha1.GaleraBenchmark{}, a, x), verdictOf(&v1alpha1.GaleraBenchmark{}, b, y)
			if !judged && (v != w || !strings.Contains(v.Reason, "failed (limit: 5 %)")) {
				t.Errorf("%s: judged as %+v, and not as %+v", kind, w, v)
			}
		}
	}
}

// TestTheCacheKeepsOthersWhole: what is no benchmark's, and what cannot be read.
func TestTheCacheKeepsOthersWhole(t *testing.T) {
	other := tenMinutes(t, result.KindOLTP, true)
	other.Labels, other.Data[result.KeyLog], other.Data[result.KeyOutput] = nil, "a log", `{"oltp": {"series": []}}`
	if got := slimmed(t, other); !reflect.DeepEqual(got, other) {
		t.Errorf("got %v", got)
	}
	large := tenMinutes(t, result.KindOLTP, true)
	large.Data["notes"] = strings.Repeat("a", maxData)
	if got := slimmed(t, large); len(got.Data) > 0 {
		t.Errorf("%d keys of a stranger's data are kept", len(got.Data))
	}
	odd := tenMinutes(t, result.KindOLTP, true)
	odd.Data[result.KeyOutput] = `{"oltp":`
	if got := slimmed(t, odd); got.Data[result.KeyOutput] != `{"oltp":` {
		t.Errorf("got %v", got)
	}
	if got, err := SlimResults(cache.TransformStripManagedFields())(&corev1.Pod{}); err != nil || got == nil {
		t.Errorf("got %v, %v", got, err)
	}
}
