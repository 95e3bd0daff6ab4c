package observe

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func TestTrust(t *testing.T) {
	const uuid = "6b4c1a52-0000-11f0-a000-000000000001"
	for value, want := range map[string]string{
		"":                          "",
		"shop-1":                    "",
		"shop-1=" + uuid:            "",
		"shop-1=" + uuid + ":-1":    "",
		"shop-1=" + uuid + ":12":    "shop-1 " + uuid + ":12",
		" shop-1 = " + uuid + ":12": "shop-1 " + uuid + ":12",
		"shop-1=00000000-0000-0000-0000-000000000000:3": "",
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Annotations = map[string]string{v1alpha1.AnnotationTrustMember: value}
		got := ""
		if tr := trust(c); tr != nil {
			got = tr.Member + " " + tr.Position.String()
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", value, got, want)
		}
	}
}
