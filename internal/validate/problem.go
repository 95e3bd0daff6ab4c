// Package validate refuses settings, images and certificates that would harm the nodes. A refused value is not
// published, the last accepted one stays in force, and the status explains why. The package is pure.
package validate

import v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"

// Problem is something that keeps the cluster from what the spec asks for.
type Problem struct {
	Reason  string
	Message string
	// Blocked reports whether manual action is required.
	Blocked bool
	// Command carries out what has to be done, or shows more; "" when there is no single one. It is made of names of
	// objects only, and never stands in Message, which may quote what others report.
	Command string
	// Approval would permit what waits for it; nil when none is asked for.
	Approval *v1alpha1.RecoveryApproval
}

// blocked is a problem that requires manual action.
func blocked(reason, message string) *Problem {
	return &Problem{Reason: reason, Message: message, Blocked: true}
}
