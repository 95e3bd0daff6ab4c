package controllers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/cluster"
	"github.com/galera-operator/galera-operator/internal/conditions"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// publish applies every child object, and fills in what the nodes have been given: the
// configuration, the certificate, and why either was held back.
func (r *GaleraClusterReconciler) publish(ctx context.Context, in *conditions.Input) error {
	c := in.Facts.Cluster
	objects := resources.Certificates(c, r.Options)

	in.Config = published(in.Facts.Config)
	if conditions.ForbiddenSettings(c) == nil {
		in.Config = resources.NodeConfig(c, effectiveTLS(in.Facts, in.Config), r.Options)
	}
	if in.Config.Revision != "" {
		objects = append(objects, resources.Static(c, in.Config, r.Options)...)
	}
	tls, err := r.publishTLS(in)
	objects = append(objects, tls...)
	rootErr := r.ensureRootSecret(ctx, in.Facts)
	if in.Config.Revision != "" && rootErr == nil {
		objects = append(objects, resources.StatefulSet(c, r.Options, replicas(c)))
	}
	return errors.Join(err, rootErr, r.applyAll(ctx, in, objects))
}

// applyAll applies what it can; what is refused for good becomes a Problem, not a retry storm.
func (r *GaleraClusterReconciler) applyAll(ctx context.Context, in *conditions.Input, objects []client.Object) error {
	var errs []error
	for _, o := range objects {
		err := r.Objects.Apply(ctx, in.Facts.Cluster.UID, o)
		problem := refusal(err)
		switch {
		case err == nil:
		case problem == nil:
			errs = append(errs, err)
		case in.Failed == nil:
			in.Failed = problem
		}
	}
	return errors.Join(errs...)
}

// refusal explains an error that trying again does not cure, nil for any other.
func refusal(err error) *conditions.Problem {
	var taken apply.ErrNameTaken
	switch {
	case errors.As(err, &taken):
		return &conditions.Problem{Reason: v1alpha1.ReasonNameConflict, Message: taken.Error(), Blocked: true}
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return &conditions.Problem{Reason: v1alpha1.ReasonAdmissionRefused, Blocked: true,
			Message: "the API server refuses an object of this cluster: " + err.Error()}
	}
	return nil
}

// replicas is 0 once a suspended cluster has stopped in order.
func replicas(c *v1alpha1.GaleraCluster) int32 {
	if c.Spec.Suspend && observe.Suspended(c) {
		return 0
	}
	return c.Spec.Replicas
}

// published reads back the configuration the nodes were given last.
func published(cm *corev1.ConfigMap) agentapi.NodeConfig {
	var n agentapi.NodeConfig
	if cm != nil {
		_ = json.Unmarshal([]byte(cm.Data[agentapi.ConfigKey]), &n) // an unreadable document is written anew
	}
	return n
}

// effectiveTLS is the policy to run with now. The encryption of replication cannot change under a
// running cluster in one step: nodes of both kinds would not find each other.
func effectiveTLS(f observe.Facts, before agentapi.NodeConfig) agentapi.TLSConfig {
	want := resources.TLSConfig(f.Cluster)
	if before.Revision == "" || len(f.Pods) == 0 || before.TLS.Replication == want.Replication {
		return want
	}
	want.Replication = before.TLS.Replication
	if want.Replication == cluster.SocketPlain {
		want.StateTransfer = before.TLS.StateTransfer
	}
	return want
}

// ensureRootSecret makes root's password when there is none; one that exists is only labelled, so
// that the cache can see it.
func (r *GaleraClusterReconciler) ensureRootSecret(ctx context.Context, f observe.Facts) error {
	if f.Root != nil {
		return nil
	}
	have := &corev1.Secret{}
	key := client.ObjectKey{Namespace: f.Cluster.Namespace, Name: resources.RootSecretName(f.Cluster)}
	err := r.Readers.Live.Get(ctx, key, have)
	if apierrors.IsNotFound(err) {
		return client.IgnoreAlreadyExists(r.Create(ctx, resources.RootSecret(f.Cluster, rand.Text()), client.FieldOwner(apply.FieldOwner)))
	}
	if err != nil {
		return err
	}
	labelled := have.DeepCopy()
	if labelled.Labels == nil {
		labelled.Labels = map[string]string{}
	}
	labelled.Labels[v1alpha1.LabelCluster] = f.Cluster.Name
	return r.Patch(ctx, labelled, client.MergeFrom(have))
}

// targets are the agents of pods that have an address.
func (r *GaleraClusterReconciler) targets(f observe.Facts) []observe.Target {
	_, _, ca := observe.PairOf(f.Published)
	if len(ca) == 0 {
		return nil
	}
	var out []observe.Target
	for i := range int(f.Cluster.Spec.Replicas) {
		name := resources.PodName(f.Cluster, i)
		p := f.Pods[name]
		if p == nil || p.Status.PodIP == "" {
			continue
		}
		out = append(out, observe.Target{Pod: name, UID: p.UID, Address: p.Status.PodIP, ServerName: serverName(f.Cluster, name), CA: string(ca)})
	}
	return out
}

func serverName(c *v1alpha1.GaleraCluster, pod string) string {
	return fmt.Sprintf("%s.%s.%s.svc", pod, resources.NodesServiceName(c), c.Namespace)
}
