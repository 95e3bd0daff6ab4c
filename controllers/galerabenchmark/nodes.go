package galerabenchmark

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// BenchmarkNodes are the nodes of clusters that are measured.
type BenchmarkNodes interface {
	// TrustClients returns the reason why not every node accepts certificates of the clients' CA yet, "" when all do.
	TrustClients(ctx context.Context, c *v1alpha1.GaleraCluster) (why string, err error)
	// KeepAccount makes or drops the account of a benchmark's Jobs.
	KeepAccount(ctx context.Context, c *v1alpha1.GaleraCluster, a agentapi.BenchAccount) error
}

// accountTime is what a node has for a benchmark's account: to drop databases takes longer than to make one.
const accountTime = 20 * time.Second

// AgentNodes asks the nodes' agents.
type AgentNodes struct {
	// Agents that are followed for the clusters' own sake.
	Agents *observe.Agents
	Live   client.Reader
	// Keep asks one agent.
	Keep func(ctx context.Context, t observe.Target, a agentapi.BenchAccount) error
}

// TrustClients implements BenchmarkNodes.
func (n AgentNodes) TrustClients(ctx context.Context, c *v1alpha1.GaleraCluster) (why string, err error) {
	secret := &corev1.Secret{}
	err = n.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.TLSSecretName(c)}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return "no certificate has been published", nil
	case err != nil:
		return "", err
	case len(secret.Data[agentapi.ClientCAKey]) == 0:
		return "cert-manager has not issued it", nil
	}
	publication, seen := observe.Publication(secret), n.Agents.Seen(client.ObjectKeyFromObject(c))
	for i := range int(c.Spec.Replicas) {
		name := resources.PodName(c, i)
		if s := seen[name]; !s.Live || s.Report.TLS.Loaded != publication {
			return name + " has not loaded it", nil
		}
	}
	return "", nil
}

// KeepAccount implements BenchmarkNodes: what one node does is replicated.
func (n AgentNodes) KeepAccount(ctx context.Context, c *v1alpha1.GaleraCluster, a agentapi.BenchAccount) error {
	var problems []string
	for i := range int(c.Spec.Replicas) {
		name := resources.PodName(c, i)
		target, followed := n.Agents.Target(client.ObjectKeyFromObject(c), name)
		if !followed {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, accountTime)
		err := n.Keep(ctx, target, a)
		cancel()
		if err == nil {
			return nil
		}
		problems = append(problems, name+": "+err.Error())
	}
	if len(problems) == 0 {
		return errors.New("no node is reached")
	}
	return errors.New(strings.Join(problems, "; "))
}
