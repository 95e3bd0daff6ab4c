package measure

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

func TestLoadBetween(t *testing.T) {
	sample := func(cpu, sent float64) result.Sample {
		return result.Sample{result.MetricCPU: cpu, result.MetricSent: sent}
	}
	before := map[string]result.Sample{"a": sample(10, 1e6), "b": sample(20, 2e6)}
	for name, tc := range map[string]struct {
		after map[string]result.Sample
		want  result.LoadPoint
		ok    bool
	}{
		"both": {map[string]result.Sample{"a": sample(11, 5e6), "b": sample(21.5, 4e6)},
			result.LoadPoint{CPU: 1.25, Sent: 3}, true},
		"one did not answer": {map[string]result.Sample{"a": sample(11, 5e6), "b": nil}, result.LoadPoint{}, false},
		"one is a new one": {map[string]result.Sample{"a": sample(11, 5e6), "b": sample(0.5, 3e6)},
			result.LoadPoint{CPU: 1}, false},
		"no node":           {nil, result.LoadPoint{}, false},
		"without a network": {map[string]result.Sample{"a": {result.MetricCPU: 12}}, result.LoadPoint{}, false},
	} {
		got, ok := loadBetween(before, tc.after, 2*time.Second)
		if ok != tc.ok || ok && got != tc.want {
			t.Errorf("%s: got %+v, %v", name, got, ok)
		}
	}
	if p, ok := loadBetween(map[string]result.Sample{"a": {result.MetricCPU: 1}},
		map[string]result.Sample{"a": {result.MetricCPU: 3}}, time.Second); !ok || p.CPU != 2 || p.Sent != 0 {
		t.Errorf("an agent that reports nothing of the network: %+v, %v", p, ok)
	}
}
