package agentapi

import "time"

// StateTransferConfig configures SST.
type StateTransferConfig struct {
	// Method is MariaBackup or Rsync.
	Method string `json:"method"`
	// Parallel is the number of threads copying files, 1 or more.
	Parallel int `json:"parallel"`
	// Donors are the preferred donors of SST, by name.
	Donors []string `json:"donors,omitempty"`
	// Compression is "" or Zstd.
	Compression string `json:"compression,omitempty"`
	// RateLimit is the most a donor sends, in bytes per second; 0 for no limit.
	RateLimit int64 `json:"rateLimit,omitempty"`
	// PrepareMemory is what a joiner may use to prepare a copy, in bytes; 0 for the default.
	PrepareMemory int64 `json:"prepareMemory,omitempty"`
	// StallSeconds is how long a transfer may make no progress; 0 for DefaultStall.
	StallSeconds int64 `json:"stallSeconds,omitempty"`
	// WindowSeconds is how long a member may be away and still get IST; 0 for no requirement.
	WindowSeconds int64 `json:"windowSeconds,omitempty"`
	// CacheBudget is the maximum size of the gcache, in bytes.
	CacheBudget int64 `json:"cacheBudget,omitempty"`
}

// CompressionZstd is the one compression of a full copy.
const CompressionZstd = "Zstd"

// DefaultStall is how long a transfer may make no progress when nothing else is said.
const DefaultStall = 10 * time.Minute

// Stall is how long a transfer may make no progress.
func (c StateTransferConfig) Stall() time.Duration {
	if c.StallSeconds <= 0 {
		return DefaultStall
	}
	return time.Duration(c.StallSeconds) * time.Second
}
