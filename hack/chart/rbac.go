package main

import (
	"fmt"
	"slices"
	"strings"
)

// clusterScoped are the resources that no Role can give: they keep a ClusterRole when only named namespaces are
// watched.
var clusterScoped = []string{
	"clusterissuers", "customresourcedefinitions", "namespaces", "nodes", "persistentvolumes", "priorityclasses",
	"storageclasses", "subjectaccessreviews", "tokenreviews", "volumeattachments",
}

const (
	rbacFile = "rbac.yaml"

	rbacCreate     = "$.Values.rbac.create"
	rbacAggregate  = "$.Values.rbac.aggregate"
	everywhere     = "(not $.Values.watchNamespaces)"
	namespacesOnly = "$.Values.watchNamespaces"
	benchmarksOn   = "$.Values.benchmarks.enabled"
)

// ofBenchmarks reports whether an object of config/ belongs to the benchmarks' program.
func ofBenchmarks(name string) bool { return strings.HasPrefix(name, configName+"-benchmarks") }

// wanted is the condition under which a role of config/ is given at all.
func wanted(role string) string {
	if ofBenchmarks(role) {
		return "and " + rbacCreate + " " + benchmarksOn
	}
	return "and " + rbacCreate
}

// rbac writes the roles. What a ClusterRoleBinding gives the operator everywhere becomes, when namespaces are named, a
// Role in each of them, and a ClusterRole for what is in no namespace.
func (g *generator) rbac(objects []object) error {
	bindings := map[string]object{}
	for _, o := range objects {
		if o.kind() == "ClusterRoleBinding" {
			bindings[fmt.Sprint(o.at("roleRef", "name"))] = o
		}
	}
	for _, o := range objects {
		binding, bound := bindings[o.name()]
		switch o.kind() {
		case "Role":
			if err := g.write(rbacFile, wanted(o.name()), o); err != nil {
				return err
			}
		case "RoleBinding":
			account(o)
			if err := g.write(rbacFile, wanted(o.name()), o); err != nil {
				return err
			}
		case "ClusterRole":
			var condition string
			switch {
			case bound:
				if err := g.namespaced(o, binding); err != nil {
					return err
				}
				condition = wanted(o.name()) + " " + everywhere
			case aggregated(o):
				condition = rbacAggregate
			case forURLs(o):
				condition = rbacCreate
			default:
				return fmt.Errorf("%s has no binding, and aggregates to no other role", o.name())
			}
			if err := g.write(rbacFile, condition, o); err != nil {
				return err
			}
		}
	}
	for _, o := range objects {
		if o.kind() == "ClusterRoleBinding" {
			account(o)
			if err := g.write(rbacFile, wanted(fmt.Sprint(o.at("roleRef", "name")))+" "+everywhere, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// aggregated reports whether a role is for people: part of view, edit or admin.
func aggregated(o object) bool {
	labels, _ := o.at("metadata", "labels").(map[string]any)
	for k := range labels {
		if strings.HasPrefix(k, "rbac.authorization.k8s.io/aggregate-to-") {
			return true
		}
	}
	return false
}

// forURLs reports whether a role gives access to URLs of the operator: an administrator binds it.
func forURLs(o object) bool {
	rules, _ := o["rules"].([]any)
	return len(rules) > 0 && !slices.ContainsFunc(rules, func(r any) bool {
		return r.(map[string]any)["nonResourceURLs"] == nil
	})
}

// account gives a binding's subjects the service account of the release, in the place of the operator's.
func account(o object) {
	subjects, _ := o["subjects"].([]any)
	for _, s := range subjects {
		if m := s.(map[string]any); m["kind"] == "ServiceAccount" && m["name"] == configName+"-controller-manager" {
			m["name"] = expression(serviceAccountName)
		}
	}
}

// namespaced writes the same rights for named namespaces.
func (g *generator) namespaced(role, binding object) error {
	rules, _ := role["rules"].([]any)
	inside, outside := split(rules)
	roleOf := func(kind, name string, rules []any) object {
		return object{"apiVersion": role["apiVersion"], "kind": kind, "metadata": map[string]any{"name": name},
			"rules": rules}
	}
	bind := func(kind, to, name string) object {
		return object{
			"apiVersion": binding["apiVersion"], "kind": kind, "metadata": map[string]any{"name": name},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": to, "name": name},
			"subjects": copyOf(binding["subjects"]),
		}
	}
	var perNamespace []object
	if len(inside) > 0 {
		perNamespace = []object{roleOf("Role", role.name(), inside), bind("RoleBinding", "Role", role.name())}
		account(perNamespace[1])
	}
	condition := wanted(role.name()) + " " + namespacesOnly
	for _, o := range perNamespace {
		o.at("metadata").(map[string]any)["namespace"] = expression(".")
		if err := g.writeEach(condition, o); err != nil {
			return err
		}
	}
	if len(outside) == 0 {
		return nil
	}
	name := role.name() + "-cluster"
	g.names = append(g.names, name)
	cluster := []object{roleOf("ClusterRole", name, outside), bind("ClusterRoleBinding", "ClusterRole", name)}
	account(cluster[1])
	for _, o := range cluster {
		if err := g.write(rbacFile, condition, o); err != nil {
			return err
		}
	}
	return nil
}

// writeEach writes an object for each watched namespace.
func (g *generator) writeEach(condition string, o object) error {
	g.label(o)
	localise(map[string]any(o), g.names)
	text, err := render(o)
	if err != nil {
		return err
	}
	g.files[rbacFile] += fmt.Sprintf(
		"{{- if %s }}\n{{- range $.Values.watchNamespaces }}\n---\n%s{{- end }}\n{{- end }}\n", condition, text)
	return nil
}

// split divides rules into those of resources in namespaces and the others. Every rule names resources; there are no
// URLs.
func split(rules []any) (inside, outside []any) {
	for _, r := range rules {
		rule := r.(map[string]any)
		var in, out []any
		resources, _ := rule["resources"].([]any)
		for _, resource := range resources {
			plain, _, _ := strings.Cut(fmt.Sprint(resource), "/")
			if slices.Contains(clusterScoped, plain) {
				out = append(out, resource)
			} else {
				in = append(in, resource)
			}
		}
		if len(in) > 0 {
			inside = append(inside, with(rule, in))
		}
		if len(out) > 0 || len(resources) == 0 {
			outside = append(outside, with(rule, out))
		}
	}
	return inside, outside
}

func with(rule map[string]any, resources []any) map[string]any {
	out := copyOf(rule).(map[string]any)
	if len(resources) > 0 {
		out["resources"] = resources
	}
	return out
}

// copyOf copies maps and lists all the way down.
func copyOf(v any) any {
	switch t := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range t {
			out[k] = copyOf(e)
		}
		return out
	case []any:
		out := []any{}
		for _, e := range t {
			out = append(out, copyOf(e))
		}
		return out
	}
	return v
}
