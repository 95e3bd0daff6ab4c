package controllers

import (
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func role(t *testing.T, path string) rbacv1.ClusterRole {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func allows(r rbacv1.ClusterRole, group, resource, verb string) bool {
	return slices.ContainsFunc(r.Rules, func(rule rbacv1.PolicyRule) bool {
		has := func(list []string, s string) bool { return slices.Contains(list, s) || slices.Contains(list, "*") }
		return has(rule.APIGroups, group) && has(rule.Resources, resource) && has(rule.Verbs, verb)
	})
}

// TestRightsOfBenchmarks: an installation without benchmarks holds none of the rights that only they need.
func TestRightsOfBenchmarks(t *testing.T) {
	operator, benchmarks := role(t, "../config/rbac/role.yaml"), role(t, "../config/benchmarks/role.yaml")
	for _, right := range [][3]string{
		{"", "persistentvolumeclaims", "delete"},
		{"rbac.authorization.k8s.io", "roles", "create"},
		{"rbac.authorization.k8s.io", "rolebindings", "create"},
		{"galera-operator.io", "galeraclusters", "create"},
		{"galera-operator.io", "galeraclusters", "delete"},
		{"galera-operator.io", "galeraclusters", "patch"},
		{"galera-operator.io", "galerabenchmarks", "list"},
		{"rbac.authorization.k8s.io", "roles", "patch"},
	} {
		if allows(operator, right[0], right[1], right[2]) {
			t.Errorf("the operator may %s %s without benchmarks", right[2], right[1])
		}
		if !allows(benchmarks, right[0], right[1], right[2]) {
			t.Errorf("benchmarks may not %s %s", right[2], right[1])
		}
	}
}
