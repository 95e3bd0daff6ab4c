// Package publish applies the objects of a GaleraCluster: the configuration and the certificates that its nodes are
// given, its Services, Secrets and StatefulSet. What the spec asks for and must not reach the nodes yet is held back,
// with the reason.
package publish

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// timeout bounds the applying of objects in one pass; the next pass continues.
const timeout = 30 * time.Second

// Result is what one pass published to the nodes, and why it held anything back.
type Result struct {
	Config                                      agentapi.NodeConfig
	arbitratorRevision, agentImage, podTemplate string
	// Identity is the one the configuration is published with; one that is not known keeps it back.
	Identity observe.Identity
	// Pair is the certificate the nodes have, nil before there is one; refused is why a newer one is held back.
	Pair    *status.PublishedPair
	Refused *validate.Problem
	// ImageRefused explains why spec.image is not published, MetadataRefused why the labels and annotations of
	// spec.podTemplate are not.
	ImageRefused, MetadataRefused *validate.Problem
	// KeysRefused explains why the encryption keys cannot be used, nil when they can.
	KeysRefused *validate.Problem
	// Failed is the error of this pass that the status reports.
	Failed *validate.Problem
	// grown are the claims that were expanded, by name.
	grown map[string]*corev1.PersistentVolumeClaim
}

// Facts adds to the facts what this pass has changed in them.
func (p Result) Facts(f observe.Facts) observe.Facts {
	f.ArbitratorRevision, f.AgentImage, f.PodTemplate = p.arbitratorRevision, p.agentImage, p.podTemplate
	if len(p.grown) > 0 {
		f.Claims = maps.Clone(f.Claims)
		maps.Copy(f.Claims, p.grown) // so that the status allows no way back below them
	}
	return f
}

// Publisher applies the objects of a cluster.
type Publisher struct {
	client.Client
	Readers   observe.Readers
	Objects   *apply.Objects
	Actor     apply.Actor
	Options   resources.Options
	ControlCA func() ([]byte, error)
}

// All applies every object but the certificates as the spec asks for. A webhook that does not answer may delay
// it for a limited time, and never the recovery after it. A refusal by cert-manager is reported unless the spec itself
// is wrong.
func (pub Publisher) All(ctx context.Context, f observe.Facts, seen map[string]observe.Seen,
	refused *validate.Problem, now time.Time) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	given, notApplied, err := pub.publish(ctx, f, seen, now)
	given.Failed = cmp.Or(given.Failed, refused, notApplied)
	if f.Cluster.Paused() {
		return given, err
	}
	errs := []error{err, pub.ownSecrets(ctx, f), pub.Prune(ctx, f.Cluster, given.Config, f.Users, resources.Prunable())}
	given.grown, err = pub.expand(ctx, f)
	if problem := refusal(err); problem != nil && given.Failed == nil {
		given.Failed, err = problem, nil
	}
	return given, errors.Join(append(errs, err)...)
}

