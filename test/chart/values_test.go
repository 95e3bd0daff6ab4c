package chart

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const (
	manager    = "galera-operator-controller-manager"
	benchmarks = "galera-operator-benchmarks"
	pod        = "spec.template.spec."
	container  = pod + "containers.0."
)

// effects: for each value of the table in README.md, what it does. want is JSON of what stands at the path; "absent"
// when the object or the path is not there, "present" when the object is.
var effects = []struct{ value, values, kind, name, path, want string }{
	{"replicas", `{replicas: 1}`, "Deployment", manager, "spec.replicas", `1`},
	{"imageRegistry", `{imageRegistry: "m.example:5000/x"}`, "Deployment", manager, container + "image",
		`"m.example:5000/x/galera-operator/galera-operator:v0.1.0"`},
	{"imageRegistry", `{imageRegistry: m.example}`, "Deployment", manager, container + "env.3.value",
		`"m.example/mariadb:11.8"`},
	{"imageRegistry", `{imageRegistry: m.example}`, "Deployment", benchmarks, container + "env.2.value",
		`"m.example/galera-operator/galera-sysbench:1.0"`},
	{"imageRegistry", `{imageRegistry: m.example, databaseImage: "localhost/a/b:1"}`, "Deployment", manager,
		container + "env.3.value", `"m.example/a/b:1"`},
	{"imageRegistry", `{imageRegistry: m.example, databaseImage: "host:5000/a/b:1"}`, "Deployment", manager,
		container + "env.3.value", `"m.example/a/b:1"`},
	{"imageRegistry", `{imageRegistry: m.example, databaseImage: "library/mariadb:11.8"}`, "Deployment", manager,
		container + "env.3.value", `"m.example/library/mariadb:11.8"`},
	{"image.repository", `{image: {repository: "r.example:5000/op"}}`, "Deployment", manager, container + "image",
		`"r.example:5000/op:v0.1.0"`},
	{"image.tag", `{image: {tag: v9}}`, "Deployment", manager, container + "image",
		`"ghcr.io/galera-operator/galera-operator:v9"`},
	{"image.tag", `{image: {tag: v9}}`, "Deployment", manager, container + "env.2.value",
		`"ghcr.io/galera-operator/galera-operator:v9"`},
	{"image.digest", `{image: {repository: op, tag: v9, digest: "sha256:` + digest + `"}}`, "Deployment", manager,
		container + "image", `"op@sha256:` + digest + `"`},
	{"image.pullPolicy", `{image: {pullPolicy: Always}}`, "Deployment", manager, container + "imagePullPolicy",
		`"Always"`},
	{"databaseImage", `{databaseImage: "r.example/db:1"}`, "Deployment", manager, container + "env.3",
		`{"name":"DEFAULT_IMAGE","value":"r.example/db:1"}`},
	{"benchmarkImage", `{benchmarkImage: "r.example/load:1"}`, "Deployment", benchmarks, container + "env.2",
		`{"name":"BENCHMARK_IMAGE","value":"r.example/load:1"}`},
	{"imagePullSecrets", `{imagePullSecrets: [{name: pull}]}`, "Deployment", manager, pod + "imagePullSecrets",
		`[{"name":"pull"}]`},
	{"watchNamespaces", `{watchNamespaces: [a, b]}`, "Deployment", manager, container + "args.7",
		`"--watch-namespaces=a,b"`},
	{"benchmarks.enabled", `{benchmarks: {enabled: false}}`, "Deployment", benchmarks, "", "absent"},
	{"benchmarks.enabled", `{benchmarks: {enabled: false}}`, "ServiceAccount", benchmarks, "", "absent"},
	{"benchmarks.enabled", `{benchmarks: {enabled: false}}`, "Role", "galera-operator-benchmarks-leader", "", "absent"},
	{"benchmarks.enabled", `{benchmarks: {enabled: false}}`, "ValidatingAdmissionPolicy", benchmarks, "", "absent"},
	{"benchmarks.enabled", `{}`, "Deployment", benchmarks, pod + "serviceAccountName", `"galera-operator-benchmarks"`},
	{"benchmarks.enabled", `{log: {format: json}, watchNamespaces: [a, b]}`, "Deployment", benchmarks,
		container + "args.2", `"--watch-namespaces=a,b"`},
	{"benchmarks.enabled", `{log: {format: json}}`, "Deployment", benchmarks, container + "args.2", `"--log-format=json"`},
	{"benchmarks.resources", `{benchmarks: {resources: {limits: {memory: 1Gi}}}}`, "Deployment", benchmarks,
		container + "resources.limits", `{"memory":"1Gi"}`},
	{"benchmarks.enabled", `{benchmarks: {enabled: false}}`, "ClusterRole", "galera-operator-benchmarks", "", "absent"},
	{"benchmarks.enabled", `{benchmarks: {enabled: false}}`, "ClusterRoleBinding", "galera-operator-benchmarks", "",
		"absent"},
	{"benchmarks.enabled", `{benchmarks: {enabled: false}, watchNamespaces: [a]}`, "Role", "galera-operator-benchmarks",
		"", "absent"},
	{"benchmarks.enabled", `{benchmarks: {enabled: false}, crds: {install: true}}`, "CustomResourceDefinition",
		"galerabenchmarks.galera-operator.io", "", "absent"},
	{"admissionPolicies.enabled", `{}`, "ValidatingAdmissionPolicy", "galera-operator-workloads",
		"spec.matchConditions.0.expression",
		`"request.userInfo.username == 'system:serviceaccount:galera-operator-system:galera-operator-controller-manager' || request.userInfo.username == 'system:serviceaccount:galera-operator-system:galera-operator-benchmarks'"`},
	{"admissionPolicies.enabled", `{serviceAccount: {name: mine}}`, "ValidatingAdmissionPolicy", "galera-operator-pods",
		"spec.matchConditions.0.expression",
		`"request.userInfo.username == 'system:serviceaccount:galera-operator-system:mine' || request.userInfo.username == 'system:serviceaccount:galera-operator-system:galera-operator-benchmarks'"`},
	{"admissionPolicies.enabled", `{serviceAccount: {name: mine}}`, "ValidatingAdmissionPolicy", benchmarks,
		"spec.matchConditions.0.expression",
		`"request.userInfo.username == 'system:serviceaccount:galera-operator-system:galera-operator-benchmarks'"`},
	{"admissionPolicies.enabled", `{admissionPolicies: {enabled: false}}`, "ValidatingAdmissionPolicy",
		"galera-operator-workloads", "", "absent"},
	{"admissionPolicies.enabled", `{admissionPolicies: {enabled: false}}`, "ValidatingAdmissionPolicyBinding",
		"galera-operator-workloads", "", "absent"},
	{"allowServiceAccounts", `{allowServiceAccounts: [backup]}`, "ValidatingAdmissionPolicy", "galera-operator-workloads",
		"spec.validations.0.expression",
		`"variables.account.endsWith('-galera') || variables.benchmark || variables.account in [\"backup\"]"`},
	{"podMetadata.allowLabels", `{podMetadata: {allowLabels: [app, x/]}}`, "Deployment", manager, container + "args.7",
		`"--allow-pod-labels=app,x/"`},
	{"podMetadata.allowAnnotations", `{podMetadata: {allowAnnotations: ["*"]}}`, "Deployment", manager,
		container + "args.7", `"--allow-pod-annotations=*"`},
	{"allowServiceAccounts", `{allowServiceAccounts: [backup]}`, "Deployment", manager, container + "args.7",
		`"--allow-service-accounts=backup"`},
	{"podUsers", `{podUsers: assigned}`, "Deployment", manager, container + "args.7", `"--pod-users=assigned"`},
	{"clusterDomain", `{clusterDomain: k8s.example}`, "Deployment", manager, container + "args.7",
		`"--cluster-domain=k8s.example"`},
	{"log.format", `{log: {format: json}}`, "Deployment", manager, container + "args.7", `"--log-format=json"`},
	{"log.level", `{log: {level: debug}}`, "Deployment", manager, container + "args.7", `"--zap-log-level=debug"`},
	{"log.level", `{log: {level: 3}}`, "Deployment", manager, container + "args.7", `"--zap-log-level=3"`},
	{"extraArgs", `{extraArgs: ["--a", "--b=c"], log: {format: json}}`, "Deployment", manager, container + "args.9",
		`"--b=c"`},
	{"extraEnv", `{extraEnv: [{name: A, value: b}]}`, "Deployment", manager, container + "env.5",
		`{"name":"A","value":"b"}`},
	{"crds.install", `{crds: {install: false}}`, "CustomResourceDefinition", "galeraclusters.galera-operator.io", "",
		"absent"},
	{"crds.install", `{crds: {install: true}}`, "CustomResourceDefinition", "galeraclusters.galera-operator.io",
		"metadata.annotations.helm·sh/resource-policy", `"keep"`},
	{"crds.install", `{crds: {install: true}}`, "CustomResourceDefinition", "galerabenchmarks.galera-operator.io",
		"metadata.annotations.helm·sh/resource-policy", `"keep"`},
	{"rbac.create", `{rbac: {create: false}}`, "ClusterRole", "galera-operator-manager", "", "absent"},
	{"rbac.create", `{rbac: {create: false}}`, "RoleBinding", "galera-operator-leader-election", "", "absent"},
	{"rbac.create", `{rbac: {create: false}, watchNamespaces: [a]}`, "Role", "galera-operator-manager", "", "absent"},
	{"rbac.aggregate", `{rbac: {aggregate: false}}`, "ClusterRole", "galera-operator-galeracluster-editor", "", "absent"},
	{"rbac.aggregate", `{rbac: {aggregate: false}}`, "ClusterRole", "galera-operator-galeracluster-viewer", "", "absent"},
	{"rbac.aggregate", `{rbac: {create: false}}`, "ClusterRole", "galera-operator-galeracluster-viewer", "", "present"},
	{"serviceAccount.create", `{serviceAccount: {create: false}}`, "ServiceAccount", manager, "", "absent"},
	{"serviceAccount.create", `{serviceAccount: {create: false}}`, "Deployment", manager, pod + "serviceAccountName",
		`"default"`},
	{"serviceAccount.name", `{serviceAccount: {create: false, name: mine}}`, "Deployment", manager,
		pod + "serviceAccountName", `"mine"`},
	{"serviceAccount.name", `{serviceAccount: {name: mine}}`, "ServiceAccount", "mine", "", "present"},
	{"serviceAccount.annotations", `{serviceAccount: {annotations: {a: b}}}`, "ServiceAccount", manager,
		"metadata.annotations", `{"a":"b"}`},
	{"resources", `{resources: {limits: {memory: 1Gi}}}`, "Deployment", manager, container + "resources",
		`{"limits":{"memory":"1Gi"},"requests":{"cpu":"10m","memory":"64Mi"}}`},
	{"podSecurityContext", `{podSecurityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}}`, "Deployment",
		manager, pod + "securityContext",
		`{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}`},
	{"securityContext", `{securityContext: {privileged: false}}`, "Deployment", manager,
		container + "securityContext.privileged", `false`},
	{"podLabels", `{podLabels: {a: b}}`, "Deployment", manager, "spec.template.metadata.labels.a", `"b"`},
	{"podAnnotations", `{podAnnotations: {a: b}}`, "Deployment", manager, "spec.template.metadata.annotations.a", `"b"`},
	{"nodeSelector", `{nodeSelector: {a: b}}`, "Deployment", manager, pod + "nodeSelector", `{"a":"b"}`},
	{"affinity", `{affinity: {podAntiAffinity: {}}}`, "Deployment", manager, pod + "affinity", `{"podAntiAffinity":{}}`},
	{"tolerations", `{tolerations: [{operator: Exists}]}`, "Deployment", manager, pod + "tolerations",
		`[{"operator":"Exists"}]`},
	{"tolerations", `{tolerations: []}`, "Deployment", manager, pod + "tolerations", "absent"},
	{"topologySpreadConstraints", `{topologySpreadConstraints: []}`, "Deployment", manager,
		pod + "topologySpreadConstraints", "absent"},
	{"priorityClassName", `{priorityClassName: high}`, "Deployment", manager, pod + "priorityClassName", `"high"`},
	{"podDisruptionBudget.enabled", `{podDisruptionBudget: {enabled: false}}`, "PodDisruptionBudget", manager, "",
		"absent"},
	{"podDisruptionBudget.maxUnavailable", `{podDisruptionBudget: {maxUnavailable: "50%"}}`, "PodDisruptionBudget",
		manager, "spec.maxUnavailable", `"50%"`},
	{"networkPolicy.enabled", `{networkPolicy: {enabled: false}}`, "NetworkPolicy", manager, "", "absent"},
	{"networkPolicy.metricsFrom", `{networkPolicy: {metricsFrom: [{ipBlock: {cidr: 10.0.0.0/8}}]}}`, "NetworkPolicy",
		manager, "spec.ingress.0.from", `[{"ipBlock":{"cidr":"10.0.0.0/8"}}]`},
	{"networkPolicy.metricsFrom", `{networkPolicy: {metricsFrom: []}}`, "NetworkPolicy", manager, "spec.ingress.0.from",
		`[]`},
	{"metrics.service.enabled", `{metrics: {service: {enabled: false}}}`, "Service", manager + "-metrics", "", "absent"},
	{"metrics.service.annotations", `{metrics: {service: {annotations: {a: b}}}}`, "Service", manager + "-metrics",
		"metadata.annotations", `{"a":"b"}`},
	{"metrics.serviceMonitor.enabled", `{}`, "ServiceMonitor", manager, "", "absent"},
	{"metrics.serviceMonitor.enabled", `{metrics: {serviceMonitor: {enabled: true}}}`, "ServiceMonitor", manager, "",
		"present"},
	{"metrics.serviceMonitor.labels", `{metrics: {serviceMonitor: {enabled: true, labels: {a: b}}}}`, "ServiceMonitor",
		manager, "metadata.labels.a", `"b"`},
	{"metrics.serviceMonitor.interval", `{metrics: {serviceMonitor: {enabled: true, interval: 30s}}}`, "ServiceMonitor",
		manager, "spec.endpoints.0.interval", `"30s"`},
	{"metrics.podMonitors.enabled", `{}`, "PodMonitor", "galera-operator-databases", "", "absent"},
	{"metrics.podMonitors.enabled", `{metrics: {podMonitors: {enabled: true}}}`, "PodMonitor", "galera-operator-databases",
		"", "present"},
	{"metrics.podMonitors.enabled", `{metrics: {podMonitors: {enabled: true}}}`, "PodMonitor", "galera-operator-databases",
		"spec.namespaceSelector", `{"any":true}`},
	{"watchNamespaces", `{watchNamespaces: [a, b], metrics: {podMonitors: {enabled: true}}}`, "PodMonitor",
		"galera-operator-databases",
		"spec.namespaceSelector", `{"matchNames":["a","b"]}`},
	{"metrics.podMonitors.labels", `{metrics: {podMonitors: {enabled: true, labels: {a: b}}}}`, "PodMonitor",
		"galera-operator-databases", "metadata.labels.a", `"b"`},
	{"metrics.prometheusRules.enabled", `{}`, "PrometheusRule", "galera-operator-alerts", "", "absent"},
	{"metrics.prometheusRules.enabled", `{metrics: {prometheusRules: {enabled: true}}}`, "PrometheusRule",
		"galera-operator-alerts", "spec.groups.0.rules.0.alert", `"GaleraNotAvailable"`},
	{"metrics.prometheusRules.enabled", `{metrics: {prometheusRules: {enabled: true}}}`, "PrometheusRule",
		"galera-operator-alerts", "spec.groups.0.rules.0.annotations.summary",
		`"{{ $labels.namespace }}/{{ $labels.cluster }} accepts no writes"`},
	{"metrics.prometheusRules.labels", `{metrics: {prometheusRules: {enabled: true, labels: {a: b}}}}`, "PrometheusRule",
		"galera-operator-alerts", "metadata.labels.a", `"b"`},
	{"metrics.prometheusRules.alertLabels", `{metrics: {prometheusRules: {enabled: true, alertLabels: {team: db}}}}`,
		"PrometheusRule", "galera-operator-alerts",
		"spec.groups.1.rules.0.labels", `{"severity":"critical","team":"db"}`},
	{"metrics.prometheusRules.disabled", `{metrics: {prometheusRules: {enabled: true, disabled: [GaleraNotAvailable]}}}`,
		"PrometheusRule", "galera-operator-alerts",
		"spec.groups.0.rules.0.alert", `"GaleraNotPrimary"`},
	{"metrics.prometheusRules.disabled",
		`{metrics: {prometheusRules: {enabled: true, disabled: [GaleraVolumeFilling, GaleraVolumeFull]}}}`, "PrometheusRule",
		"galera-operator-alerts",
		"spec.groups.3.name", `"galera-backups"`},
	{"metrics.prometheusRules.runbookURL",
		`{metrics: {prometheusRules: {enabled: true, runbookURL: "https://wiki.example/db"}}}`, "PrometheusRule",
		"galera-operator-alerts",
		"spec.groups.0.rules.0.annotations.runbook_url", `"https://wiki.example/db/GaleraNotAvailable.md"`},
	{"metrics.dashboards.enabled", `{}`, "ConfigMap", "galera-operator-dashboard-benchmark", "", "absent"},
	{"metrics.dashboards.enabled", `{metrics: {dashboards: {enabled: true}}}`, "ConfigMap",
		"galera-operator-dashboard-benchmark", "", "present"},
	{"metrics.dashboards.labels.grafana_dashboard", `{metrics: {dashboards: {enabled: true}}}`, "ConfigMap",
		"galera-operator-dashboard-benchmark", "metadata.labels.grafana_dashboard", `"1"`},
	{"metrics.dashboards.labels.grafana_dashboard",
		`{metrics: {dashboards: {enabled: true, labels: {grafana_dashboard: null, a: b}}}}`, "ConfigMap",
		"galera-operator-dashboard-benchmark",
		"metadata.labels.grafana_dashboard", "absent"},
	{"metrics.dashboards.annotations", `{metrics: {dashboards: {enabled: true, annotations: {grafana_folder: Galera}}}}`,
		"ConfigMap", "galera-operator-dashboard-benchmark",
		"metadata.annotations", `{"grafana_folder":"Galera"}`},
	{"fullnameOverride", `{fullnameOverride: db}`, "Deployment", "db-controller-manager",
		pod + "volumes.0.secret.secretName", `"db-control"`},
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestEachValueDoesWhatItSays goes through the table above, and through README.md for values that have no line in it.
func TestEachValueDoesWhatItSays(t *testing.T) {
	tried := map[string]bool{}
	for _, e := range effects {
		tried[e.value] = true
		var args []string
		if !strings.Contains(e.values, "crds:") {
			args = []string{"--set", "crds.install=false"} // a lot of text
		}
		o := render(t, e.values, args...).named(e.kind, e.name)
		got := "absent"
		if o != nil {
			got = "present"
		}
		if o != nil && e.path != "" {
			got = "absent"
			if v := o.at(e.path); v != nil {
				text, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				got = string(text)
			}
		}
		if got != e.want {
			t.Errorf("%s: %s of %s %s is %s, want %s", e.values, e.path, e.kind, e.name, got, e.want)
		}
	}
	for _, value := range tableOfValues(t) {
		if !tried[value] {
			t.Errorf("no test sees what %s does", value)
		}
	}
}

// TestImagesAreInOnePlace: with a registry of one's own, no image comes from elsewhere.
func TestImagesAreInOnePlace(t *testing.T) {
	for _, o := range render(t, `{imageRegistry: mirror.example/x}`) {
		visit(map[string]any(o), func(key, text string) {
			image := key == "image" || key == "value" && strings.Contains(text, ":")
			if image && o.kind() == "Deployment" && !strings.HasPrefix(text, "mirror.example/x/") {
				t.Errorf("%s has the image %s", o.id(), text)
			}
			if o.kind() != "CustomResourceDefinition" && strings.Contains(text, "ghcr.io") {
				t.Errorf("%s points at %s", o.id(), text)
			}
		})
	}
}

func visit(v any, f func(key, text string)) {
	switch t := v.(type) {
	case map[string]any:
		for k, e := range t {
			if s, is := e.(string); is {
				f(k, s)
			}
			visit(e, f)
		}
	case []any:
		for _, e := range t {
			visit(e, f)
		}
	}
}

// TestNamedNamespacesNeedRoles: where namespaces are named, the operator's rights are those namespaces', but for reads
// of what is in none; and they are no others than everywhere.
func TestNamedNamespacesNeedRoles(t *testing.T) {
	all := render(t, `{watchNamespaces: [one, two], rbac: {aggregate: false}}`)
	wide := render(t, `{rbac: {aggregate: false}}`)
	clusterRoles := operators(all.of("ClusterRole"))
	if len(clusterRoles) != 2 {
		t.Fatalf("%d ClusterRoles", len(clusterRoles))
	}
	want := []string{"clusterissuers get", "namespaces get", "nodes get", "nodes list", "nodes watch",
		"storageclasses get", "storageclasses list", "subjectaccessreviews create", "tokenreviews create"}
	if got := rights(clusterRoles); !slices.Equal(got, want) {
		t.Errorf("cluster-wide it may %v, want %v", got, want)
	}
	for _, ns := range []string{"one", "two"} {
		inside := slices.DeleteFunc(all.of("Role"), func(o object) bool { return o.at("metadata.namespace") != ns })
		together := rights(append(inside, clusterRoles...))
		if everywhere := rights(operators(wide.of("ClusterRole"))); !slices.Equal(together, everywhere) {
			t.Errorf("in %s it may %v, everywhere %v", ns, together, everywhere)
		}
	}
	for _, o := range append(all.of("Role"), all.of("RoleBinding")...) {
		if ns := o.at("metadata.namespace"); !slices.Contains([]any{"one", "two", namespace}, ns) {
			t.Errorf("%s is where nothing is watched", o.id())
		}
	}
	own := slices.DeleteFunc(all.of("Role"), func(o object) bool { return o.at("metadata.namespace") != namespace })
	for _, o := range own {
		if got := rights(objects{o}); !slices.Equal(got, []string{"events create", "events patch", "leases create",
			"leases get", "leases update"}) {
			t.Errorf("%s: in its own namespace it may more than lead: %v", o.id(), got)
		}
	}
	if len(own) != 2 { // the operator's and the benchmarks'
		t.Errorf("%d roles", len(own))
	}
}

// operators are the roles of the operator, without the one for those who read its metrics.
func operators(roles objects) objects {
	return slices.DeleteFunc(roles, func(o object) bool {
		return strings.HasSuffix(o.at("metadata.name").(string), "-metrics-reader")
	})
}

// rights are all pairs of resource and verb.
func rights(roles objects) []string {
	var out []string
	for _, o := range roles {
		for _, r := range o["rules"].([]any) {
			rule := object(r.(map[string]any))
			for _, resource := range rule["resources"].([]any) {
				for _, verb := range rule["verbs"].([]any) {
					out = append(out, resource.(string)+" "+verb.(string))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
