package agentapi

// Ended is a mariadbd that its agent saw end, though its component may not know yet.
type Ended struct {
	// NodeUUID is its wsrep_gcomm_uuid; no other run ever has the same.
	NodeUUID string `json:"nodeUUID"`
	// ViewID is the Primary view it was in (wsrep_cluster_conf_id).
	ViewID int64 `json:"viewID"`
}

// Eviction asks a member to evict a server that has ended (evs.evict), so that the group does not wait for its
// silence. The member does so for one server in each view, and only in the named view.
type Eviction Ended

// EvictionResult is the answer.
type EvictionResult struct {
	// Message explains why the member refused, "" when it did not.
	Message string `json:"message,omitempty"`
}