// publish applies every child object but those for cert-manager, and returns what the nodes have been given, why
// anything was held back, and the first object that the API server refuses. For a paused cluster it returns what is
// Published already, and applies nothing.
func (pub Publisher) publish(ctx context.Context, f observe.Facts, seen map[string]observe.Seen, now time.Time) (
	given Result, notApplied *validate.Problem, err error) {
	c := f.Cluster
	var objects []client.Object

	given.Config = Published(f.Config)
	given.Identity = observe.IdentityOf(f, seen, given.Config)
	given.KeysRefused = validate.Keys(f)
	given.Config = pub.config(f, seen, given)
	if given.Config.Revision != "" {
		roles := observe.Roles(f)
		roles.Behind = observe.Behind(c, seen, now)
		objects = append(objects, resources.Static(c, given.Config, roles, pub.Options)...)
	}
	secrets, err := pub.tls(f, seen, now)
	given.Pair, given.Refused = secrets.pair, secrets.refused
	objects = append(objects, secrets.objects...)
	var imaged *v1alpha1.GaleraCluster
	imaged, given.ImageRefused = pub.Imaged(f, seen)
	imaged, given.MetadataRefused = pub.labelled(imaged, f.StatefulSet)
	given.arbitratorRevision, given.podTemplate = resources.ArbitratorRevision(imaged, pub.Options),
		resources.PodTemplateHash(imaged, pub.Options)
	given.agentImage = pub.Options.OperatorImage
	if c.Paused() {
		return given, nil, err
	}
	rootErr := errors.Join(pub.ensureRootSecret(ctx, f), pub.ensureExporterSecret(ctx, c), pub.ensureKeys(ctx, f))
	rootRefused := refusal(rootErr)
	restoring := restoring(f)
	given.Failed = cmp.Or(rootRefused, restoring)
	if restoring != nil && given.KeysRefused != nil && given.KeysRefused.Blocked {
		given.Failed = cmp.Or(rootRefused, given.KeysRefused) // the restore waits for the keys
	}
	if given.begins(c) && rootErr == nil && restoring == nil && given.KeysRefused == nil &&
		(given.MetadataRefused == nil || f.StatefulSet != nil) {
		objects = append(objects, resources.StatefulSet(imaged, pub.Options, statefulSet(f)))
	}
	if rootRefused != nil {
		rootErr = nil
	}
	guard(objects, f)
	notApplied, applyErr := pub.Apply(ctx, c, objects)
	return given, notApplied, errors.Join(err, rootErr, applyErr)
}

// config is the configuration to publish: the one before, while what the spec asks for is held back, but for what
// decides who accepts writes. Another cluster may have taken over meanwhile.
func (pub Publisher) config(f observe.Facts, seen map[string]observe.Seen, given Result) agentapi.NodeConfig {
	before := given.Config
	switch {
	case !given.Identity.Known(), f.Cluster.Paused() && before.Revision != "":
		return before
	case given.KeysRefused == nil && before.Revision == "" && f.StatefulSet != nil:
		f.Cluster = validate.WithoutForbidden(f.Cluster) // it was lost, and nodes go on with it
	case given.KeysRefused != nil, validate.Settings(f.Cluster, before) != nil:
		return resources.WithWrites(identified(f, seen, before).Cluster, before)
	}
	return pub.rendered(f, seen, resources.Encryption(before.TLS))
}

// begins reports whether nodes may start with the configuration: not with that of before the cluster has begun anew,
// while another one is held back. They would be in another group.
func (p Result) begins(c *v1alpha1.GaleraCluster) bool {
	return p.Config.Revision != "" && p.Config.UID == cmp.Or(p.Identity.UID, string(c.UID))
}

// Imaged is the cluster with the image its nodes are given: the present one while another is refused, with the reason.
func (pub Publisher) Imaged(f observe.Facts, seen map[string]observe.Seen) (*v1alpha1.GaleraCluster,
	*validate.Problem) {
	c := f.Cluster
	refused := validate.Image(resources.Image(c, pub.Options), f, seen)
	if refused != nil {
		c = c.DeepCopy()
		c.Spec.Image = observe.PublishedImage(f)
	}
	return c, refused
}

// labelled is the cluster with the labels and annotations its pods are given: the present ones while others are
// refused, with the reason.
func (pub Publisher) labelled(c *v1alpha1.GaleraCluster, have *appsv1.StatefulSet) (*v1alpha1.GaleraCluster,
	*validate.Problem) {
	refused := validate.PodMetadata(c, pub.Options)
	if refused != nil && have != nil {
		c = resources.WithPodMetadata(c, have, pub.Options)
	}
	return c, refused
}

// guard lets the configuration, the pods, and where the primary's Service leads, be replaced only if they still are
// what was seen.
func guard(objects []client.Object, f observe.Facts) {
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.ConfigMap:
			if f.Config != nil && o.Name == f.Config.Name {
				o.ResourceVersion = f.Config.ResourceVersion
			}
		case *corev1.Service:
			if f.PrimaryService != nil && o.Name == f.PrimaryService.Name {
				o.ResourceVersion = f.PrimaryService.ResourceVersion
			}
		case *appsv1.StatefulSet:
			if f.StatefulSet != nil {
				o.ResourceVersion = f.StatefulSet.ResourceVersion
			}
		}
	}
}

