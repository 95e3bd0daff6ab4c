package controllers

import (
	"bytes"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/conditions"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// publishTLS checks the issued pair and gives it to the nodes; a bad one never reaches them.
func (r *GaleraClusterReconciler) publishTLS(in *conditions.Input) ([]client.Object, error) {
	c := in.Facts.Cluster
	controlCA, err := r.ControlCA()
	if err != nil {
		return nil, fmt.Errorf("reading the operator's own certificate: %w", err)
	}
	crt, key, ca := pair(in.Facts.Published)
	if issued := in.Facts.Issued; issued != nil {
		newCrt, newKey, newCA := pair(issued)
		_, err := pki.Check(newCrt, newKey, newCA, requiredNames(c), in.Now)
		var problem *pki.Problem
		switch {
		case errors.As(err, &problem):
			in.Refused = &conditions.Problem{Reason: v1alpha1.ReasonCertificateRefused, Blocked: true,
				Message: fmt.Sprintf("the certificate in the Secret %q is not given to the nodes: %s", issued.Name, problem.Message)}
		default:
			crt, key, ca = newCrt, newKey, trust(ca, newCA)
		}
	}
	if crt == nil {
		return nil, nil
	}
	if p, err := pki.Check(crt, key, ca, nil, in.Now); p.Leaf != nil {
		in.Published = &conditions.PublishedPair{Serial: p.Serial(), NotAfter: p.Leaf.NotAfter}
	} else if err != nil {
		return nil, err
	}
	return []client.Object{resources.PublishedTLS(c, crt, key, ca, controlCA), resources.CAConfigMap(c, ca)}, nil
}

func pair(s *corev1.Secret) (crt, key, ca []byte) {
	if s == nil {
		return nil, nil, nil
	}
	return s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey], s.Data[resources.CAKey]
}

// requiredNames are names the certificate must carry: the agents are called by them.
func requiredNames(c *v1alpha1.GaleraCluster) []string {
	return []string{serverName(c, resources.PodName(c, 0)), resources.ServiceName(c)}
}

// trust adds a new CA to what nodes trust already: a CA that some node still presents a
// certificate of must never be dropped.
func trust(old, add []byte) []byte {
	if len(old) == 0 || bytes.Contains(add, bytes.TrimSpace(old)) {
		return add
	}
	if bytes.Contains(old, bytes.TrimSpace(add)) {
		return old
	}
	return bytes.Join([][]byte{bytes.TrimSpace(old), bytes.TrimSpace(add), nil}, []byte("\n"))
}
