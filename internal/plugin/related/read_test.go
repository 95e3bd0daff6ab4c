package related

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestRead: what names the cluster is found, also in other namespaces, and nothing else; what may not be read is named,
// and the rest is read.
func TestRead(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mine, others := aBackup("mine", v1alpha1.BackupCompleted, "", ""), aBackup("others", v1alpha1.BackupCompleted, "", "")
	others.Spec.ClusterRef.Name = "wiki"
	// of a clone: of another shop, and of this one
	far, temporary := aBackup("far", v1alpha1.BackupCompleted, "", ""), aBackup("temporary", v1alpha1.BackupCompleted, "",
		"")
	far.Spec.ClusterRef.Namespace = "elsewhere"
	temporary.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GaleraCluster",
		Name: "copy", UID: "u", Controller: new(true)}}
	imported := aBackup("imported", v1alpha1.BackupCompleted, "", "")
	imported.Spec.Import = &v1alpha1.BackupImport{}
	here, there, elsewhere := aUser("app"), aUser("front"), aUser("app")
	here.Spec.ClusterRef.Name = "shop"
	there.Namespace, there.Spec.ClusterRef = "web", v1alpha1.ClusterReference{Name: "shop", Namespace: "demo"}
	elsewhere.Namespace, elsewhere.Spec.ClusterRef.Name = "other", "shop" // of another cluster of that name
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "front-binding",
		Labels: map[string]string{v1alpha1.LabelUser: "front"}}}
	objects := []client.Object{&mine, &others, &far, &temporary, &imported, &here, &there, &elsewhere, secret}
	forbidden := func(resource string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
	}
	for what, c := range map[string]struct {
		open   bool
		refuse func(list client.ObjectList, namespace string) error
		users  []string
		unread string
	}{
		"all":                        {open: true, users: []string{"demo/app", "web/front"}},
		"a cluster for its own only": {users: []string{"demo/app"}},
		"no right in other namespaces": {open: true, users: []string{"demo/app"}, unread: "[GaleraUser  Forbidden]",
			refuse: func(list client.ObjectList, namespace string) error {
				if _, ok := list.(*v1alpha1.GaleraUserList); ok && namespace == "" {
					return forbidden("galerausers")
				}
				return nil
			}},
		"no right to list Secrets": {open: true, users: []string{"demo/app", "web/front"},
			unread: "[Secret demo Forbidden][Secret web Forbidden]", refuse: func(list client.ObjectList, _ string) error {
				if _, ok := list.(*metav1.PartialObjectMetadataList); ok {
					return forbidden("secrets")
				}
				return nil
			}},
		"an older operator": {users: []string{"demo/app"}, unread: "[GaleraBackupSchedule demo NotInstalled]",
			refuse: func(list client.ObjectList, _ string) error {
				if _, ok := list.(*v1alpha1.GaleraBackupScheduleList); ok {
					return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "GaleraBackupSchedule"}}
				}
				return nil
			}},
	} {
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(
			interceptor.Funcs{List: func(ctx context.Context, to client.WithWatch, list client.ObjectList,
				o ...client.ListOption) error {
				if c.refuse != nil {
					if err := c.refuse(list, (&client.ListOptions{}).ApplyOptions(o).Namespace); err != nil {
						return err
					}
				}
				return to.List(ctx, list, o...)
			}}).Build()
		shop := cluster()
		if c.open {
			shop.Spec.AllowedNamespaces = &metav1.LabelSelector{}
		}
		got := Read(t.Context(), kube, shop)
		var users []string
		for _, u := range got.Users {
			users = append(users, u.Namespace+"/"+u.Name)
		}
		slices.Sort(users)
		unread := ""
		for _, u := range got.Unread {
			unread += fmt.Sprintf("[%s %s %s]", u.Kind, u.Namespace, u.Reason)
		}
		if !slices.Equal(users, c.users) || unread != c.unread {
			t.Errorf("%s: %v %s, want %v %s", what, users, unread, c.users, c.unread)
		}
		if len(got.Backups) != 1 || got.Backups[0].Name != "mine" {
			t.Errorf("%s: %v", what, got.Backups)
		}
		if names, read := got.Secrets["web"]; c.open && c.unread == "" &&
			(!read || !slices.Equal(names, []string{"front-binding"})) {
			t.Errorf("%s: %v", what, got.Secrets)
		}
	}
}
