package resources

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// What spec.podTemplate may set without an administrator's consent: keys, and beginnings of keys that end in a slash. A
// label can make a pod part of any Service or policy of its namespace, and an annotation can bring a cloud's role,
// secrets of a vault or a network. So only keys that bring no right are here.
var (
	defaultPodLabels      = []string{"team", "cost-center", "sidecar.istio.io/inject"}
	defaultPodAnnotations = []string{
		"prometheus.io/", "fluentbit.io/", "sidecar.istio.io/inject", "linkerd.io/inject",
		"cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt",
	}
)

// RefusedPodMetadata returns the labels and annotations of spec.podTemplate that the administrator does not allow,
// sorted.
func RefusedPodMetadata(c *v1alpha1.GaleraCluster, opts Options) (labels, annotations []string) {
	t := c.Spec.PodTemplate
	if t == nil {
		return nil, nil
	}
	return refusedKeys(t.Labels, defaultPodLabels, opts.PodLabels), refusedKeys(t.Annotations, defaultPodAnnotations,
		opts.PodAnnotations)
}

func refusedKeys(set map[string]string, allowed ...[]string) (out []string) {
	for key := range set {
		if !slices.ContainsFunc(slices.Concat(allowed...), func(a string) bool { return allows(a, key) }) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// allows reports whether an entry of an allow-list admits a key: a beginning ends in a slash or an asterisk.
func allows(entry, key string) bool {
	if beginning, is := strings.CutSuffix(entry, "*"); is {
		return strings.HasPrefix(key, beginning)
	}
	return entry == key || strings.HasSuffix(entry, "/") && strings.HasPrefix(key, entry)
}

// WithPodMetadata returns the cluster with the labels and annotations of its pods as a StatefulSet has them, in place
// of those of the spec. What others have written into the template, as kubectl rollout restart does, is not taken over:
// it would be another template, and so a restart.
func WithPodMetadata(c *v1alpha1.GaleraCluster, have *appsv1.StatefulSet, opts Options) *v1alpha1.GaleraCluster {
	c = c.DeepCopy()
	t := c.Spec.PodTemplate
	if t == nil {
		return c
	}
	of := have.Spec.Template
	t.Labels = taken(of.Labels, t.Labels, defaultPodLabels, opts.PodLabels)
	t.Annotations = taken(of.Annotations, t.Annotations, defaultPodAnnotations, opts.PodAnnotations)
	for key := range Labels(c) {
		delete(t.Labels, key)
	}
	delete(t.Annotations, v1alpha1.AnnotationPodTemplate)
	return c
}

// taken returns those of set that can come from a spec: the administrator allows the key, or the spec has it and it was
// allowed before.
func taken(set, spec map[string]string, allowed ...[]string) map[string]string {
	out := map[string]string{}
	refused := refusedKeys(set, allowed...)
	for key, value := range set {
		if _, named := spec[key]; named || !slices.Contains(refused, key) {
			out[key] = value
		}
	}
	return out
}
