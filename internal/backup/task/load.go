package task

// Load restores a backup on a temporary volume, and loads tables of it into a living cluster.
type Load struct {
	Restore
	// From is the server whose tables are loaded instead, nil for a backup.
	From *External `json:"from,omitempty"`
	// Table is the table of Database, "" for all tables. They get into the database Into, the table as As.
	Database string `json:"database"`
	Table    string `json:"table,omitempty"`
	Into     string `json:"into"`
	As       string `json:"as,omitempty"`
	// Through is the database of the cluster that they lie in until they are complete.
	Through string `json:"through"`
	// Attempt is the number of the attempt.
	Attempt int32 `json:"attempt"`
	// MemoryBytes is the limit of the Job's container; 0 for none.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// VolumeBytes is the size of the cluster's volumes.
	VolumeBytes int64 `json:"volumeBytes,omitempty"`
	// Settings of the cluster's configuration.
	Settings map[string]string `json:"settings,omitempty"`
}

// Loaded is what was loaded, and has its name.
type Loaded struct {
	// ID is the backup's.
	ID     string `json:"id"`
	Tables int    `json:"tables"`
	Rows   int64  `json:"rows"`
	// GTID is the last transaction of the archive that was applied, or the position of the server that was copied; Late
	// how many later ones name a time before the target.
	GTID string `json:"gtid,omitempty"`
	Late int    `json:"late,omitempty"`
	// LeftOut are what belongs to the tables and was not loaded.
	LeftOut []string `json:"leftOut,omitempty"`
}
