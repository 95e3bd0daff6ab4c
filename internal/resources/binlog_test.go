package resources

import (
	"strconv"
	"testing"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
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
