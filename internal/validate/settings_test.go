package validate

import (
	"testing"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestArchivedSettings: what the archive of the binary log needs is the operator's while there is one.
func TestArchivedSettings(t *testing.T) {
	for key, refused := range map[string]bool{"log_bin": true, "log-bin": true, "skip_log_bin": true, "wsrep_gtid_mode": true, "gtid-domain-id": true, "binlog_do_db": true, "log_replica_updates": true,
		"sync_binlog": false, "max_binlog_size": false, "max_connections": false, "binlog_expire_logs_seconds": false} {
		c := &v1alpha1.GaleraCluster{}
		c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{key: v1alpha1.NumberSetting(1)}
		if p := Settings(c); p != nil {
			t.Errorf("%s without an archive: %s", key, p.Message)
		}
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		if p := Settings(c); (p != nil) != refused {
			t.Errorf("%s with an archive: %+v", key, p)
		}
	}
}
