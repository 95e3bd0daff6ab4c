// Package validate refuses settings, images and certificates that would harm the nodes. A refused value is not published, the
// last accepted one stays in force, and the status says why. The package is pure.
package validate

// Problem is something that keeps the cluster from what the spec asks for.
type Problem struct {
	Reason  string
	Message string
	// Blocked says that manual action is required.
	Blocked bool
}
