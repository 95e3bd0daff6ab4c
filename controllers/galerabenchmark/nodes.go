package galerabenchmark

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// BenchmarkNodes are the nodes of clusters that are measured.
type BenchmarkNodes interface {
	// TrustClients returns the reason why not every node accepts certificates of the clients' CA yet, "" when all do.
	TrustClients(ctx context.Context, c *v1alpha1.GaleraCluster) (why string, err error)
	// KeepAccount makes or drops the account of a benchmark's Jobs.
	KeepAccount(ctx context.Context, b types.NamespacedName, c *v1alpha1.GaleraCluster, a agentapi.BenchAccount) error
	// EndPass ends a pass of a benchmark, whose answers are forgotten.
	EndPass(b types.NamespacedName)
	// Source makes the controller reconcile benchmarks whose answers have arrived.
	Source() source.Source
}

// EndPass implements BenchmarkNodes.
func (n AgentNodes) EndPass(b types.NamespacedName) { n.Calls.EndPass(b) }

// Source implements BenchmarkNodes.
func (n AgentNodes) Source() source.Source { return n.Calls.Source() }

// KeepOn makes a function that asks one agent for an account that of AgentNodes.Calls.
func KeepOn(keep func(context.Context, observe.Target,
	agentapi.BenchAccount) error) *calls.Calls[observe.Target, agentapi.BenchAccount, struct{}] {
	return &calls.Calls[observe.Target, agentapi.BenchAccount, struct{}]{
		Do: calls.One(func(ctx context.Context, t observe.Target, a agentapi.BenchAccount) (struct{}, error) {
			ctx, cancel := context.WithTimeout(ctx, accountTimeout)
			defer cancel()
			return struct{}{}, keep(ctx, t, a)
		}),
	}
}

// accountTimeout is what a node has for a benchmark's account: to drop databases takes longer than to make one.
const accountTimeout = 20 * time.Second

// AgentNodes asks the nodes' agents.
type AgentNodes struct {
	// Agents that are followed for the clusters' own sake.
	Agents *observe.Agents
	Live   client.Reader
	// Calls ask agents to make or to drop an account.
	Calls *calls.Calls[observe.Target, agentapi.BenchAccount, struct{}]
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

// KeepAccount implements BenchmarkNodes: what one node does is replicated. Nodes whose agents answer are asked first.
// A late answer is no reason to ask another node, or to report it: each report changes the status, and a change of the
// status is another pass, which begins with the silent node again. The answer ends within accountTimeout.
func (n AgentNodes) KeepAccount(ctx context.Context, b types.NamespacedName, c *v1alpha1.GaleraCluster,
	a agentapi.BenchAccount) error {
	var problems []string
	for _, name := range n.answering(c) {
		target, followed := n.Agents.Target(client.ObjectKeyFromObject(c), name)
		if !followed {
			continue
		}
		_, err := n.Calls.Ask(ctx, calls.By{Cluster: client.ObjectKeyFromObject(c), Object: b}, target, a)
		if errors.Is(err, calls.ErrPending) {
			return calls.ErrPending
		}
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

// answering returns the names of a cluster's nodes, those first whose agents answer.
func (n AgentNodes) answering(c *v1alpha1.GaleraCluster) (names []string) {
	seen := n.Agents.Seen(client.ObjectKeyFromObject(c))
	for _, live := range []bool{true, false} {
		for i := range int(c.Spec.Replicas) {
			if name := resources.PodName(c, i); seen[name].Live == live {
				names = append(names, name)
			}
		}
	}
	return names
}
