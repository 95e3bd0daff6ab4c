package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/go-logr/logr"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// revisionName is that of every simulated ControllerRevision.
const revisionName = "r1"

// world does the parts of cert-manager, of the StatefulSet controller and of kubelet, and holds the simulated clusters.
type world struct {
	client.Client
	ca pkitest.CA

	mu       sync.Mutex
	clusters map[client.ObjectKey]*cluster
	agents   map[string]*agent // by address
}

func startWorld(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) (*world, error) {
	log.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: controllerConfig()})
	if err != nil {
		return nil, err
	}
	w := &world{Client: mgr.GetClient(), ca: pkitest.NewCAUntil("nodes", time.Now().Add(12*time.Hour)),
		clusters: map[client.ObjectKey]*cluster{}, agents: map[string]*agent{}}
	labelled := builder.WithPredicates(predicate.NewPredicateFuncs(
		func(o client.Object) bool { return o.GetLabels()[v1alpha1.LabelCluster] != "" }))
	many := controller.Options{MaxConcurrentReconciles: 8}
	err = errors.Join(
		ctrl.NewControllerManagedBy(mgr).Named("issue").For(&certmanagerv1.Certificate{}, labelled).WithOptions(many).
			Complete(reconcile.Func(w.issue)),
		ctrl.NewControllerManagedBy(mgr).Named("pods").For(&appsv1.StatefulSet{}, labelled).Owns(&corev1.Pod{}).
			WithOptions(many).Complete(reconcile.Func(w.runPods)),
		ctrl.NewControllerManagedBy(mgr).Named("config").For(&corev1.ConfigMap{}, labelled).WithOptions(many).
			Complete(reconcile.Func(w.readConfig)),
		ctrl.NewControllerManagedBy(mgr).Named("tls").For(&corev1.Secret{}, labelled).WithOptions(many).
			Complete(reconcile.Func(w.readPair)),
	)
	if err != nil {
		return nil, err
	}
	if err := w.serve(ctx); err != nil {
		return nil, err
	}
	go func() {
		if err := mgr.Start(ctx); err != nil {
			progress("the simulated Kubernetes has ended: %v", err)
		}
	}()
	go w.prove(ctx)
	return w, nil
}

// issue does cert-manager's part.
func (w *world) issue(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var c certmanagerv1.Certificate
	if err := w.Get(ctx, req.NamespacedName, &c); err != nil || c.Spec.IsCA {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	cert, key := w.ca.Issue(pkitest.Leaf{Names: c.Spec.DNSNames, NotAfter: time.Now().Add(11 * time.Hour)})
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Spec.SecretName},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": w.ca.PEM}}
	if t := c.Spec.SecretTemplate; t != nil {
		s.Labels, s.Annotations = t.Labels, t.Annotations
	}
	err := w.Create(ctx, s)
	if apierrors.IsAlreadyExists(err) {
		err = nil // one pair is enough
	}
	return reconcile.Result{}, err
}

// runPods does the part of the StatefulSet controller and of kubelet: the address of a pod is that of its simulated
// agent.
func (w *world) runPods(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var sts appsv1.StatefulSet
	if err := w.Get(ctx, req.NamespacedName, &sts); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	c := w.cluster(req.NamespacedName)
	for i := range int(*sts.Spec.Replicas) {
		if err := w.runPod(ctx, &sts, c.member(i)); err != nil {
			return reconcile.Result{}, err
		}
	}
	if sts.Status.ObservedGeneration == sts.Generation {
		return reconcile.Result{}, nil
	}
	sts.Status.ObservedGeneration, sts.Status.UpdateRevision, sts.Status.Replicas = sts.Generation, revisionName,
		*sts.Spec.Replicas
	return reconcile.Result{}, w.Status().Update(ctx, &sts)
}

func (w *world) runPod(ctx context.Context, sts *appsv1.StatefulSet, a *agent) error {
	var p corev1.Pod
	err := w.Get(ctx, client.ObjectKey{Namespace: sts.Namespace, Name: a.name}, &p)
	if err == nil || !apierrors.IsNotFound(err) {
		return err
	}
	p = corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: sts.Namespace, Name: a.name, Labels: map[string]string{},
		Annotations: sts.Spec.Template.Annotations,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(sts,
			appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}}}
	for k, v := range sts.Spec.Template.Labels {
		p.Labels[k] = v
	}
	p.Labels[appsv1.ControllerRevisionHashLabelKey] = revisionName
	p.Spec = *sts.Spec.Template.Spec.DeepCopy() // as large as a real one
	for _, claim := range sts.Spec.VolumeClaimTemplates {
		p.Spec.Volumes = append(p.Spec.Volumes,
			corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	if err := w.Create(ctx, &p); err != nil {
		return client.IgnoreAlreadyExists(err)
	}
	created := p.DeepCopy()
	p.Status.PodIP, p.Status.PodIPs = a.address, []corev1.PodIP{{IP: a.address}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image,
			ImageID: c.Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}})
	}
	return w.Status().Patch(ctx, &p, client.MergeFrom(created))
}

// readConfig and readPair do what a mounted volume does.
func (w *world) readConfig(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var m corev1.ConfigMap
	if err := w.Get(ctx, req.NamespacedName, &m); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	w.cluster(ownerOf(&m)).load(m.Data)
	return reconcile.Result{}, nil
}

func (w *world) readPair(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var s corev1.Secret
	if err := w.Get(ctx, req.NamespacedName, &s); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if key := ownerOf(&s); s.Name == key.Name+"-tls" {
		w.cluster(key).install(s.Data)
	}
	return reconcile.Result{}, nil
}

func ownerOf(o client.Object) client.ObjectKey {
	return client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetLabels()[v1alpha1.LabelCluster]}
}

// cluster returns the simulated cluster of a name, and makes it when it is new.
func (w *world) cluster(key client.ObjectKey) *cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.clusters[key]
	if c == nil {
		c = newCluster(key, len(w.clusters))
		w.clusters[key] = c
		for _, a := range c.members {
			w.agents[a.address] = a
		}
	}
	return c
}

func (w *world) agent(address string) (*agent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.agents[address]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("nothing is simulated at %s", address)
}

// prove repeats what an agent observes of the encryption.
func (w *world) prove(ctx context.Context) {
	for pause(ctx, 15*time.Second) == nil {
		w.mu.Lock()
		var all []*cluster
		for _, c := range w.clusters {
			all = append(all, c)
		}
		w.mu.Unlock()
		for _, c := range all {
			c.change(func() {})
		}
	}
}

func (w *world) crash(key client.ObjectKey)                 { w.cluster(key).crash() }
func (w *world) slow(key client.ObjectKey, d time.Duration) { w.cluster(key).slowness.Store(int64(d)) }
func (w *world) primary(key client.ObjectKey) bool          { return w.cluster(key).whole() }
