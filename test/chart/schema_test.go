package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestLint(t *testing.T) {
	for _, values := range []string{"",
		"{watchNamespaces: [a], benchmarks: {enabled: false}, metrics: {podMonitors: {enabled: true}}}"} {
		if _, err := helm(values, "lint", "--strict", folder, "--values", "-"); err != nil {
			t.Error(err)
		}
	}
}

// TestWrongValues: each is refused, and the message names the value.
func TestWrongValues(t *testing.T) {
	named := map[string]bool{}
	for values, names := range map[string]string{
		`{replicas: two}`:                                  "/replicas",
		`{replicas: -1}`:                                   "/replicas",
		`{replicaCount: 3}`:                                "replicaCount",
		`{image: "x:1"}`:                                   "/image",
		`{image: {repository: "x:1"}}`:                     "/image/repository",
		`{image: {repository: ""}}`:                        "/image/repository",
		`{image: {tag: 1.0}}`:                              "/image/tag",
		`{image: {tag: "a b"}}`:                            "/image/tag",
		`{image: {digest: "sha256:abc"}}`:                  "/image/digest",
		`{image: {pullPolicy: always}}`:                    "/image/pullPolicy",
		`{image: {name: x}}`:                               "name",
		`{imageRegistry: "https://x.example"}`:             "/imageRegistry",
		`{imageRegistry: "x.example/"}`:                    "/imageRegistry",
		`{databaseImage: ""}`:                              "/databaseImage",
		`{databaseImage: "mariadb:"}`:                      "/databaseImage",
		`{benchmarkImage: {tag: x}}`:                       "/benchmarkImage",
		`{imagePullSecrets: [pull]}`:                       "/imagePullSecrets/0",
		`{watchNamespaces: "a,b"}`:                         "/watchNamespaces",
		`{watchNamespaces: ["a,b"]}`:                       "/watchNamespaces/0",
		`{watchNamespaces: [a, a]}`:                        "/watchNamespaces",
		`{benchmarks: false}`:                              "/benchmarks",
		`{benchmarks: {enabled: "no"}}`:                    "/benchmarks/enabled",
		`{podMetadata: {allowLabels: ["a,b"]}}`:            "/podMetadata/allowLabels/0",
		`{podMetadata: {allowAnnotations: ["a,b"]}}`:       "/podMetadata/allowAnnotations/0",
		`{allowServiceAccounts: ["a,b"]}`:                  "/allowServiceAccounts/0",
		`{admissionPolicies: {enabled: "no"}}`:             "/admissionPolicies/enabled",
		`{podUsers: root}`:                                 "/podUsers",
		`{clusterDomain: ""}`:                              "/clusterDomain",
		`{log: {format: console}}`:                         "/log/format",
		`{log: {level: warn}}`:                             "/log/level",
		`{log: {level: 0}}`:                                "/log/level",
		`{extraArgs: "--x"}`:                               "/extraArgs",
		`{extraArgs: [x]}`:                                 "/extraArgs/0",
		`{extraEnv: {A: b}}`:                               "/extraEnv",
		`{extraEnv: [{value: b}]}`:                         "/extraEnv/0",
		`{crds: {install: "yes"}}`:                         "/crds/install",
		`{crds: {keep: false}}`:                            "keep",
		`{rbac: {create: 1}}`:                              "/rbac/create",
		`{rbac: {aggregate: maybe}}`:                       "/rbac/aggregate",
		`{serviceAccount: {create: "no"}}`:                 "/serviceAccount/create",
		`{serviceAccount: {name: "A B"}}`:                  "/serviceAccount/name",
		`{serviceAccount: {annotations: {a: 1}}}`:          "/serviceAccount/annotations/a",
		`{resources: {memory: 1Gi}}`:                       "/resources",
		`{resources: {limits: {memory: 1 GB}}}`:            "/resources/limits/memory",
		`{benchmarks: {resources: {memory: 1Gi}}}`:         "/benchmarks/resources",
		`{podSecurityContext: [1]}`:                        "/podSecurityContext",
		`{securityContext: x}`:                             "/securityContext",
		`{podLabels: {app.kubernetes.io/name: x}}`:         "/podLabels/app.kubernetes.io~1name",
		`{podAnnotations: {a: true}}`:                      "/podAnnotations/a",
		`{nodeSelector: {a: 1}}`:                           "/nodeSelector/a",
		`{affinity: {spread: {}}}`:                         "/affinity",
		`{tolerations: {key: a}}`:                          "/tolerations",
		`{topologySpreadConstraints: [{maxSkew: 1}]}`:      "/topologySpreadConstraints/0",
		`{priorityClassName: 7}`:                           "/priorityClassName",
		`{podDisruptionBudget: {enabled: 1}}`:              "/podDisruptionBudget/enabled",
		`{podDisruptionBudget: {maxUnavailable: some}}`:    "/podDisruptionBudget/maxUnavailable",
		`{networkPolicy: {enabled: 1}}`:                    "/networkPolicy/enabled",
		`{networkPolicy: {metricsFrom: [{namespace: x}]}}`: "/networkPolicy/metricsFrom/0",
		`{metrics: {service: {enabled: 1}}}`:               "/metrics/service/enabled",
		`{metrics: {service: {annotations: {a: 1}}}}`:      "/metrics/service/annotations/a",
		`{metrics: {serviceMonitor: {enabled: 1}}}`:        "/metrics/serviceMonitor/enabled",
		`{metrics: {serviceMonitor: {labels: {a: 1}}}}`:    "/metrics/serviceMonitor/labels/a",
		`{metrics: {serviceMonitor: {interval: soon}}}`:    "/metrics/serviceMonitor/interval",
		`{metrics: {serviceMonitor: {enabled: true}, service: {enabled: false}}}`: "needs metrics.service.enabled",
		`{metrics: {podMonitors: {enabled: 1}}}`:                                  "/metrics/podMonitors/enabled",
		`{metrics: {podMonitors: {labels: {a: 1}}}}`:                              "/metrics/podMonitors/labels/a",
		`{metrics: {prometheusRules: {enabled: 1}}}`:                              "/metrics/prometheusRules/enabled",
		`{metrics: {prometheusRules: {labels: {a: 1}}}}`:                          "/metrics/prometheusRules/labels/a",
		`{metrics: {prometheusRules: {alertLabels: {a: 1}}}}`:                     "/metrics/prometheusRules/alertLabels/a",
		`{metrics: {prometheusRules: {alertLabels: {severity: info}}}}`:           "/metrics/prometheusRules/alertLabels/severity",
		`{metrics: {prometheusRules: {disabled: [galera]}}}`:                      "/metrics/prometheusRules/disabled/0",
		`{metrics: {prometheusRules: {runbookURL: wiki}}}`:                        "/metrics/prometheusRules/runbookURL",
		`{metrics: {prometheusRules: {runbookURL: "https://wiki.example/"}}}`:     "/metrics/prometheusRules/runbookURL",
		`{metrics: {dashboards: {enabled: 1}}}`:                                   "/metrics/dashboards/enabled",
		`{metrics: {dashboards: {labels: {grafana_dashboard: 1}}}}`:               "/metrics/dashboards/labels/grafana_dashboard",
		`{metrics: {dashboards: {annotations: {a: 1}}}}`:                          "/metrics/dashboards/annotations/a",
		`{fullnameOverride: 7up}`:                                                 "/fullnameOverride",
		`{fullnameOverride: abcdefghijklmnopqrstuvwxyzabcdefghijk}`:               "/fullnameOverride",
	} {
		for path := names; path != ""; path = path[:max(0, strings.LastIndex(path, "/"))] {
			named[path] = true
		}
		_, err := helm(values, "template", release, folder, "--values", "-")
		switch {
		case err == nil:
			t.Errorf("%s is admitted", values)
		case !strings.Contains(err.Error(), names):
			t.Errorf("%s: the message does not name %s: %v", values, names, err)
		}
	}
	for _, value := range tableOfValues(t) {
		if !named["/"+strings.ReplaceAll(value, ".", "/")] {
			t.Errorf("no wrong form of %s is tried", value)
		}
	}
}

// tableOfValues are the values that README.md describes.
func tableOfValues(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllSubmatch(text, -1) {
		out = append(out, string(m[1]))
	}
	if len(out) < 40 {
		t.Errorf("%d values only", len(out))
	}
	return out
}
