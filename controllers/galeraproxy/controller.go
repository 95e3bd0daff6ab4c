// Package galeraproxy reconciles every GaleraProxy: its objects, the state that its pods run with, and what they
// report.
package galeraproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/proxy"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraproxies,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraproxies/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraproxies/finalizers,verbs=update
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters;galerausers,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services;secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods;configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates/status,verbs=patch

const (
	// askInterval is how often the pods are asked while all is well, changingInterval while it is not.
	askInterval      = 5 * time.Second
	changingInterval = time.Second
	// countInterval is how often a status is written of which only numbers differ.
	countInterval = time.Minute
	// absentInterval is the pause while there is nothing to do but to wait for an event.
	absentInterval = 5 * time.Minute
	// maxPods bounds the pods that one pass asks: twice as many as a spec may ask for.
	maxPods = 32
)

// Reconciler brings one GaleraProxy a step further, every time it is asked.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live    client.Reader
	Objects *apply.Objects
	Options resources.Options
	// Calls send pods their state.
	Calls *calls.Calls[observe.Target, *agentapi.ProxyState, agentapi.ProxyReport]
	// Forget ends the connections to a pod that is gone.
	Forget func(observe.Target)
	// ControlCA returns the CA of the operator's client certificate.
	ControlCA func() ([]byte, error)
	// Refusals are the changes that the API server refuses.
	Refusals retry.Refusals
	// Now is the clock.
	Now func() time.Time

	mu    sync.Mutex
	asked map[types.NamespacedName][]observe.Target
	// answers are the last ones of the pods that are asked.
	answers map[observe.Target]answer
	// newest is the newest revision that a pod knows, and written when the status was written last.
	newest  map[types.NamespacedName]int64
	written map[types.NamespacedName]time.Time
}

// Reconcile makes one pass: get, observe, decide, act, write the status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	p := &v1alpha1.GaleraProxy{}
	defer r.Calls.EndPass(req.NamespacedName)
	defer func() {
		o := p.DeepCopy()
		result, err = r.Refusals.Report(ctx, r.Client, req.NamespacedName, o, &o.Status.Conditions, result, err,
			v1alpha1.ConditionReady)
	}()
	if err := r.Get(ctx, req.NamespacedName, p); err != nil || p.DeletionTimestamp != nil {
		r.follow(req.NamespacedName, nil)
		return ctrl.Result{}, client.IgnoreNotFound(err) // what it owns goes with it
	}
	next := p.DeepCopy()
	again, err := r.pass(ctx, p, &next.Status)
	if err != nil {
		if failed := r.expire(ctx, p); failed != nil {
			err = errors.Join(err, failed)
		}
		return retry.Pass(0, err)
	}
	next.Status.ObservedGeneration = p.Generation
	r.Refusals.Apply(next, &next.Status.Conditions, v1alpha1.ConditionReady)
	if err := r.write(ctx, p, next); err != nil {
		return retry.Pass(0, err)
	}
	return retry.Pass(again, nil)
}

// expire takes back a proof that this pass, and those before it, could not renew: it would stand for ever.
func (r *Reconciler) expire(ctx context.Context, p *v1alpha1.GaleraProxy) error {
	if !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionEncrypted) ||
		proxy.Lately(p.Status.Proof, r.Now()) {
		return nil
	}
	next := p.DeepCopy()
	unproved(next, &next.Status, "the operator cannot bring this proxy up to date, and has not proved it for "+
		proxy.ProofLasts.String()+": Stalled, or else the operator's log, has the reason")
	if err := r.Status().Update(ctx, next); err != nil {
		return err
	}
	next.DeepCopyInto(p) // what is reported next is written over this status
	return nil
}

// unproved takes back the proof of both channels.
func unproved(p *v1alpha1.GaleraProxy, to *v1alpha1.GaleraProxyStatus, message string) {
	to.Proof = nil
	status.SetCondition(&to.Conditions, p.Generation, v1alpha1.ConditionEncrypted, false, v1alpha1.ReasonNotYetProved,
		message)
}

// write writes the status when it differs: what is only counted, once in countInterval.
func (r *Reconciler) write(ctx context.Context, before, next *v1alpha1.GaleraProxy) error {
	key := client.ObjectKeyFromObject(next)
	r.mu.Lock()
	recent := r.Now().Sub(r.written[key]) < countInterval
	r.mu.Unlock()
	if equality.Semantic.DeepEqual(before.Status, next.Status) || recent && proxy.OnlyCounts(before.Status, next.Status) {
		return nil
	}
	if err := r.Status().Update(ctx, next); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written == nil {
		r.written = map[types.NamespacedName]time.Time{}
	}
	r.written[key] = r.Now()
	return nil
}

