package related

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
)

// Kinds that are read.
const (
	store    = "GaleraBackupStore"
	schedule = "GaleraBackupSchedule"
	backup   = "GaleraBackup"
	user     = "GaleraUser"
	database = "GaleraDatabase"
	proxy    = "GaleraProxy"
	binding  = "Secret"
)

// Why a kind could not be read.
const (
	// Forbidden: the person lacks the right.
	Forbidden = "Forbidden"
	// NotInstalled: the operator is older than the plugin, or its CRDs are.
	NotInstalled = "NotInstalled"
	// Unreadable is any other error.
	Unreadable = "Unreadable"
)

// Unread is a kind that could not be read.
type Unread struct {
	Kind string `json:"kind"`
	// Namespace is "" for all namespaces.
	Namespace string `json:"namespace,omitempty"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}

// Read collects what refers to a cluster. What cannot be read is named, and the rest is read.
func Read(ctx context.Context, kube client.Reader, c *v1alpha1.GaleraCluster) Objects {
	r := reader{kube, &Objects{Secrets: map[string][]string{}}}
	var stores v1alpha1.GaleraBackupStoreList
	var schedules v1alpha1.GaleraBackupScheduleList
	var backups v1alpha1.GaleraBackupList
	r.list(ctx, store, c.Namespace, &stores)
	r.list(ctx, schedule, c.Namespace, &schedules)
	r.list(ctx, backup, c.Namespace, &backups)
	r.to.Stores = stores.Items
	r.to.Schedules = slices.DeleteFunc(schedules.Items,
		func(s v1alpha1.GaleraBackupSchedule) bool { return s.Spec.Template.ClusterRef.Name != c.Name })
	r.to.Backups = slices.DeleteFunc(backups.Items, func(b v1alpha1.GaleraBackup) bool {
		namespace, name := b.Source()
		return name != c.Name || namespace != c.Namespace || clone.Owner(&b) != nil || // a clone's goes soon
			b.Spec.Import != nil // may be of an earlier cluster of this name
	})

	var users v1alpha1.GaleraUserList
	var databases v1alpha1.GaleraDatabaseList
	r.accounts(ctx, user, c, &users)
	r.accounts(ctx, database, c, &databases)
	r.to.Users = slices.DeleteFunc(users.Items, func(u v1alpha1.GaleraUser) bool { return other(c)(u.Cluster()) })
	r.to.Databases = slices.DeleteFunc(databases.Items,
		func(d v1alpha1.GaleraDatabase) bool { return other(c)(d.Cluster()) })
	r.bindings(ctx)
	var proxies v1alpha1.GaleraProxyList
	r.list(ctx, proxy, c.Namespace, &proxies)
	r.to.Proxies = slices.DeleteFunc(proxies.Items,
		func(p v1alpha1.GaleraProxy) bool { return p.Spec.ClusterRef.Name != c.Name })
	r.to.Leases = leases(ctx, kube)
	return *r.to
}

func other(c *v1alpha1.GaleraCluster) func(namespace, name string) bool {
	return func(namespace, name string) bool { return namespace != c.Namespace || name != c.Name }
}

type reader struct {
	kube client.Reader
	to   *Objects
}

// list reads a kind of a namespace, "" for all, and notes why it could not.
func (r reader) list(ctx context.Context, kind, namespace string, list client.ObjectList, o ...client.ListOption) bool {
	err := r.kube.List(ctx, list, append(o, client.InNamespace(namespace))...)
	if err == nil {
		return true
	}
	reason := Unreadable
	switch {
	case apierrors.IsForbidden(err):
		reason = Forbidden
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		reason = NotInstalled
	}
	r.to.Unread = append(r.to.Unread, Unread{kind, namespace, reason, err.Error()})
	return false
}

// accounts are in all namespaces if the cluster admits others. Who may not read all of them sees those of the cluster's
// namespace.
func (r reader) accounts(ctx context.Context, kind string, c *v1alpha1.GaleraCluster, list client.ObjectList) {
	if c.Spec.AllowedNamespaces != nil && r.list(ctx, kind, "", list) {
		return
	}
	r.list(ctx, kind, c.Namespace, list)
}

// bindings lists the binding Secrets of the users: their names only, never their content.
func (r reader) bindings(ctx context.Context) {
	for _, u := range r.to.Users {
		ns := u.Namespace
		if _, reported := r.to.Secrets[ns]; reported || u.Status.Binding == nil || r.to.unreadIn(binding, ns) {
			continue
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		if !r.list(ctx, binding, ns, list, client.HasLabels{v1alpha1.LabelUser}) {
			continue
		}
		r.to.Secrets[ns] = []string{}
		for _, s := range list.Items {
			r.to.Secrets[ns] = append(r.to.Secrets[ns], s.Name)
		}
	}
}

func (o *Objects) unreadIn(kind, namespace string) bool {
	return slices.ContainsFunc(o.Unread, func(u Unread) bool { return u.Kind == kind && u.Namespace == namespace })
}
