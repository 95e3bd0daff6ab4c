package agentapi

// VolumeSpace is what a volume has left, and what it holds in all, in bytes.
type VolumeSpace struct {
	Free int64 `json:"free"`
	Size int64 `json:"size"`
}
