package agentapi

import "time"

// MaxClear is how many files in clear a report names.
const MaxClear = 8

// Modes of a server that has the keys.
const (
	ModeHolds    = "Holds" // it reads what is encrypted, and writes in clear
	ModeEncrypts = "Encrypts"
)

// AtRestReport is what an agent has seen of the encryption on its volume.
type AtRestReport struct {
	// Mode is what the running server does with the keys, "" when it has none or none runs. What was seen on the volume
	// was seen in this mode.
	Mode string `json:"mode,omitempty"`
	// Problem explains why the mounted keys are not taken over, "" when they are those that the data are encrypted with.
	Problem string `json:"problem,omitempty"`
	// Files with tables or logs, and pages of them that hold something, by the last check of all of them.
	Files int64 `json:"files,omitempty"`
	Pages int64 `json:"pages,omitempty"`
	// ClearFiles is how many are in clear, or hold pages in clear; Clear describes some of them.
	ClearFiles int64    `json:"clearFiles,omitempty"`
	Clear      []string `json:"clear,omitempty"`
	// UnusedPages is how many pages are in clear that InnoDB does not use, once none is that it uses. The next start after
	// an orderly stop overwrites them; 0 when one did not.
	UnusedPages int64 `json:"unusedPages,omitempty"`
	// EncryptedFiles is how many hold something encrypted; Encrypted names some of them while the server writes in clear.
	EncryptedFiles int64    `json:"encryptedFiles,omitempty"`
	Encrypted      []string `json:"encrypted,omitempty"`
	// UnknownFiles is how many could not be judged, as damaged ones; Unknown describes some of them.
	UnknownFiles int64    `json:"unknownFiles,omitempty"`
	Unknown      []string `json:"unknown,omitempty"`
	// CacheClear reports whether there is a cache of write-sets on the volume.
	CacheClear bool `json:"cacheClear,omitempty"`
	// Error is why the last check did not succeed, "" when it did.
	Error string `json:"error,omitempty"`
	// SampledAt is when a part of every file was read last, FullAt when all pages were. The ages are as in ChannelFact.
	SampledAt        time.Time `json:"sampledAt,omitzero"`
	SampleAgeSeconds *float64  `json:"sampleAgeSeconds,omitempty"`
	FullAt           time.Time `json:"fullAt,omitzero"`
	FullAgeSeconds   *float64  `json:"fullAgeSeconds,omitempty"`
	// FullSeen is FullAt by the receiver's clock.
	FullSeen time.Time `json:"-"`
}
