package observe

import (
	"fmt"
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func TestTrust(t *testing.T) {
	const uuid = "6b4c1a52-0000-11f0-a000-000000000001"
	for value, want := range map[string]string{
		"":                            "",
		"shop-1":                      "",
		"shop-1=" + uuid:              "",
		"shop-1=" + uuid + ":-1@5":    "",
		"shop-1=" + uuid + ":12":      "", // of which operation?
		"shop-1=" + uuid + ":12@x":    "",
		"shop-1=" + uuid + ":12@5":    "shop-1 " + uuid + ":12@5",
		" shop-1 = " + uuid + ":12@5": "shop-1 " + uuid + ":12@5",
		"shop-1=" + uuid + ":12@5,without=shop-0,shop-2":  "shop-1 " + uuid + ":12@5 without shop-0 shop-2",
		"shop-1=00000000-0000-0000-0000-000000000000:3@5": "",
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Annotations = map[string]string{v1alpha1.AnnotationTrustMember: value}
		got := ""
		if tr := trust(c); tr != nil {
			got = fmt.Sprintf("%s %s@%d", tr.Member, tr.Position, tr.Epoch)
			if without := strings.Join(tr.Without, " "); without != "" {
				got += " without " + without
			}
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", value, got, want)
		}
	}
}
