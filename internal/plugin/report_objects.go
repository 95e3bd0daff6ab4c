package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/bundle"
	"github.com/galera-operator/galera-operator/internal/version"
)

// reporter fills a bundle about one cluster.
type reporter struct {
	env     *env
	from    sources
	cluster *v1alpha1.GaleraCluster
	bundle  *bundle.Bundle
	since   time.Duration
}

// Kinds of objects that carry the cluster's label, and of those that name it.
var (
	labelled = []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "PersistentVolumeClaim"},
		{Version: "v1", Kind: "ServiceAccount"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "ControllerRevision"}, {Group: "batch", Version: "v1", Kind: "Job"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, {Group: "discovery.k8s.io", Version: "v1",
			Kind: "EndpointSlice"},
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}, {Group: "cert-manager.io", Version: "v1",
			Kind: "Issuer"}, {Group: "cert-manager.io", Version: "v1", Kind: "CertificateRequest"},
	}
	naming = []string{"GaleraBackup", "GaleraBackupSchedule", "GaleraBackupStore", "GaleraBenchmark", "GaleraDatabase",
		"GaleraProxy", "GaleraRestore", "GaleraUser"}
)

// public are keys of Secrets that are no secret: they are needed to understand the rest.
var public = []string{"type", "provider", "host", "port", "username", "database", "ca.crt", "tls.crt", "namespace",
	"overlap", "client-ca.crt", "control-ca.crt"}

// longSecret is the longest value that is looked for, in bytes.
const longSecret = 64 << 10

// secrets lists the Secrets of the namespace by name, and makes their values known, so that they are taken out of
// everything else.
func (r *reporter) secrets(ctx context.Context) {
	var all corev1.SecretList
	if err := r.env.kube.List(ctx, &all, client.InNamespace(r.env.namespace)); err != nil {
		r.bundle.Miss("Secrets (their values are not known, so only what looks like a secret is taken out)", err)
		return
	}
	var lines []string
	for _, s := range all.Items {
		var keys []string
		for key, value := range s.Data {
			keys = append(keys, fmt.Sprintf("%s (%d bytes)", key, len(value)))
			if !slices.Contains(public, key) && len(value) <= longSecret && !strings.HasPrefix(string(s.Type), "helm.sh/") {
				r.know("Secret "+s.Name+"/"+key, string(value))
			}
		}
		slices.Sort(keys)
		lines = append(lines, fmt.Sprintf("%s  %s  %s", s.Name, s.Type, strings.Join(keys, ", ")))
	}
	r.bundle.Add("secrets.txt", strings.Join(lines, "\n")+"\n")
}

// know makes a value known; of what holds certificates, only the private keys.
func (r *reporter) know(label, value string) {
	const begin, certificate, private = "-----BEGIN", "-----BEGIN CERTIFICATE", "PRIVATE KEY-----"
	if !strings.Contains(value, certificate) {
		r.bundle.Redactor.Know(label, value)
		return
	}
	for _, block := range strings.Split(value, begin)[1:] {
		if strings.Contains(block, private) {
			r.bundle.Redactor.Know(label, begin+block)
		}
	}
}

func (r *reporter) resource(ctx context.Context) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("GaleraCluster"))
	if err := r.env.kube.Get(ctx, client.ObjectKeyFromObject(r.cluster), u); err != nil {
		r.bundle.Miss("the GaleraCluster", err)
		return
	}
	r.add("cluster.yaml", u)
}

func (r *reporter) add(path string, u *unstructured.Unstructured) {
	r.bundle.Redactor.Object(u.Object)
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		r.bundle.Miss(path, err)
		return
	}
	r.bundle.Add(path, string(text))
}

// list reads the objects of a kind. A kind that this Kubernetes does not have is nothing that is missing.
func (r *reporter) list(ctx context.Context, gvk schema.GroupVersionKind,
	o ...client.ListOption) []unstructured.Unstructured {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := r.env.kube.List(ctx, list, o...); err != nil {
		if !meta.IsNoMatchError(err) {
			r.bundle.Miss(gvk.Kind+"s", err)
		}
		return nil
	}
	return list.Items
}