// Apply applies what it can. The first object that is refused for good becomes a Problem, and is not retried at
// once. No pod is created or changed to run under a ServiceAccount that is not the cluster's.
func (pub Publisher) Apply(ctx context.Context, c *v1alpha1.GaleraCluster, objects []client.Object) (
	*validate.Problem, error) {
	var refused *validate.Problem
	var errs []error
	ownAccount := true
	for _, o := range objects {
		if _, pods := o.(*appsv1.StatefulSet); pods && !ownAccount {
			continue
		}
		err := pub.apply(ctx, c, o)
		if _, account := o.(*corev1.ServiceAccount); account {
			ownAccount = err == nil
		}
		if problem := refusal(err); problem != nil {
			refused = cmp.Or(refused, problem)
			continue
		}
		errs = append(errs, err)
	}
	return refused, errors.Join(errs...)
}

// apply never changes the pods by an old state of the cluster: its status has the number of nodes, and whether they are
// hibernated, so that nodes of a larger cluster, or of one that serves, would go, and their volumes with them.
func (pub Publisher) apply(ctx context.Context, c *v1alpha1.GaleraCluster, o client.Object) error {
	if _, pods := o.(*appsv1.StatefulSet); pods {
		return pub.Objects.ApplyUnlessStale(ctx, c, o)
	}
	return pub.Objects.Apply(ctx, c.UID, o)
}

// refusal explains an error that a retry cannot cure, nil for any other.
func refusal(err error) *validate.Problem {
	var taken apply.ErrNameTaken
	switch {
	case errors.As(err, &taken):
		return &validate.Problem{Reason: v1alpha1.ReasonNameConflict, Message: taken.Error(), Blocked: true}
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return &validate.Problem{Reason: v1alpha1.ReasonAdmissionRefused, Blocked: true,
			Message: "the API server refuses an object of this cluster: " + err.Error()}
	}
	return nil
}

// expand makes volumes grow that are smaller than the spec asks for, and returns those that do, also with an error.
func (pub Publisher) expand(ctx context.Context, f observe.Facts) (map[string]*corev1.PersistentVolumeClaim, error) {
	grown := map[string]*corev1.PersistentVolumeClaim{}
	for _, p := range observe.Small(f) {
		if f.Rigid[p.Name] {
			continue // reported by a condition
		}
		larger, err := pub.Actor.Expand(ctx, p, f.Cluster.Spec.Storage.Size)
		if err != nil {
			return grown, err
		}
		grown[p.Name] = larger
	}
	return grown, nil
}

// statefulSet is what of the StatefulSet depends on more than the spec.
func statefulSet(f observe.Facts) resources.StatefulSetState {
	s := resources.StatefulSetState{Replicas: replicas(f), Claim: f.Cluster.Spec.Storage.Size,
		ClaimAnnotations: resources.NotPruned()}
	have := f.StatefulSet
	if have == nil {
		return s
	}
	if templates := have.Spec.VolumeClaimTemplates; len(templates) > 0 {
		s.Claim = templates[0].Spec.Resources.Requests[corev1.ResourceStorage]
		s.ClaimAnnotations = templates[0].Annotations
	}
	// Nodes are terminating while the set, or any pod, is beyond the recorded size.
	size := observe.Size(f)
	s.Leaving = have.Spec.Replicas != nil && int(*have.Spec.Replicas) > size
	for name := range f.Pods {
		s.Leaving = s.Leaving || name == resources.PodName(f.Cluster, size)
	}
	s.Leaving = s.Leaving && s.Replicas == int32(size)
	return s
}

// replicas is 0 once a hibernated cluster has stopped in order.
func replicas(f observe.Facts) int32 {
	if f.Cluster.Spec.Hibernate && observe.Hibernated(f.Cluster) {
		return 0
	}
	return int32(observe.Size(f))
}

