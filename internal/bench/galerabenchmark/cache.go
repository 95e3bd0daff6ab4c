package galerabenchmark

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// SlimResults leaves out of the cache what only reports show of a benchmark's results: a long benchmark leaves more of
// it than the operator has memory. Reports are made from the API. What the cache returns is not whole, so that such a
// ConfigMap must never be written back: it is created, and its keys are patched. next is done as well.
func SlimResults(next toolscache.TransformFunc) toolscache.TransformFunc {
	return func(o any) (any, error) {
		if cm, is := o.(*corev1.ConfigMap); is && cm.Labels[v1alpha1.LabelBenchmark] != "" {
			delete(cm.Data, result.KeyLog)
			delete(cm.Data, result.KeyProof)
			slimOutput(cm.Data)
			bound(cm)
		}
		return next(o)
	}
}

// maxData is more than any run leaves in the cache. Anyone who may create a ConfigMap with a benchmark's label could
// otherwise fill the memory of this program.
const maxData = 64 << 10

func bound(cm *corev1.ConfigMap) {
	size := 0
	for key, value := range cm.Data {
		size += len(key) + len(value)
	}
	if size > maxData {
		cm.Data = nil
	}
	cm.BinaryData = nil
}

// maxOutput is the longest result that is kept before there is a verdict. A longer one is read from the API
// (lateResult): with it, the ConfigMap would lose all of its data (bound), and the run would begin again and again.
const maxOutput = 32 << 10

// slimOutput keeps of a run's result what the verdict and the figures are made of. What cannot be read stays as it is.
func slimOutput(data map[string]string) {
	var o result.Output
	if json.Unmarshal([]byte(data[result.KeyOutput]), &o) != nil {
		return
	}
	o.Slim(data[result.KeyVerdict] != "")
	text, err := json.Marshal(o)
	switch {
	case err != nil:
	case len(text) > maxOutput && data[result.KeyVerdict] == "":
		delete(data, result.KeyOutput)
	default:
		data[result.KeyOutput] = string(text)
	}
}
