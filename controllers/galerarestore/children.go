package galerarestore

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
)

const kindRestore = "GaleraRestore"

// children are the objects by which the load gets into the cluster: the database that tables lie in until they are
// complete, the new database, and an account with privileges on these only. The first and the last go at the end, with
// all that is in them.
func children(o *v1alpha1.GaleraRestore) []client.Object {
	to := v1alpha1.ClusterReference{Name: o.Spec.ClusterRef.Name}
	out := []client.Object{&v1alpha1.GaleraDatabase{ObjectMeta: owned(o, o.Name+"-restore"),
		Spec: v1alpha1.GaleraDatabaseSpec{ClusterRef: to, Name: through(o), DeletionPolicy: v1alpha1.AccountDelete}}}
	if d := o.Spec.Database; d != nil {
		out = append(out, &v1alpha1.GaleraDatabase{ObjectMeta: owned(o, job.TargetName(o)),
			Spec: v1alpha1.GaleraDatabaseSpec{ClusterRef: to, Name: string(d.As), DeletionPolicy: v1alpha1.AccountRetain}})
	}
	return append(out, user(o))
}

// user is the account. RENAME TABLE needs ALTER and DROP on the old name, and CREATE and INSERT on the new one.
func user(o *v1alpha1.GaleraRestore) *v1alpha1.GaleraUser {
	return &v1alpha1.GaleraUser{ObjectMeta: owned(o, o.Name+"-restore"),
		Spec: v1alpha1.GaleraUserSpec{ClusterRef: v1alpha1.ClusterReference{Name: o.Spec.ClusterRef.Name}, Name: through(o),
			Require: v1alpha1.RequireTLS, DeletionPolicy: v1alpha1.AccountDelete,
			Grants: []v1alpha1.GrantSpec{
				{Database: through(o), Privileges: []string{"SELECT", "INSERT", "CREATE", "DROP", "ALTER", "INDEX", "REFERENCES"}},
				{Database: o.TargetDatabase(), Privileges: []string{"CREATE", "INSERT"}},
			}}}
}

func owned(o *v1alpha1.GaleraRestore, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.Namespace, Name: name,
		Labels: map[string]string{v1alpha1.LabelCluster: o.Spec.ClusterRef.Name, v1alpha1.LabelRestore: o.Name,
			"app.kubernetes.io/managed-by": "galera-operator", "app.kubernetes.io/component": job.ComponentLoad},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o,
			v1alpha1.GroupVersion.WithKind(kindRestore))}}
}
