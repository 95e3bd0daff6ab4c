package task

// RenewedFile is there once a pod has renewed the lease.
const RenewedFile = "/tmp/renewed"

// Lease names a cluster whose nodes accept writes only while its lease is renewed.
type Lease struct {
	// Dir is the directory of its backups, Nodes are the hosts of its nodes.
	Dir   string   `json:"dir"`
	Nodes []string `json:"nodes"`
}