// pass makes the objects, sends the pods their state, and sets the status. It returns when to reconcile again.
func (r *Reconciler) pass(ctx context.Context, p *v1alpha1.GaleraProxy, to *v1alpha1.GaleraProxyStatus) (time.Duration,
	error) {
	c := &v1alpha1.GaleraCluster{}
	err := r.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ClusterRef.Name}, c)
	switch {
	case apierrors.IsNotFound(err):
		r.blocked(p, to, v1alpha1.ReasonClusterNotFound, fmt.Sprintf(
			"there is no GaleraCluster %q in this namespace: create it, or delete this object", p.Spec.ClusterRef.Name))
		return absentInterval, nil
	case err != nil:
		return 0, err
	case c.Spec.TLS.Clients == v1alpha1.TLSDisabled:
		to.Pools = nil // its connections are refused: no node waits for them before it stops
		r.blocked(p, to, v1alpha1.ReasonTLSUnavailable,
			"the cluster offers clients no TLS (spec.tls.clients: Disabled), and a proxy connects to nodes by TLS alone: set "+
				"it to Required or Preferred")
		return absentInterval, nil
	case p.Status.Proof != nil && p.Status.Proof.Clients != c.Spec.TLS.Clients: // before the pods get another policy
		unproved(p, to, fmt.Sprintf(
			"the cluster's spec.tls.clients is %s now, and the pods have not proved that yet", c.Spec.TLS.Clients))
		return changingInterval, nil
	}
	s, refused, err := r.publish(ctx, p, c)
	if taken := (apply.ErrNameTaken{}); errors.As(err, &taken) {
		r.blocked(p, to, v1alpha1.ReasonNameTaken, fmt.Sprintf(
			"the %s %q exists and does not belong to this proxy: delete it, or give the proxy another name", taken.Kind,
			taken.Name))
		return time.Minute, nil
	}
	if err != nil {
		return 0, err
	}
	if s == nil {
		r.blocked(p, to, v1alpha1.ReasonCertificatePending,
			"the cluster has no certificate yet: the proxy is made when it has")
		return changingInterval, nil
	}
	if err := r.ownIssued(ctx, p); err != nil {
		return 0, err
	}
	if err := r.renewIssued(ctx, p, c); err != nil { // the pods go on with the one that they have
		log.FromContext(ctx).Error(err, "asking cert-manager for a certificate of the new CA")
	}
	pods, err := r.ask(ctx, p, s)
	if err != nil {
		return 0, err
	}
	d := &appsv1.Deployment{}
	if err := client.IgnoreNotFound(r.Get(ctx, client.ObjectKeyFromObject(p), d)); err != nil {
		return 0, err
	}
	to.Replicas, to.ReadyReplicas = d.Status.Replicas, d.Status.ReadyReplicas
	to.Selector = labels.Set(resources.ProxySelector(p)).String()
	to.Endpoint = fmt.Sprintf("%s:%d", resources.ProxyHost(p), agentapi.ProxyPort)
	to.Users, to.RefusedUsers = int32(min(len(s.Users), agentapi.MaxProxyUsers)), refused //nolint:gosec // bounded
	proxy.Summary(*s, pods, to)
	return r.judge(p, c, *s, pods, to), nil
}

// judge sets the conditions by what the pods have answered. It returns when to ask them again.
func (r *Reconciler) judge(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster, s agentapi.ProxyState, pods []proxy.Pod,
	to *v1alpha1.GaleraProxyStatus) time.Duration {
	ready := proxy.Ready(p, s, proxy.Lasting(pods), to.ReadyReplicas)
	encrypted := proxy.Encrypted(c, s, proxy.Lasting(pods), r.Now())
	if to.Proof = nil; encrypted.True {
		to.Proof = &v1alpha1.ProxyProof{Clients: c.Spec.TLS.Clients, ProvedAt: metav1.NewTime(r.Now())}
	}
	status.SetCondition(&to.Conditions, p.Generation, v1alpha1.ConditionReady, ready.True, ready.Reason, ready.Message)
	status.SetCondition(&to.Conditions, p.Generation, v1alpha1.ConditionEncrypted, encrypted.True, encrypted.Reason,
		encrypted.Message)
	status.SetProgress(&to.Conditions, p.Generation, status.Progress{Working: !ready.True, Reason: ready.Reason,
		Message: ready.Message})
	if ready.True && encrypted.True && !proxy.Draining(to) {
		return askInterval
	}
	return changingInterval
}

// blocked reports what a person has to do. Pods that are there go on with the state that they have.
func (r *Reconciler) blocked(p *v1alpha1.GaleraProxy, to *v1alpha1.GaleraProxyStatus, reason, message string) {
	status.SetCondition(&to.Conditions, p.Generation, v1alpha1.ConditionReady, false, reason, message)
	stalled := reason != v1alpha1.ReasonCertificatePending
	unproved(p, to, message) // an earlier proof would stand for ever
	status.SetProgress(&to.Conditions, p.Generation, status.Progress{Working: !stalled, Stalled: stalled, Reason: reason,
		Message: message})
}