func (r *reporter) objects(ctx context.Context) {
	for _, gvk := range labelled {
		for _, u := range r.list(ctx, gvk, client.InNamespace(r.env.namespace),
			client.MatchingLabels{v1alpha1.LabelCluster: r.cluster.Name}) {
			r.add("objects/"+strings.ToLower(gvk.Kind)+"/"+u.GetName()+".yaml", &u)
		}
	}
}

// related are backups, benchmarks, users and databases of the cluster, and the namespace's stores.
func (r *reporter) related(ctx context.Context) {
	for _, kind := range naming {
		for _, u := range r.list(ctx, v1alpha1.GroupVersion.WithKind(kind), client.InNamespace(r.env.namespace)) {
			if kind == "GaleraBackupStore" || names(u.Object, r.cluster.Name) {
				r.add("objects/"+strings.ToLower(kind)+"/"+u.GetName()+".yaml", &u)
			}
		}
	}
}

// names reports whether an object's clusterRef, its template's, or a benchmark's is the cluster.
func names(o map[string]any, cluster string) bool {
	for _, path := range [][]string{{"spec", "clusterRef", "name"}, {"spec", "template", "clusterRef", "name"},
		{"spec", "cluster", "ref", "name"}, {"spec", "clusterRef"}} {
		if name, found, err := unstructured.NestedString(o, path...); found && err == nil && name == cluster {
			return true
		}
	}
	return false
}

// hosts are the machines of the cluster's pods: their conditions and versions.
func (r *reporter) hosts(ctx context.Context) {
	var pods corev1.PodList
	if r.env.kube.List(ctx, &pods, client.InNamespace(r.env.namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: r.cluster.Name}) != nil {
		return // reported with the objects
	}
	reported := map[string]bool{"": true}
	for _, p := range pods.Items {
		if host := p.Spec.NodeName; !reported[host] {
			reported[host] = true
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
			if err := r.env.kube.Get(ctx, client.ObjectKey{Name: host}, u); err != nil {
				r.bundle.Miss("the host "+host, err)
				continue
			}
			unstructured.RemoveNestedField(u.Object, "status", "images")
			r.add("hosts/"+host+".yaml", u)
		}
	}
}

// events are those of the namespace that are about the cluster or one of its objects, which all have its name as
// beginning.
func (r *reporter) events(ctx context.Context) {
	var all corev1.EventList
	if err := r.env.kube.List(ctx, &all, client.InNamespace(r.env.namespace)); err != nil {
		r.bundle.Miss("events", err)
		return
	}
	slices.SortStableFunc(all.Items, func(a, b corev1.Event) int { return lastSeen(a).Compare(lastSeen(b)) })
	var lines []string
	for _, e := range all.Items {
		if o := e.InvolvedObject; o.Name == r.cluster.Name || strings.Contains(o.Name, r.cluster.Name+"-") {
			lines = append(lines, fmt.Sprintf("%s  %s  %s  %s/%s  ×%d  %s", lastSeen(e).UTC().Format(time.RFC3339), e.Type,
				e.Reason, o.Kind, o.Name, max(1, e.Count), e.Message))
		}
	}
	r.bundle.Add("events.txt", strings.Join(lines, "\n")+"\n")
}

func lastSeen(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

func (r *reporter) versions(context.Context) {
	text := "plugin: " + version.Version + "\n"
	if v, err := r.from.version(); err != nil {
		r.bundle.Miss("the version of Kubernetes", err)
	} else {
		text += "Kubernetes: " + v + "\n"
	}
	for _, m := range r.cluster.Status.Members {
		if m.Agent != nil {
			text += "agent of " + m.Name + ": " + m.Agent.Version + "\n"
		}
		text += "MariaDB of " + m.Name + ": " + m.Version + "\n"
	}
	r.bundle.Add("versions.txt", text)
}
