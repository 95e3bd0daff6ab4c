package accounts

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Admits says whether a cluster takes users and databases of a namespace with these labels.
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

// Overreach says what a user of another namespace asks for and may not have, "" for nothing: it gets privileges on the databases that
// GaleraDatabases of its namespace have made, and can give none away.
func Overreach(u *v1alpha1.GaleraUser, clusterNamespace string, own map[string]bool) string {
	if u.Namespace == clusterNamespace {
		return ""
	}
	const rule = "a user from another namespace than the cluster's gets privileges on databases of GaleraDatabases in its own namespace only"
	for _, g := range u.Spec.Grants {
		switch {
		case g.Database == "" || g.Database == "*":
			return "a grant on all databases: " + rule
		case !own[g.Database]:
			return fmt.Sprintf("a grant on the database %s: %s, and none of them has made this one", g.Database, rule)
		case g.WithGrantOption:
			return "withGrantOption: " + rule + ", and cannot give them away"
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
