package harness

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"path"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// runVolume is the name of the volume in memory in which an agent keeps what the server and the transfer scripts run
// with.
const runVolume = "run"

// Pair is a certificate with its key and what its holder trusts, in PEM.
type Pair struct {
	Certificate []byte
	Key         []byte
	CA          []byte
}

// Certificates are those of a cluster's nodes, and what a test puts in their place.
type Certificates struct{ cluster *Cluster }

// Certificates returns the handle of the certificates of the cluster's nodes.
func (c *Cluster) Certificates() Certificates { return Certificates{c} }

func (c Certificates) secret(ctx context.Context, suffix string) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, c.cluster.Kube.Get(ctx, client.ObjectKey{Namespace: c.cluster.Namespace, Name: c.cluster.Name + suffix}, s)
}

// Genuine returns the pair that the cluster's nodes are given.
func (c Certificates) Genuine(ctx context.Context) (Pair, error) { return c.pair(ctx, "-tls") }

// Issued returns the pair that cert-manager has written.
func (c Certificates) Issued(ctx context.Context) (Pair, error) { return c.pair(ctx, "-issued") }

func (c Certificates) pair(ctx context.Context, suffix string) (Pair, error) {
	s, err := c.secret(ctx, suffix)
	return Pair{Certificate: s.Data["tls.crt"], Key: s.Data["tls.key"], CA: s.Data["ca.crt"]}, err
}

// Foreign makes a pair that looks like the cluster's own in everything but the CA: names,
// usages, dates. It trusts the cluster's CA, so that only the other side can refuse.
func (c Certificates) Foreign(ctx context.Context) (Pair, error) {
	pair, genuine, err := c.foreign(ctx)
	pair.CA = bytes.Clone(genuine.CA)
	return pair, err
}

// ForeignMaterial is a foreign pair that trusts its own CA alone: right in itself, and unknown to the cluster.
func (c Certificates) ForeignMaterial(ctx context.Context) (Pair, error) {
	pair, _, err := c.foreign(ctx)
	return pair, err
}

func (c Certificates) foreign(ctx context.Context) (pair, genuine Pair, err error) {
	genuine, err = c.Genuine(ctx)
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
func (c Certificates) Issue(ctx context.Context, leaf pkitest.Leaf) (Pair, error) {
	genuine, err := c.Genuine(ctx)
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
func (c Certificates) Hand(ctx context.Context, p Pair) error {
	s, err := c.secret(ctx, "-issued")
	if err != nil {
		return err
	}
	s.Data["tls.crt"], s.Data["tls.key"], s.Data["ca.crt"] = p.Certificate, p.Key, p.CA
	return c.cluster.Kube.Update(ctx, s)
}

// Corrupt puts another pair where a running pod's server and transfer scripts read theirs, with the CA it trusts.
// Nothing is published: the agent believes that what it has installed is still there.
func (c Certificates) Corrupt(ctx context.Context, pod string, pair Pair) error {
	p, err := c.cluster.Pod(ctx, pod)
	if err != nil {
		return err
	}
	dir := path.Join("/var/lib/kubelet/pods", string(p.UID), "volumes/kubernetes.io~empty-dir", runVolume, "tls")
	for name, data := range map[string][]byte{
		"tls.crt": pair.Certificate, "tls.key": pair.Key, "ca.crt": pair.CA, "transfer-ca.crt": pair.CA,
	} {
		file := path.Join(dir, name)
		// Only what is there is written over: it keeps its owner, and a path that is wrong shows.
		_, err := DockerWithInput(ctx, string(data), "exec", "-i", p.Spec.NodeName, "sh", "-euc", `test -f "$1"; cat >"$1"`,
			"sh", file)
		if err != nil {
			return err
		}
	}
	return nil
}
