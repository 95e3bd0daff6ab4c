package resources

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Values of the common app.kubernetes.io labels.
const (
	appName           = "mariadb-galera"
	componentDatabase = "database"
	managedBy         = "galera-operator"

	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelManagedBy = "app.kubernetes.io/managed-by"
	labelPartOf    = "app.kubernetes.io/part-of"
)

// Labels returns the labels of every object of the cluster. Nothing in them depends on the spec
// or on a version: claim templates cannot be changed, and pods must not be restarted for a label.
func Labels(c *v1alpha1.GaleraCluster) map[string]string {
	return map[string]string{
		v1alpha1.LabelCluster: c.Name,
		labelName:             appName,
		labelInstance:         c.Name,
		labelComponent:        componentDatabase,
		labelManagedBy:        managedBy,
		labelPartOf:           c.Name,
	}
}

// Selector returns the labels that select the cluster's database pods. The component keeps apart
// what else carries the cluster's label, for instance the pods of a Job.
func Selector(c *v1alpha1.GaleraCluster) map[string]string {
	return map[string]string{
		v1alpha1.LabelCluster: c.Name,
		labelComponent:        componentDatabase,
	}
}

func withLabel(labels map[string]string, key, value string) map[string]string {
	labels = maps.Clone(labels)
	labels[key] = value
	return labels
}

// purposeCluster is the purpose of objects that are called like the cluster.
const purposeCluster = "cluster"

// purpose is what an object of that name is for.
func purpose(c *v1alpha1.GaleraCluster, name string) string {
	if name == c.Name {
		return purposeCluster
	}
	return strings.TrimPrefix(name, c.Name+"-")
}

// NotPruned returns the annotations that keep Argo CD from deleting an object without an owner. With label tracking it
// takes objects that carry app.kubernetes.io/instance for those of its Application of that name, and prunes what the
// repository does not have.
func NotPruned() map[string]string {
	return map[string]string{"argocd.argoproj.io/sync-options": "Prune=false",
		"argocd.argoproj.io/compare-options": "IgnoreExtraneous"}
}

// keptMeta is the metadata of an object that outlives the cluster.
func keptMeta(c *v1alpha1.GaleraCluster, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Annotations: NotPruned(),
		Labels: withLabel(Labels(c), v1alpha1.LabelPurpose, purpose(c, name))}
}

// ownedMeta is the metadata of an object that is deleted with the cluster.
func ownedMeta(c *v1alpha1.GaleraCluster, name string) metav1.ObjectMeta {
	m := keptMeta(c, name)
	m.Annotations = nil
	m.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind("GaleraCluster")),
	}
	return m
}

// retains reports whether data outlives the cluster, and with it what is needed to read the data.
func retains(c *v1alpha1.GaleraCluster) bool {
	return c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenDeleted != v1alpha1.ClaimDelete
}
