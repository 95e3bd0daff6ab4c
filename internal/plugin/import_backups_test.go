package plugin

import (
	"regexp"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestImports: objects are made of what the store lists for the namespace, once, and never remove anything.
func TestImports(t *testing.T) {
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"}}
	s.Status.CheckedAt = new(metav1.Now())
	for _, at := range [][2]string{{"demo/shop/a54080f9", "b3"}, {"demo/shop/827f65cc", "b2"}, {"demo/other/1", "b1"},
		{"prod/shop/2", "b0"}, {"odd", "b9"}} {
		s.Status.Latest = append(s.Status.Latest, v1alpha1.StoredBackup{Directory: at[0], ID: at[1]})
	}
	complete := v1alpha1.GaleraBackup{Status: v1alpha1.GaleraBackupStatus{Directory: "demo/shop/a54080f9", ID: "b3"}}
	begun := v1alpha1.GaleraBackup{Spec: v1alpha1.GaleraBackupSpec{Import: &v1alpha1.BackupImport{
		Directory: "demo/shop/827f65cc", ID: "b2"}}}
	copied := *complete.DeepCopy()
	copied.Spec.StoreRef.Name = "nearby"
	complete.Spec.StoreRef.Name, begun.Spec.StoreRef.Name = "offsite", "offsite"
	moved := *complete.DeepCopy()
	moved.Status.Store = &v1alpha1.StoreLocation{Kind: v1alpha1.StoreS3, Bucket: "before"}
	const none = "an error"
	for name, c := range map[string]struct {
		have []v1alpha1.GaleraBackup
		f    storedFlags
		want []string
	}{
		"all of the namespace": {nil, storedFlags{}, []string{"b3", "b2", "b1"}},
		"one is complete":      {[]v1alpha1.GaleraBackup{complete}, storedFlags{}, []string{"b2", "b1"}},
		"one that lies where the store does not lead any more": {[]v1alpha1.GaleraBackup{moved}, storedFlags{},
			[]string{"b3", "b2", "b1"}},
		"a copy elsewhere":       {[]v1alpha1.GaleraBackup{copied}, storedFlags{}, []string{"b3", "b2", "b1"}},
		"one was begun":          {[]v1alpha1.GaleraBackup{begun}, storedFlags{}, []string{"b3", "b1"}},
		"both":                   {[]v1alpha1.GaleraBackup{begun, complete}, storedFlags{cluster: "shop"}, []string{none}},
		"of a cluster":           {nil, storedFlags{cluster: "shop"}, []string{"b3", "b2"}},
		"of its UID":             {nil, storedFlags{uid: "827f65cc-1-2"}, []string{"b2"}},
		"of a namespace":         {nil, storedFlags{namespace: "prod"}, []string{"b0"}},
		"one that is not listed": {nil, storedFlags{cluster: "shop", uid: "9", id: "early"}, []string{"early"}},
		"one that is ambiguous ": {nil, storedFlags{cluster: "shop", id: "early"}, []string{none}},
	} {
		all, err := storedBackups(s, c.have, c.f)
		have := []string{none}
		if err == nil {
			have = nil
		}
		for _, b := range all {
			have = append(have, b.Spec.Import.ID)
			if b.Spec.DeletionPolicy != v1alpha1.BackupRetain || b.Namespace != "demo" || b.Spec.StoreRef.Name != "offsite" {
				t.Errorf("%s: %+v", name, b)
			}
		}
		if !slices.Equal(have, c.want) {
			t.Errorf("%s: %v, %v", name, have, err)
		}
	}
	s.Status.CheckedAt = nil
	if _, err := storedBackups(s, nil, storedFlags{}); err == nil {
		t.Error("a store that was not checked has nothing")
	}
}

// TestImportName: the name is one of an object, whatever the cluster's is.
func TestImportName(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	seen := map[string]bool{}
	for _, c := range [][3]string{{"shop", "a54080f9", "20261124-002934-1aef9dcf"}, {"shop", "b54080f9",
		"20261124-002934-1aef9dcf"}, {"a-very-long-name-of-a-cluster-of-forty-xx", "a54080f9", "20261124-002934-1aef9dcf"},
		{"1shop", "a54080f9", "20261124-002934-1aef9dcf"}} {
		name := importName(c[0], c[1], c[2])
		if !valid.MatchString(name) || len(name) > 52 || seen[name] {
			t.Errorf("%v: %s", c, name)
		}
		seen[name] = true
	}
}