// publish makes the objects and the state. It returns no state while the cluster has no certificate.
func (r *Reconciler) publish(ctx context.Context, p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster) (
	*agentapi.ProxyState, []v1alpha1.RefusedUser, error) {
	have := &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: resources.ProxyStateName(p)}, have)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, err
	}
	if err != nil {
		have = nil
		if err := r.unclaimed(ctx, p); err != nil {
			return nil, nil, err
		}
	}
	f, err := r.observe(ctx, p, c)
	if err != nil || f.CA == "" {
		return nil, nil, err
	}
	if have != nil && json.Unmarshal(have.Data[agentapi.ProxyStateKey], &f.Before) != nil {
		f.Before = agentapi.ProxyState{}
	}
	s, refused := proxy.State(f)
	s.Revision = proxy.Revision(f.Before, s, r.known(client.ObjectKeyFromObject(p)), r.Now())
	text, err := json.Marshal(s)
	if err != nil {
		return nil, nil, err
	}
	secret := resources.ProxyState(p, c, text)
	if have != nil {
		secret.ResourceVersion = have.ResourceVersion // what was made from an old state is never published over a newer one
	}
	d := &appsv1.Deployment{}
	if err := client.IgnoreNotFound(r.Get(ctx, client.ObjectKeyFromObject(p), d)); err != nil {
		return nil, nil, err
	}
	trust := proxy.Trusted(proxy.Trust{Pods: d.Spec.Template.Annotations[v1alpha1.AnnotationTrusts],
		Given: d.Annotations[v1alpha1.AnnotationTrusts]}, f.Before.CA, f.CA)
	objects := resources.ProxyObjects(p, c, r.Options, trust.Pods, trust.Given)
	for _, o := range append([]client.Object{secret}, objects...) {
		if err := r.Objects.Apply(ctx, p.UID, o); err != nil {
			return nil, nil, err
		}
	}
	return &s, refused, r.prune(ctx, p, c)
}

// prune deletes the NetworkPolicy that the cluster no longer asks for: exactly the one that was seen.
func (r *Reconciler) prune(ctx context.Context, p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster) error {
	if enabled := c.Spec.NetworkPolicy.Enabled; enabled == nil || *enabled {
		return nil
	}
	have := &networkingv1.NetworkPolicy{}
	err := r.Get(ctx, client.ObjectKeyFromObject(p), have)
	if err != nil || !metav1.IsControlledBy(have, p) {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(r.Delete(ctx, have, client.Preconditions{UID: new(have.UID)}))
}

// unclaimed finds an object of another owner that is in the way, before any is made.
func (r *Reconciler) unclaimed(ctx context.Context, p *v1alpha1.GaleraProxy) error {
	for _, o := range resources.ProxyNames(p) {
		_, err := ownership.Theirs(ctx, r.Client, r.Live, p.UID, o)
		if foreign := (ownership.ErrForeign{}); errors.As(err, &foreign) {
			return apply.ErrNameTaken{Kind: foreign.Kind, Name: foreign.Name}
		}
		if err != nil {
			return err
		}
	}
	issued := &metav1.PartialObjectMetadata{}
	issued.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: resources.ProxyIssuedName(p)}, issued)
	if err == nil && issued.Labels[v1alpha1.LabelProxy] != p.Name {
		return apply.ErrNameTaken{Kind: "Secret", Name: issued.Name}
	}
	return client.IgnoreNotFound(err)
}

// observe reads what the state is decided from.
func (r *Reconciler) observe(ctx context.Context, p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster) (proxy.Facts,
	error) {
	f := proxy.Facts{Proxy: p, Cluster: c, Addresses: map[string]string{}, Terminating: map[string]bool{},
		ServerName: func(node string) string { return resources.ServerName(c, node) }}
	ca := &corev1.ConfigMap{}
	err := r.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.CAConfigMapName(c)}, ca)
	if err != nil {
		return f, client.IgnoreNotFound(err)
	}
	f.CA = ca.Data[resources.CAKey]
	control, err := r.ControlCA()
	if err != nil {
		return f, fmt.Errorf("reading the operator's own certificate: %w", err)
	}
	f.ControlCA = string(control)
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(c.Namespace),
		client.MatchingLabels(resources.Selector(c))); err != nil {
		return f, err
	}
	for i := range pods.Items {
		f.Addresses[pods.Items[i].Name] = pods.Items[i].Status.PodIP
		f.Terminating[pods.Items[i].Name] = pods.Items[i].DeletionTimestamp != nil
	}
	var users v1alpha1.GaleraUserList
	if err := r.List(ctx, &users, client.UnsafeDisableDeepCopy); err != nil {
		return f, err
	}
	passwords := map[types.NamespacedName]string{}
	for i := range users.Items {
		u := &users.Items[i]
		if namespace, name := u.Cluster(); namespace != c.Namespace || name != c.Name {
			continue
		}
		f.Users = append(f.Users, *u)
		key := client.ObjectKeyFromObject(u)
		if passwords[key], err = r.password(ctx, u); err != nil {
			return f, err
		}
	}
	f.Password = func(u *v1alpha1.GaleraUser) string { return passwords[client.ObjectKeyFromObject(u)] }
	return f, nil
}

// password returns the one that the user's binding Secret holds.
func (r *Reconciler) password(ctx context.Context, u *v1alpha1.GaleraUser) (string, error) {
	s := &corev1.Secret{}
	err := r.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: u.BindingName()}, s)
	if err != nil || !metav1.IsControlledBy(s, u) {
		return "", client.IgnoreNotFound(err)
	}
	return string(s.Data["password"]), nil
}
