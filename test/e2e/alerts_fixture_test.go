package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	// alarmTime is how long a shortened alert may take to fire, or to clear: what is awaited, what the operator or an
	// agent needs to see it, a scrape, an evaluation. The longest are kubelet's: it takes a minute and more until
	// Prometheus has another configuration.
	alarmTime = 4 * time.Minute
	// hasty marks the shortened alerts.
	hasty = "hasty"
)

// shorter are other thresholds of the same question, where the shipped one cannot be reached within minutes.
var shorter = map[string][2]string{
	"GaleraOperationStuck":         {"> 3600", "> 5"},
	"GaleraJoinStalled":            {"> 300", "> 10"},
	"GaleraArchiveBehind":          {"> 300", "> 20"},
	"GaleraBackupTooOld":           {"> 6 * 3600", "> 45"},
	"GaleraCAExpiring":             {"< 30 * 86400", "< 100 * 86400"},
	"GaleraCertificationConflicts": {"> 0.1", "> 0.02"},
}

// hastyAlerts are the shipped alerts with all waits shortened, as an object of a namespace.
func hastyAlerts(namespace string) *unstructured.Unstructured {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "prometheus", "rules.yaml"))
	Expect(err).NotTo(HaveOccurred())
	o := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal(text, o)).To(Succeed())
	o.SetNamespace(namespace)
	o.SetName(hasty)
	groups, _, err := unstructured.NestedSlice(o.Object, "spec", "groups")
	Expect(err).NotTo(HaveOccurred())
	for _, g := range groups {
		group := g.(map[string]any)
		group["name"] = hasty + "-" + group["name"].(string)
		for _, r := range group["rules"].([]any) {
			shorten(r.(map[string]any))
		}
	}
	Expect(unstructured.SetNestedSlice(o.Object, groups, "spec", "groups")).To(Succeed())
	return o
}

func shorten(rule map[string]any) {
	GinkgoHelper()
	name, expr := rule["alert"].(string), rule["expr"].(string)
	if change, ok := shorter[name]; ok {
		Expect(expr).To(ContainSubstring(change[0]), name)
		expr = strings.ReplaceAll(expr, change[0], change[1])
	}
	for _, long := range []string{"[5m]", "[10m]", "[6h]"} {
		expr = strings.ReplaceAll(expr, long, "[20s]")
	}
	rule["expr"], rule["for"] = expr, "5s"
	delete(rule, "keep_firing_for")
	rule["labels"].(map[string]any)[hasty] = "yes"
}

// alarms are those of a Prometheus that all specs about it share.
type alarms struct{ *harness.Prometheus }

var sharedAlarms *alarms

// watchAlarms starts Prometheus, with the shipped alerts and the shortened ones, until the suite ends.
func watchAlarms(ctx context.Context) *alarms {
	GinkgoHelper()
	if sharedAlarms == nil {
		p, err := harness.StartPrometheus(ctx, kube)
		Expect(err).NotTo(HaveOccurred())
		sharedAlarms = &alarms{p}
		Expect(kube.Create(ctx, hastyAlerts(makeNamespace(ctx, "alerts")))).To(Succeed())
	}
	return sharedAlarms
}

func dropAlarms(ctx context.Context) {
	if sharedAlarms != nil && os.Getenv("GALERA_E2E_KEEP") == "" {
		Expect(sharedAlarms.Stop(ctx)).To(Succeed())
		for _, ns := range liveNamespaces {
			if strings.HasPrefix(ns, "alerts-") {
				removeNamespace(ctx, ns)
			}
		}
	}
	sharedAlarms = nil
}

// fire waits until alerts about a cluster, or about none, fire.
func (a *alarms) fire(ctx context.Context, c *harness.Cluster, names ...string) {
	GinkgoHelper()
	for _, name := range names {
		a.await(ctx, true, c, name)
		a.record(ctx, c, name)
	}
}

// clear waits until they fire no more.
func (a *alarms) clear(ctx context.Context, c *harness.Cluster, names ...string) {
	GinkgoHelper()
	a.await(ctx, false, c, names...)
}

func (a *alarms) await(ctx context.Context, fires bool, c *harness.Cluster, names ...string) {
	GinkgoHelper()
	start, word := time.Now(), "cleared"
	if fires {
		word = "fired"
	}
	for _, name := range names {
		with := map[string]string{"alertname": name, hasty: "yes"}
		if c != nil {
			with["namespace"] = c.Namespace
		}
		Expect(a.WaitAlert(ctx, fires, alarmTime, with)).To(Succeed())
		progress("ALERT %s %s after %s", name, word, time.Since(start).Round(time.Second))
		AddReportEntry(name, word)
	}
}
