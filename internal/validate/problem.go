// Package validate says what may not reach the nodes: settings, images and certificates that would harm them. What it refuses
// is held back, the last accepted one stays in force, and the status tells why. It is pure.
package validate

// Problem is something that keeps the cluster from what the spec asks for.
type Problem struct {
	Reason  string
	Message string
	// Blocked says that only a person can help.
	Blocked bool
}
