package harness

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// Pair is a certificate with its key and what its holder trusts, in PEM.
type Pair struct {
	Certificate []byte
	Key         []byte
	CA          []byte
}

func (c *Cluster) secret(ctx context.Context, suffix string) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, c.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name + suffix}, s)
}

// GenuinePair returns the pair that the cluster's nodes are given.
func (c *Cluster) GenuinePair(ctx context.Context) (Pair, error) { return c.pair(ctx, "-tls") }

// Issued returns the pair that cert-manager has written.
func (c *Cluster) Issued(ctx context.Context) (Pair, error) { return c.pair(ctx, "-issued") }

func (c *Cluster) pair(ctx context.Context, suffix string) (Pair, error) {
	s, err := c.secret(ctx, suffix)
	return Pair{Certificate: s.Data["tls.crt"], Key: s.Data["tls.key"], CA: s.Data["ca.crt"]}, err
}

// ForeignPair makes a pair that looks like the cluster's own in everything but the CA: names,
// usages, dates. It trusts the cluster's CA, so that only the other side can refuse.
func (c *Cluster) ForeignPair(ctx context.Context) (Pair, error) {
	pair, genuine, err := c.foreign(ctx)
	pair.CA = bytes.Clone(genuine.CA)
	return pair, err
}

// ForeignMaterial is a foreign pair that trusts its own CA alone: right in itself, and unknown to the cluster.
func (c *Cluster) ForeignMaterial(ctx context.Context) (Pair, error) {
	pair, _, err := c.foreign(ctx)
	return pair, err
}

func (c *Cluster) foreign(ctx context.Context) (pair, genuine Pair, err error) {
	genuine, err = c.GenuinePair(ctx)
	if err != nil {
		return Pair{}, Pair{}, err
	}
	names, err := namesOf(genuine)
	if err != nil {
		return Pair{}, Pair{}, err
	}
	ca := pkitest.NewCA("Some other CA")
	crt, key := ca.Issue(pkitest.Leaf{Names: names})
	return Pair{Certificate: crt, Key: key, CA: ca.PEM}, genuine, nil
}

// Issue makes a pair by the cluster's own private CA, as cert-manager would. Without names it gets those
// of the pair in use.
func (c *Cluster) Issue(ctx context.Context, leaf pkitest.Leaf) (Pair, error) {
	genuine, err := c.GenuinePair(ctx)
	if err != nil {
		return Pair{}, err
	}
	if len(leaf.Names) == 0 {
		if leaf.Names, err = namesOf(genuine); err != nil {
			return Pair{}, err
		}
	}
	s, err := c.secret(ctx, "-ca-pair")
	if err != nil {
		return Pair{}, err
	}
	ca, err := pkitest.LoadCA(s.Data["tls.crt"], s.Data["tls.key"])
	if err != nil {
		return Pair{}, err
	}
	crt, key := ca.Issue(leaf)
	return Pair{Certificate: crt, Key: key, CA: s.Data["tls.crt"]}, nil
}

func namesOf(p Pair) ([]string, error) {
	block, _ := pem.Decode(p.Certificate)
	if block == nil {
		return nil, errors.New("there is no certificate")
	}
	crt, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	return crt.DNSNames, nil
}

// Hand puts a pair where cert-manager puts what it issues. cert-manager must be stopped, or it issues another.
func (c *Cluster) Hand(ctx context.Context, p Pair) error {
	s, err := c.secret(ctx, "-issued")
	if err != nil {
		return err
	}
	s.Data["tls.crt"], s.Data["tls.key"], s.Data["ca.crt"] = p.Certificate, p.Key, p.CA
	return c.Kube.Update(ctx, s)
}

// ScaleCertManager runs that many cert-managers, and waits until it is so.
func (k *Kube) ScaleCertManager(ctx context.Context, replicas int32) error {
	at := client.ObjectKey{Namespace: "cert-manager", Name: "cert-manager"}
	d := &appsv1.Deployment{}
	if err := k.Get(ctx, at, d); err != nil {
		return err
	}
	want := d.DeepCopy()
	want.Spec.Replicas = &replicas
	if err := k.Patch(ctx, want, client.MergeFrom(d)); err != nil {
		return err
	}
	return k.Until(ctx, fmt.Sprintf("%d cert-managers run", replicas), time.Minute, func(ctx context.Context) (bool, string, error) {
		err := k.Get(ctx, at, d)
		return err == nil && d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == replicas && d.Status.ReadyReplicas == replicas,
			fmt.Sprintf("%d pods, %d ready", d.Status.Replicas, d.Status.ReadyReplicas), err
	})
}
