package agentapi

// AtRest is how what lies on disks is encrypted.
type AtRest struct {
	// State is how far the data are switched.
	State string `json:"state"`
	// Algorithm is AES_CTR or AES_CBC.
	Algorithm string `json:"algorithm"`
	// Keys are the fingerprints of the keys that the data are encrypted with, by number (package atrest).
	Keys map[string]string `json:"keys"`
	// CacheInMemory puts Galera's cache of write-sets into CacheDir.
	CacheInMemory bool `json:"cacheInMemory,omitempty"`
}

// States of AtRest. Where they are prepared, a node whose pod does not have the keys yet runs without: nothing is
// encrypted. Where they are decrypted, a node has the keys and writes in clear.
const (
	AtRestPrepared  = "Prepared"
	AtRestEncrypted = "Encrypted"
	AtRestDecrypted = "Decrypted"
)
