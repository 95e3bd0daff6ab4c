package steps

import (
	"encoding/json"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/matrix"
)

// Own is a referenced cluster's own policy: what arms can change as it was noted before the first change, and all else as it is.
func Own(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster) v1alpha1.TLSSpec {
	var noted v1alpha1.TLSSpec
	if b.Status.Restore != "" && json.Unmarshal([]byte(b.Status.Restore), &noted) == nil {
		return matrix.WithPart(c.Spec.TLS, noted)
	}
	return c.Spec.TLS
}

// Note writes down, for Own, what of a policy arms can change. The rest may be long, and somebody else's to change meanwhile.
func Note(t v1alpha1.TLSSpec) string {
	text, err := json.Marshal(matrix.WithPart(v1alpha1.TLSSpec{}, t))
	if err != nil {
		return "" // strings and numbers: cannot fail
	}
	return string(text)
}
