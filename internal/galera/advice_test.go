package galera

import "testing"

func TestEmptyVolume(t *testing.T) {
	for namespace, want := range map[string]string{
		"":     "kubectl delete pvc data-a --wait=false && kubectl delete pod a",
		"demo": "kubectl delete pvc data-a -n demo --wait=false && kubectl delete pod a -n demo",
	} {
		if got := EmptyVolume("a", namespace); got != want {
			t.Errorf("%q: %s", namespace, got)
		}
	}
}
