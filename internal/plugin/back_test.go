package plugin

import (
	"errors"
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/external"
)

// TestBack: the old server is let back only where it is known from which transaction on it has to follow.
func TestBack(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(c *v1alpha1.GaleraCluster)
		says string
	}{
		"it was cut over":   {func(*v1alpha1.GaleraCluster) {}, ""},
		"it follows":        {func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover = nil }, "names no server"},
		"it never followed": {func(c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom = nil }, "names no server"},
		"nodes are not open yet": {func(c *v1alpha1.GaleraCluster) {
			c.Status.Replication.Role = v1alpha1.RoleFollower
		}, "not accept"},
		"nothing is known":          {func(c *v1alpha1.GaleraCluster) { c.Status.Replication = nil }, "not accept"},
		"its own part is not known": {func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover.Own = "" }, "spec.cutover.own"},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Name, c.Namespace = "shop", "demo"
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-4711", Own: "7-7-3"}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleIndependent}
		tc.edit(c)
		if why := noBack(c); (why == "") != (tc.says == "") || !strings.Contains(why, tc.says) {
			t.Errorf("%s: %q", name, why)
		}
	}
	c := &v1alpha1.GaleraCluster{}
	c.Name, c.Namespace = "shop", "demo"
	b := external.Back{Host: "shop.example.com", Port: 3306, User: "shop-back", CA: "/etc/mysql/shop-ca.crt",
		GTID: "0-1-4711", Own: "7-7-3"}
	text := backText(c, b)
	for _, says := range []string{"kind: GaleraUser", "require: TLS", "privileges: [REPLICATION SLAVE]",
		"secret shop-back-binding -n demo", "configmap shop-ca -n demo", "gtid_slave_pos = '0-1-4711,7-7-3';",
		"MASTER_SSL_CA = '/etc/mysql/shop-ca.crt'", "in the domain 7, ", "read_only = OFF;",
		"option file needs read_only, gtid_strict_mode and replicate_wild_ignore_table"} {
		if !strings.Contains(text, says) {
			t.Errorf("lacks %q: %s", says, text)
		}
	}
	b.CA = ""
	if text := backText(c, b); !strings.Contains(text, "require: None") || strings.Contains(text, "configmap") {
		t.Error(text)
	}
}

// TestBackNeedsRoot: why the way back is not prepared is no advice about a comparison.
func TestBackNeedsRoot(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Spec.RootAccess = &v1alpha1.RootAccess{Disabled: true}
	_, err := cutovers{&env{}}.ownPosition(t.Context(), c)
	if !errors.Is(err, errNoRoot) || strings.Contains(err.Error(), "compar") {
		t.Error(err)
	}
}
