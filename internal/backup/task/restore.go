package task

// Restore fills an empty volume.
type Restore struct {
	// Dir is the directory the backup lies in, ID the backup's, Checksum that of its manifest, "" if it is not on record.
	Dir      string `json:"dir"`
	ID       string `json:"id"`
	Checksum string `json:"checksum,omitempty"`
	// History is the UUID of the new history that the data begin.
	History string `json:"history"`
	// Replay is what is applied to it, nil for nothing.
	Replay *Replay `json:"replay,omitempty"`
	// Follow has the data name up to where they have the archive (gtid_slave_pos): the cluster goes on from there.
	Follow bool `json:"follow,omitempty"`
	// ServerID is that of all nodes, 0 for MariaDB's default; Domain the GTID domain of what they write.
	ServerID uint32 `json:"serverID,omitempty"`
	Domain   uint32 `json:"domain,omitempty"`
	// Rate bounds what is read of the backup from the store, in bytes per second; 0 for no bound.
	Rate int64 `json:"rate,omitempty"`
	// Keys are the fingerprints of the keys that the cluster encrypts its data with, nil when it does not.
	Keys map[string]string `json:"keys,omitempty"`
	// Algorithm is what it encrypts them with; "" is any.
	Algorithm string `json:"algorithm,omitempty"`
	// Created are the cluster's settings that a data directory keeps from its creation (mycnf.Created), nil where the data
	// are not those of a cluster.
	Created map[string]string `json:"created,omitempty"`
}
