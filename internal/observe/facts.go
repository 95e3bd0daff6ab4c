package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Facts are the objects of one cluster in the API server. A nil pointer means "does not exist".
type Facts struct {
	Cluster     *v1alpha1.GaleraCluster
	StatefulSet *appsv1.StatefulSet
	// Pods by name.
	Pods map[string]*corev1.Pod
	// Claims on volumes by name, those of nodes that were scaled away included.
	Claims map[string]*corev1.PersistentVolumeClaim
	// Arbitrator is the Deployment of the arbitrator, ArbitratorPod its newest pod, and ArbitratorRevision
	// what its template is to be.
	Arbitrator         *appsv1.Deployment
	ArbitratorPod      *corev1.Pod
	ArbitratorRevision string
	// PodTemplate is the hash of the pods' template as it is to be: resources.PodTemplateHash.
	PodTemplate string
	// AgentImage is the image agents are taken from.
	AgentImage string
	// PrimaryService is NAME-primary, when it is this cluster's.
	PrimaryService *corev1.Service
	// Config is the published ConfigMap.
	Config *corev1.ConfigMap
	// ClientTrust is the ConfigMap NAME-ca, which clients read.
	ClientTrust *corev1.ConfigMap
	// Root, Issued and Published are the Secrets NAME-root, NAME-issued and NAME-tls.
	Root, Issued, Published *corev1.Secret
	// CAPair is the private CA's Secret; nil when an issuer is named.
	CAPair *corev1.Secret
	// SigningCA is the certificate, in PEM, of the CA the issuer signs with, nil when it is not known.
	SigningCA []byte
	// Users reports whether GaleraUsers have certificates for this cluster, and ClientCA is the Secret of the CA that
	// issues them.
	Users    bool
	ClientCA *corev1.Secret
	// Certificate is the request for the nodes' certificate.
	Certificate *certmanagerv1.Certificate
	// Issuer is what the user's issuerRef names; nil without issuerRef or when it does not exist.
	Issuer *certmanagerv1.IssuerStatus
	// StorageClassProblem describes what is wrong with the storage class, "" when nothing is.
	StorageClassProblem string
	// Cordoned are the hosts of its pods that take no new ones.
	Cordoned map[string]bool
	// Unread is what could not be read and is taken as not known: it keeps nothing from being done that does not need it.
	Unread error
	// Holders are the pods that mount a member's claim that is being deleted, by the claim's name.
	Holders map[string][]Holder
	// Keys are the encryption keys; nil when there are to be none, and when they could not be read.
	Keys *Keys
	// Proxies are those of the cluster, and ProxiesUnknown reports whether there may be others.
	Proxies        []v1alpha1.GaleraProxy
	ProxiesUnknown bool
	// ProxyLeaves are the certificates that were issued to them, by their names.
	ProxyLeaves map[string][]byte
	// Rigid are the claims that are smaller than wanted and whose class does not let them grow.
	Rigid map[string]bool
}

// Readers of the API server: Cached sees only objects with the cluster label, Live sees all.
type Readers struct {
	Cached client.Reader
	Live   client.Reader
	// Signing remembers what was read of users' issuers; nil to read none.
	Signing *SigningCAs
}

// Gather reads everything about a cluster.
func (r Readers) Gather(ctx context.Context, c *v1alpha1.GaleraCluster) (Facts, error) {
	var err error
	f := Facts{Cluster: c, Pods: map[string]*corev1.Pod{},
		Claims: map[string]*corev1.PersistentVolumeClaim{}, Rigid: map[string]bool{},
		Holders: map[string][]Holder{}}
	get := func(name string, o client.Object) bool {
		if err != nil {
			return false
		}
		key := client.ObjectKey{Namespace: c.Namespace, Name: name}
		e := r.Cached.Get(ctx, key, o)
		if e == nil && o.GetAnnotations()[v1alpha1.AnnotationTooLarge] != "" {
			e = r.Live.Get(ctx, key, o) // the cache keeps no data of it
		}
		if e != nil && !apierrors.IsNotFound(e) {
			err = fmt.Errorf("reading %s: %w", name, e)
		}
		return e == nil
	}
	f.StatefulSet = found(get, resources.StatefulSetName(c), &appsv1.StatefulSet{})
	f.Config = found(get, resources.ConfigMapName(c), &corev1.ConfigMap{})
	f.ClientTrust = found(get, resources.CAConfigMapName(c), &corev1.ConfigMap{})
	f.Root = found(get, resources.RootSecretName(c), &corev1.Secret{})
	f.Issued = found(get, resources.IssuedSecretName(c), &corev1.Secret{})
	f.Published = found(get, resources.TLSSecretName(c), &corev1.Secret{})
	if c.Spec.TLS.IssuerRef == nil {
		f.CAPair = found(get, resources.CAPairName(c), &corev1.Secret{})
	}
	if f.Users, err = r.certified(ctx, c, err); err == nil && f.Users {
		f.ClientCA = found(get, resources.ClientCAPairName(c), &corev1.Secret{})
	}
	if err != nil {
		return f, err
	}
	for _, read := range []func(context.Context, *Facts) error{r.pods, r.primaryService, r.arbitrator, r.claims} {
		if err := read(ctx, &f); err != nil {
			return f, err
		}
	}
	r.surroundings(ctx, &f)
	return f, nil
}

