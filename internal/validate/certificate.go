package validate

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Certificate explains why the issued pair must not be published to the nodes, nil when it may.
func Certificate(f observe.Facts, now time.Time) *Problem {
	if f.Issued == nil {
		return nil
	}
	crt, key, ca := observe.PairOf(f.Issued)
	_, err := pki.Check(crt, key, ca, requiredNames(f.Cluster), now)
	var problem *pki.Problem
	if !errors.As(err, &problem) {
		return nil
	}
	if before, _, _ := observe.PairOf(f.Published); problem.Reason == pki.ReasonExpired && bytes.Equal(before, crt) {
		return &Problem{Reason: v1alpha1.ReasonCertificateExpired}
	}
	return &Problem{Reason: v1alpha1.ReasonCertificateRefused, Blocked: true, Message: fmt.Sprintf(
		"the certificate in the Secret %q is not published to the nodes (%s): %s", f.Issued.Name, problem.Reason,
		problem.Message)}
}

// requiredNames are the DNS names that the certificate must contain: the operator dials the agents by them, and the
// agents each other.
func requiredNames(c *v1alpha1.GaleraCluster) []string {
	names := []string{resources.ServerName(c, resources.PodName(c, 0)), resources.ServiceName(c)}
	for i := 1; i < int(c.Spec.Replicas); i++ {
		names = append(names, resources.ServerName(c, resources.PodName(c, i)))
	}
	return names
}
