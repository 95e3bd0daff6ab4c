package steps

import (
	"encoding/json"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Own is a referenced cluster's own policy: the one that was noted before the first change.
func Own(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster) v1alpha1.TLSSpec {
	var own v1alpha1.TLSSpec
	if b.Status.Restore != "" && json.Unmarshal([]byte(b.Status.Restore), &own) == nil {
		return own
	}
	return c.Spec.TLS
}

// Note writes a policy down, for Own.
func Note(t v1alpha1.TLSSpec) string {
	text, err := json.Marshal(t)
	if err != nil {
		return "" // strings and numbers: cannot fail
	}
	return string(text)
}
