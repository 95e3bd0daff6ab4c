package resources

import (
	"strconv"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// localDomain is the GTID domain of what a node writes for itself (wsrep_on=OFF). What is replicated has
// wsrep_gtid_domain_id: 0, or one of its own in a cluster that has followed another server.
const localDomain = "1"

// BinlogSettings are what the binary log of a node needs, to have the same GTIDs on every node. They belong to the
// operator while spec.backup.pointInTime is enabled.
func BinlogSettings() map[string]string {
	return map[string]string{"log_bin": "binlog", "log_slave_updates": "ON", "wsrep_gtid_mode": "ON",
		"gtid_domain_id": localDomain,
		"loose_slave_connections_needed_for_purge": "0"}
}

// ownDomain are the identifiers of a cluster that has followed another server. They are those with which it has
// followed: a joiner takes the domain and the numbers over from its donor, so that a cluster whose nodes had others, or
// no wsrep_gtid_mode, for a while would go on in the domain 0.
func ownDomain(c *v1alpha1.GaleraCluster) map[string]string {
	id := ServerID(c)
	own, local := strconv.FormatUint(uint64(id), 10), strconv.FormatUint(uint64(id-1), 10)
	return map[string]string{"server_id": own, "wsrep_gtid_domain_id": own, "gtid_domain_id": local}
}

// Identifiers are the server_id of all nodes, and the GTID domain of what they write: the cluster's own, if it has
// followed another server, otherwise the configured server_id. 0 is MariaDB's default.
func Identifiers(c *v1alpha1.GaleraCluster) (server, domain uint32) {
	if id := ServerID(c); id != 0 {
		return id, id
	}
	for name, value := range c.Spec.MariaDB.Config {
		if mycnf.Normalise(name) != "server-id" {
			continue
		}
		if n, err := strconv.ParseUint(value.String(), 10, 32); err == nil {
			return uint32(n), 0
		}
	}
	return 0, 0
}

// BinlogRefused are further settings that would change what is in the binary log, or its GTIDs.
func BinlogRefused() []string {
	return []string{"wsrep_gtid_domain_id", "log_replica_updates", "binlog_storage_engine"}
}

const (
	// binlogSeconds is how long a node keeps its binary log, binlogShare the part of the volume it may fill: a gap in the
	// archive is better than a full volume.
	binlogSeconds = 3 * 24 * 3600
	binlogShare   = 10
	binlogLeast   = 128 << 20
	fileLeast     = 16 << 20
	maxFile       = 256 << 20
)

// binlogDefaults are settings that spec.mariadb.config may change. sync_binlog is 1 because a transaction that is
// missing in the binary log after a power cut is rolled back.
func binlogDefaults(c *v1alpha1.GaleraCluster) map[string]string {
	total := max(c.Spec.Storage.Size.Value()/binlogShare, binlogLeast)
	return map[string]string{"sync_binlog": "1", "binlog_expire_logs_seconds": strconv.Itoa(binlogSeconds),
		"loose_max_binlog_total_size": strconv.FormatInt(total, 10),
		"max_binlog_size":             strconv.FormatInt(min(max(total/8, fileLeast), maxFile)/4096*4096, 10)}
}
