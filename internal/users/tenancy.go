package users

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Admits reports whether a cluster takes users and databases of a namespace with these labels.
func Admits(c *v1alpha1.GaleraCluster, namespace string, has map[string]string) (bool, error) {
	if namespace == c.Namespace {
		return true, nil
	}
	if c.Spec.AllowedNamespaces == nil {
		return false, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(c.Spec.AllowedNamespaces)
	return err == nil && selector.Matches(labels.Set(has)), err
}

const rule = "a user from another namespace than the cluster's gets privileges on databases of GaleraDatabases in " +
	"its own namespace only"

// Overreach describes what a user of another namespace asks for and may not have, "" for nothing: it gets privileges on
// databases, and can give none away. Whose a database is, is marked in the database, and looked up there.
func Overreach(u *v1alpha1.GaleraUser, clusterNamespace string) string {
	if u.Namespace == clusterNamespace {
		return ""
	}
	for _, g := range u.Spec.Grants {
		switch {
		case g.Database == "" || g.Database == "*":
			return "a grant on all databases: " + rule
		case g.WithGrantOption || slices.ContainsFunc(g.Privileges,
			func(p string) bool { return strings.EqualFold(p, "GRANT OPTION") }):
			return "the grant option: " + rule + ", and cannot give them away"
		}
	}
	switch {
	case len(u.Spec.Roles) > 0:
		return "roles: " + rule
	case u.Spec.Adopt:
		return "adopt: an account of the cluster's namespace is not given to another one"
	}
	return ""
}

// DatabaseOverreach describes what a database of another namespace asks for and may not have, "" for nothing.
func DatabaseOverreach(d *v1alpha1.GaleraDatabase, clusterNamespace string) string {
	if d.Namespace == clusterNamespace || !d.Spec.Adopt {
		return ""
	}
	return "adopt: a database of the cluster's namespace is not given to another one"
}

// Foreign reports whether a user from another namespace asks for privileges on these databases.
func Foreign(databases string) string {
	return "a grant on " + databases + ": " + rule + ", and none of them has made this one"
}
