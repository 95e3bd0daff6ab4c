package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// ask asks for a renewal as a person does.
func (b *bench) ask(ctx context.Context, what string) error {
	return b.cluster.Change(ctx, func(c *v1alpha1.GaleraCluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[v1alpha1.AnnotationRenew] = what + "@" + time.Now().Format("150405.000")
	})
}

// measureRenewals renews the nodes' certificate: from the moment in which cert-manager has written it to the
// moment in which every node was dialled and presented it on both ports.
func measureRenewals(ctx context.Context, b *bench) ([]Figure, error) {
	var took, gaps, failed []float64
	for range b.options.rounds {
		var served float64
		seen, err := b.underWriter(ctx, func(ctx context.Context) (err error) {
			served, err = b.renew(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		took, gaps, failed = append(took, served), append(gaps, seen.gap), append(failed, seen.failed)
	}
	return []Figure{
		figure("leaf renewal: Secret changed to served by all nodes", "s", 72, 5, "dialled on 3306 and 4567", took...),
		figure("leaf renewal: failed writes and dropped connections", "", 0, 0, "", failed...),
		figure("leaf renewal: longest write gap", "s", 2.6, 0, "", gaps...),
	}, nil
}

func (b *bench) renew(ctx context.Context) (float64, error) {
	before, err := b.cluster.Certificates().Issued(ctx)
	if err != nil {
		return 0, err
	}
	if err := b.ask(ctx, "leaf"); err != nil {
		return 0, err
	}
	var issued harness.Pair
	err = b.kube.Until(ctx, "cert-manager issues another certificate", recoverTime,
		func(ctx context.Context) (bool, string, error) {
			issued, err = b.cluster.Certificates().Issued(ctx)
			return err == nil && len(issued.Certificate) > 0 && !bytes.Equal(issued.Certificate, before.Certificate), "", err
		})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	leaf, err := tls.X509KeyPair(issued.Certificate, issued.Key)
	if err != nil {
		return 0, err
	}
	pods, err := b.cluster.PodNames(ctx)
	if err != nil {
		return 0, err
	}
	err = b.kube.Until(ctx, "all nodes serve it", recoverTime, func(ctx context.Context) (bool, string, error) {
		for _, pod := range pods {
			for _, port := range []string{harness.PortReplication, harness.PortClients} {
				state, err := b.cluster.Peers().Handshake(ctx, pod, port, tls.VersionTLS13)
				if err != nil || !state.PeerCertificates[0].Equal(leaf.Leaf) {
					return false, fmt.Sprintf("%s:%s presents the old one", pod, port), err
				}
			}
		}
		return true, "", nil
	})
	return seconds(time.Since(start)), err
}

// measureCA replaces the private CA, to the moment in which the old one opens nothing any more.
func measureCA(ctx context.Context, b *bench) ([]Figure, error) {
	var took, gaps []float64
	for range b.options.rounds {
		seen, err := b.underWriter(ctx, b.replaceCA)
		if err != nil {
			return nil, err
		}
		took, gaps = append(took, seen.took), append(gaps, seen.gap)
	}
	return []Figure{
		figure("replacement of the CA: request to the old one forgotten", "s", 0, 0, "best known: a node in CrashLoopBackOff",
			took...),
		figure("replacement of the CA: longest write gap", "s", 0, 0, "one rolling restart", gaps...),
	}, nil
}

func (b *bench) replaceCA(ctx context.Context) error {
	before, err := b.cluster.Get(ctx)
	if err != nil {
		return err
	}
	old := before.Status.TLS.TrustedCAs[0].Fingerprint
	if err := b.ask(ctx, "ca"); err != nil {
		return err
	}
	return b.kube.Until(ctx, "the old CA is forgotten", switchTime, func(ctx context.Context) (bool, string, error) {
		c, err := b.cluster.Get(ctx)
		if err != nil {
			return false, "", err
		}
		t := c.Status.TLS
		return t.Step == "Settled" && len(t.TrustedCAs) == 1 && t.TrustedCAs[0].Fingerprint != old && harness.Ready(c),
			harness.Summary(c) + " " + t.Step, nil
	})
}
