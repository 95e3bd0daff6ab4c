package task

// External is a server to copy into an empty volume, or one whose backup is to fill it.
type External struct {
	// Backup is where the backup lies in the store, "" for a copy of the running server. Host is needed to follow it only.
	Backup string `json:"backup,omitempty"`

	Host string `json:"host"`
	Port int    `json:"port"`
	// Plain connects without TLS; Identity reports whether the certificate has to name Host.
	Plain    bool `json:"plain,omitempty"`
	Identity bool `json:"identity,omitempty"`
	// Databases to copy; none for all.
	Databases []string `json:"databases,omitempty"`
	// Only reports whether it is tables that are copied, of the only one of Databases, into a running cluster: all of
	// them, or Table.
	Only  bool   `json:"only,omitempty"`
	Table string `json:"table,omitempty"`
	// Users has accounts copied, but those whose names Skip has.
	Users bool     `json:"users,omitempty"`
	Skip  []string `json:"skip,omitempty"`
	// Follow reports whether the cluster goes on with the source's transactions after the copied moment.
	Follow bool `json:"follow,omitempty"`
	// Live is the gtid_binlog_pos of the server that is to be followed after a Backup, when it was checked.
	Live string `json:"live,omitempty"`
	// ServerID is that of all nodes, 0 for MariaDB's default; Domain the GTID domain of what they write.
	ServerID uint32 `json:"serverID,omitempty"`
	Domain   uint32 `json:"domain,omitempty"`
	// Connections is how many read at the same time.
	Connections int `json:"connections,omitempty"`
	// Rate bounds what is read of the source, in bytes per second; 0 for no bound.
	Rate int64 `json:"rate,omitempty"`
	// VolumeBytes is the size of the cluster's volumes.
	VolumeBytes int64 `json:"volumeBytes,omitempty"`
	// MemoryBytes is the limit of the Job's container; 0 for none.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// Settings of the cluster's configuration.
	Settings map[string]string `json:"settings,omitempty"`
	// ID names this copy, History is the UUID of the history that it begins.
	ID      string `json:"id,omitempty"`
	History string `json:"history,omitempty"`
}

// Source is what a copied server is like, and what of it was copied.
type Source struct {
	Version string `json:"version,omitempty"`
	GTID    string `json:"gtid,omitempty"`
	Tables  int    `json:"tables,omitempty"`
	// Bytes is the source's estimate; Rows is what was copied.
	Bytes int64 `json:"bytes,omitempty"`
	Rows  int64 `json:"rows,omitempty"`
	// LockedMilliseconds is for how long its commits waited.
	LockedMilliseconds int64 `json:"lockedMilliseconds,omitempty"`
	// Skipped are accounts and grants that were left out.
	Skipped []string `json:"skipped,omitempty"`
	// Findings are what keeps it from being copied.
	Findings []Finding `json:"findings,omitempty"`
	// Warnings are what does not work in the copy as on the source.
	Warnings []Finding `json:"warnings,omitempty"`
}

// Shorten leaves out an example, and reports whether there was one: the counts stay.
func (s *Source) Shorten() bool {
	if s == nil {
		return false
	}
	var longest *Finding
	for _, of := range [][]Finding{s.Warnings, s.Findings} {
		for i, f := range of {
			if len(f.Objects) > 0 && (longest == nil || len(f.Objects) >= len(longest.Objects)) {
				longest = &of[i]
			}
		}
	}
	switch {
	case longest != nil:
		longest.Objects = longest.Objects[:len(longest.Objects)-1]
	case len(s.Skipped) > 1: // the last one counts the others
		s.Skipped = append(s.Skipped[:len(s.Skipped)-2], s.Skipped[len(s.Skipped)-1])
	default:
		return false
	}
	return true
}

// Finding is one reason why a server is not copied.
type Finding struct {
	Name string `json:"name"`
	// Objects are some of those that it is about, Count how many there are.
	Objects []string `json:"objects,omitempty"`
	Count   int      `json:"count,omitempty"`
	// Message describes what is wrong, and what to do.
	Message string `json:"message"`
}