// surroundingsTimeout bounds the uncached reads of objects that are not the cluster's own.
const surroundingsTimeout = 2 * time.Second

// surroundings reads objects that a running cluster does not need: those of cert-manager, StorageClasses, and hosts. An
// error there delays nothing else.
func (r Readers) surroundings(ctx context.Context, f *Facts) {
	ctx, cancel := context.WithTimeout(ctx, surroundingsTimeout)
	defer cancel()
	var errs []error
	for _, read := range []func(context.Context, *Facts) error{r.certificate, r.issuer, r.signingCA, r.classes,
		r.storageClass, r.hosts, r.holders, r.keys, r.proxies} {
		if err := read(ctx, f); !kindsMissing(err) {
			errs = append(errs, err)
		}
	}
	f.Unread = errors.Join(errs...)
}

// kindsMissing reports whether cert-manager's kinds do not exist, which is reported elsewhere.
func kindsMissing(err error) bool {
	var none ErrNoCertManager
	return errors.As(err, &none) || meta.IsNoMatchError(err)
}

func (r Readers) certificate(ctx context.Context, f *Facts) error {
	c := &certmanagerv1.Certificate{}
	err := r.Cached.Get(ctx, client.ObjectKey{Namespace: f.Cluster.Namespace, Name: resources.IssuedSecretName(f.Cluster)},
		c)
	if err == nil {
		f.Certificate = c
	}
	return client.IgnoreNotFound(err)
}

func found[T any](get func(string, client.Object) bool, name string, o *T) *T {
	if !get(name, any(o).(client.Object)) {
		return nil
	}
	return o
}

func (r Readers) pods(ctx context.Context, f *Facts) error {
	var pods corev1.PodList
	err := r.Cached.List(ctx, &pods, client.InNamespace(f.Cluster.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: f.Cluster.Name})
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if slices.ContainsFunc(p.OwnerReferences, ownedBy(f.StatefulSet)) || awaitsOwner(p, *f) {
			f.Pods[p.Name] = p
		}
	}
	return nil
}

// issuer reads the user's issuer only while no certificate has been issued from it: only then
// the status reports it.
func (r Readers) issuer(ctx context.Context, f *Facts) error {
	ref := f.Cluster.Spec.TLS.IssuerRef
	if ref == nil || certificateReady(f.Certificate) {
		return nil
	}
	var o client.Object = &certmanagerv1.Issuer{}
	key := client.ObjectKey{Name: ref.Name, Namespace: f.Cluster.Namespace}
	if ref.Kind == certmanagerv1.ClusterIssuerKind {
		o, key.Namespace = &certmanagerv1.ClusterIssuer{}, ""
	}
	err := r.Live.Get(ctx, key, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	f.Issuer = o.(certmanagerv1.GenericIssuer).GetStatus() // an empty one when it could not be read: it may be ready
	return err
}

// classes asks whether the claims that are to grow can.
func (r Readers) classes(ctx context.Context, f *Facts) error {
	for _, p := range Small(*f) {
		ok, err := r.expandable(ctx, p)
		if err != nil {
			return err
		}
		f.Rigid[p.Name] = !ok
	}
	return nil
}

// storageClass reads the class only while pods are missing or pending.
func (r Readers) storageClass(ctx context.Context, f *Facts) error {
	if !waitingForVolumes(f) {
		return nil
	}
	if left, err := r.leftover(ctx, *f); err != nil || left != "" {
		f.StorageClassProblem = left
		return err
	}
	if name := f.Cluster.Spec.Storage.StorageClassName; name != nil && *name != "" {
		err := r.Live.Get(ctx, client.ObjectKey{Name: *name}, &storagev1.StorageClass{})
		if apierrors.IsNotFound(err) {
			f.StorageClassProblem = fmt.Sprintf("the StorageClass %q does not exist; create it%s", *name, orAnotherClass(*f))
			return nil
		}
		return err
	}
	var classes storagev1.StorageClassList
	if err := r.Live.List(ctx, &classes); err != nil {
		return err
	}
	for _, sc := range classes.Items {
		if sc.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			return nil
		}
	}
	f.StorageClassProblem = "spec.storage.storageClassName is not set and no StorageClass is marked as default; mark " +
		"one, or name one"
	return nil
}

func waitingForVolumes(f *Facts) bool {
	for _, p := range f.Pods {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return true
			}
		}
	}
	return false
}

func certificateReady(c *certmanagerv1.Certificate) bool {
	if c == nil {
		return false
	}
	for _, cond := range c.Status.Conditions {
		if cond.Type == certmanagerv1.CertificateConditionReady {
			return string(cond.Status) == "True"
		}
	}
	return false
}
