package validate

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestArchivedSettings: what the archive of the binary log needs is the operator's while there is one.
func TestArchivedSettings(t *testing.T) {
	for key, refused := range map[string]bool{"log_bin": true, "log-bin": true, "skip_log_bin": true,
		"wsrep_gtid_mode": true, "gtid-domain-id": true, "log_replica_updates": true,
		"sync_binlog": false, "max_binlog_size": false, "max_connections": false, "binlog_expire_logs_seconds": false} {
		c := &v1alpha1.GaleraCluster{}
		c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{key: {Text: "1", Number: true}}
		if p := Settings(c, agentapi.NodeConfig{}); p != nil {
			t.Errorf("%s without an archive: %s", key, p.Message)
		}
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		if p := Settings(c, agentapi.NodeConfig{}); (p != nil) != refused {
			t.Errorf("%s with an archive: %+v", key, p)
		}
		if left := len(WithoutForbidden(c).Spec.MariaDB.Config) > 0; left == refused || len(c.Spec.MariaDB.Config) != 1 {
			t.Errorf("%s is left: %v", key, left)
		}
	}
}

// TestSettingsOfADataDirectory: they can be corrected until there is a database, and are refused afterwards.
func TestSettingsOfADataDirectory(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	published := agentapi.NodeConfig{Revision: "r1", Settings: map[string]string{"innodb_page_size": "32k"}}
	c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"innodb_page_size": {Text: "16k"}}
	if p := Settings(c, published); p != nil {
		t.Errorf("before the first start: %+v", p)
	}
	c.Status.ClusterUUID = "u"
	if p := Settings(c, published); p != nil {
		t.Errorf("over claims of an earlier cluster, with which no node has run yet: %+v", p)
	}
	c.Status.LastOperation = &v1alpha1.CompletedOperation{}
	if p := Settings(c, published); p == nil {
		t.Error("not refused after an operation")
	}
	c.Status.LastOperation, c.Status.AppliedGeneration = nil, 1
	if p := Settings(c, published); p == nil || !p.Blocked || !strings.Contains(p.Message,
		`must not change innodb_page_size, which is "32k"`) {
		t.Errorf("after it: %+v", p)
	}
	if p := Settings(c, agentapi.NodeConfig{}); p != nil {
		t.Errorf("nothing is published: %+v", p)
	}
	c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"innodb-page-size": {Text: "32768", Number: true}}
	if p := Settings(c, published); p != nil {
		t.Errorf("unchanged: %+v", p)
	}
}
