package galerabackup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// keyTimeout is how long the certificate is good; the agent admits the key, and checks no date.
const keyTimeout = 10 * 365 * 24 * time.Hour

// key makes the key the Job shows to the agent, once, and returns its hash.
func (r *Reconciler) key(ctx context.Context, f taking.Facts) (hash string, err error) {
	b, have := f.Backup, &corev1.Secret{}
	at := client.ObjectKey{Namespace: b.Namespace, Name: job.KeyName(b)}
	if err := r.Live.Get(ctx, at, have); client.IgnoreNotFound(err) != nil {
		return "", err
	} else if err != nil {
		ca, err := r.clusterCA(ctx, f.Cluster)
		if err != nil {
			return "", err
		}
		cert, key, err := selfSigned("backup " + b.Status.ID)
		if err != nil {
			return "", err
		}
		if err := ownership.Keep(ctx, r.Client, r.Live, b.UID, job.Key(b, cert, key, ca)); err != nil {
			return "", err
		}
		if err := r.Live.Get(ctx, at, have); err != nil {
			return "", err
		}
	}
	pair, err := tls.X509KeyPair(have.Data["tls.crt"], have.Data["tls.key"])
	if err != nil {
		return "", fmt.Errorf("the Secret %q holds no pair: delete it, and it is created again: %w", have.Name, err)
	}
	return agentapi.KeyHash(pair.Leaf), nil
}

// clusterCA is what the agents' certificates are verified by.
func (r *Reconciler) clusterCA(ctx context.Context, c *v1alpha1.GaleraCluster) ([]byte, error) {
	s := &corev1.Secret{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.TLSSecretName(c)}, s); err != nil {
		return nil, err
	}
	if len(s.Data["ca.crt"]) == 0 {
		return nil, errors.New("the cluster's CA has not been published")
	}
	return s.Data["ca.crt"], nil
}

// selfSigned returns a certificate and its key, in PEM.
func selfSigned(name string) (cert, key []byte, err error) {
	return pki.SelfSign(&x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(keyTimeout),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// agentAddress is where a node's agent gives backups.
func agentAddress(c *v1alpha1.GaleraCluster, node string) string {
	return net.JoinHostPort(resources.ServerName(c, node), strconv.Itoa(agentapi.BackupPort))
}