// Published reads back the configuration the nodes were given last.
func Published(cm *corev1.ConfigMap) agentapi.NodeConfig {
	var n agentapi.NodeConfig
	if cm != nil {
		_ = json.Unmarshal([]byte(cm.Data[agentapi.ConfigKey]), &n) // an unreadable document is written anew
		if n.Namespace != cm.Namespace {
			return agentapi.NodeConfig{} // a copy of another cluster's
		}
	}
	return n
}

// rendered is the configuration with that encryption of replication. The resource version
// guards it: a decision from an old configuration never replaces a newer one.
func (pub Publisher) rendered(f observe.Facts, seen map[string]observe.Seen, e galera.Encryption) agentapi.NodeConfig {
	tls := resources.TLSConfig(f.Cluster)
	before := Published(f.Config)
	f = identified(f, seen, before)
	tls.PreferredSuite = observe.PreferredSuite(f, seen, before.TLS.PreferredSuite)
	if before.Revision != "" {
		tls = resources.Effective(tls, before.TLS, e)
	}
	return pub.withArbitrator(f, resources.NodeConfig(f.Cluster, observe.Size(f), tls, pub.Options))
}

// identified has the cluster with its identity, also after a loss of the status.
func identified(f observe.Facts, seen map[string]observe.Seen, before agentapi.NodeConfig) observe.Facts {
	if uid := observe.IdentityOf(f, seen, before).UID; uid != f.Cluster.Status.Identity {
		f.Cluster = f.Cluster.DeepCopy()
		f.Cluster.Status.Identity = uid
	}
	return f
}

// Encryption gives the nodes the next step of a switch.
func (pub Publisher) Encryption(ctx context.Context, in status.Input, p plan.PublishEncryption) error {
	f := in.Facts
	if before := Published(f.Config); before.Revision == "" || resources.Encryption(before.TLS) != p.From {
		return nil // it is another step's turn already
	}
	cm := resources.ConfigMap(f.Cluster, pub.rendered(f, in.Seen, p.To))
	cm.ResourceVersion = f.Config.ResourceVersion
	return pub.Objects.Apply(ctx, f.Cluster.UID, cm)
}

// ensureRootSecret creates root's password if there is none; an existing Secret is only labelled, so
// that the cache can see it.
func (pub Publisher) ensureRootSecret(ctx context.Context, f observe.Facts) error {
	if f.Root != nil {
		return rootOf(f.Cluster, f.Root)
	}
	have := &corev1.Secret{}
	key := client.ObjectKey{Namespace: f.Cluster.Namespace, Name: resources.RootSecretName(f.Cluster)}
	err := pub.Readers.Live.Get(ctx, key, have)
	if apierrors.IsNotFound(err) {
		return client.IgnoreAlreadyExists(pub.Create(ctx, resources.RootSecret(f.Cluster, rand.Text()),
			client.FieldOwner(ownership.FieldOwner)))
	}
	if err != nil {
		return err
	}
	if err := rootOf(f.Cluster, have); err != nil {
		return err
	}
	labelled := have.DeepCopy()
	if labelled.Labels == nil {
		labelled.Labels = map[string]string{}
	}
	labelled.Labels[v1alpha1.LabelCluster] = f.Cluster.Name
	return pub.Patch(ctx, labelled, client.MergeFrom(have))
}

// rootOf refuses another cluster's Secret; a user's own has no owner, and no label at first.
func rootOf(c *v1alpha1.GaleraCluster, s *corev1.Secret) error {
	owner := metav1.GetControllerOf(s)
	if of := s.Labels[v1alpha1.LabelCluster]; owner != nil && owner.UID != c.UID || of != "" && of != c.Name {
		return apply.ErrNameTaken{Kind: "Secret", Name: s.Name}
	}
	return nil
}

// withArbitrator names the arbitrator to the nodes as long as there is one.
func (pub Publisher) withArbitrator(f observe.Facts, n agentapi.NodeConfig) agentapi.NodeConfig {
	if !observe.HasArbitrator(f) {
		return n
	}
	return resources.WithArbitrator(f.Cluster, n, pub.Options)
}
