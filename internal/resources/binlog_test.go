package resources

import (
	"strconv"
	"testing"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// TestBinlogSettings: what the archive needs wins over the user's settings, and those over what is only a default;
// whatever they are spelt like.
func TestBinlogSettings(t *testing.T) {
	c := shop()
	c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{
		"max_connections": {Text: "7", Number: true}, "sync-binlog": {Text: "0", Number: true},
		"max_binlog_total_size": {Text: "1G"}}
	before := Settings(c)
	if len(before) != 3 {
		t.Errorf("without an archive: %v", before)
	}
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	have := Settings(c)
	for name, want := range map[string]string{"log_bin": "binlog", "wsrep_gtid_mode": "ON", "log_slave_updates": "ON",
		"gtid_domain_id": localDomain, "max_connections": "7", "sync-binlog": "0", "max_binlog_total_size": "1G"} {
		if have[name] != want {
			t.Errorf("%s is %q instead of %q", name, have[name], want)
		}
	}
	for _, name := range []string{"sync_binlog", "loose_max_binlog_total_size", "server_id"} {
		if value, found := have[name]; found {
			t.Errorf("%s is set to %q", name, value)
		}
	}
	file, err := strconv.Atoi(have["max_binlog_size"])
	if err != nil || file < fileLeast || file > maxFile || file%4096 != 0 {
		t.Errorf("max_binlog_size %s", have["max_binlog_size"])
	}
}

// TestOwnDomain: a cluster that has followed a source writes on under the identifiers that it has followed with, to a
// binary log, whether it is archived or not: its GTID domain is that of its nodes together, and of no setting.
func TestOwnDomain(t *testing.T) {
	follower := shop()
	follower.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
	id := follow(follower).ServerID
	want := map[string]string{"server_id": strconv.Itoa(int(id)), "wsrep_gtid_domain_id": strconv.Itoa(int(id)),
		"gtid_domain_id": strconv.Itoa(int(id - 1)), "log_bin": "binlog", "log_slave_updates": "ON", "wsrep_gtid_mode": "ON",
		"sync_binlog": "1"}
	archived := &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	for name, edit := range map[string]func(*v1alpha1.GaleraCluster){
		"it is archived, too":     func(c *v1alpha1.GaleraCluster) { c.Spec.Backup = archived },
		"its source is not named": func(c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom = nil },
		"it is archived without a source": func(c *v1alpha1.GaleraCluster) {
			c.Spec.BootstrapFrom, c.Spec.Backup = nil, archived
		},
	} {
		c := follower.DeepCopy()
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7"}
		c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"Server-Id": {Text: "5"}, "gtid-domain-id": {Text: "6"}}
		edit(c)
		have := Settings(c)
		for key, value := range want {
			if have[key] != value || mycnf.Refused(key, value) != "" {
				t.Errorf("%s: %s is %q instead of %q, %s", name, key, have[key], value, mycnf.Refused(key, value))
			}
		}
	}
	c := follower.DeepCopy()
	if have := Settings(c); have["server_id"] != "" || have["wsrep_gtid_mode"] != "" {
		t.Errorf("a cluster that follows has them twice: %v", have)
	}
}

// TestIdentifiers: the Jobs that fill volumes write with the identifiers that the nodes write with.
func TestIdentifiers(t *testing.T) {
	own := follow(func() *v1alpha1.GaleraCluster {
		c := shop()
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{}
		return c
	}()).ServerID
	for name, tc := range map[string]struct {
		edit           func(*v1alpha1.GaleraCluster)
		server, domain uint32
	}{
		"MariaDB's":       {func(*v1alpha1.GaleraCluster) {}, 0, 0},
		"a cluster's own": {func(c *v1alpha1.GaleraCluster) { c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{} }, own, own},
		"of one that has followed": {func(c *v1alpha1.GaleraCluster) {
			c.Spec.Cutover = &v1alpha1.CutoverSpec{}
			c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"server_id": {Text: "5"}}
		}, own, own},
		"configured": {func(c *v1alpha1.GaleraCluster) {
			c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"Server-ID": {Text: "5", Number: true}, "port": {Text: "7"}}
		}, 5, 0},
		"no number": {func(c *v1alpha1.GaleraCluster) {
			c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"server_id": {Text: "x"}}
		}, 0, 0},
	} {
		c := shop()
		tc.edit(c)
		if server, domain := Identifiers(c); server != tc.server || domain != tc.domain {
			t.Errorf("%s: %d, %d", name, server, domain)
		}
	}
}

// TestArchiverIsAdmitted: clientsFrom need not name the archiver.
func TestArchiverIsAdmitted(t *testing.T) {
	c := shop()
	rules := len(NetworkPolicy(c, testOptions).Spec.Ingress)
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	ingress := NetworkPolicy(c, testOptions).Spec.Ingress
	last := ingress[len(ingress)-1]
	if len(ingress) != rules+1 || last.From[0].PodSelector.MatchLabels[labelComponent] != ComponentArchiver ||
		last.Ports[0].Port.IntVal != PortClients {
		t.Errorf("%+v", ingress)
	}
}
