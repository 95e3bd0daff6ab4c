package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// copiedKinds are what a node's pod needs, the pods' own object last.
var copiedKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Service"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
}

// CopyTo creates the cluster's objects in another namespace as they are, but for its GaleraCluster, as a script does,
// or a restore of a namespace before it comes to the resource. The volumes of the copy are new. After an error, calling
// it again creates what is missing.
func (c *Cluster) CopyTo(ctx context.Context, namespace string) (*Cluster, error) {
	saved, err := SaveObjects(ctx, c)
	if err != nil {
		return nil, err
	}
	return c.Kube.Cluster(namespace, c.Name), saved.CreateIn(ctx, namespace)
}

// SavedObjects are a cluster's objects but for its GaleraCluster, its pods and its volumes, as a backup of its
// namespace has them.
type SavedObjects struct {
	kube  *Kube
	items []*unstructured.Unstructured
}

// SaveObjects reads them, in the order in which they are to be created again.
func SaveObjects(ctx context.Context, c *Cluster) (SavedObjects, error) {
	out := SavedObjects{kube: c.Kube}
	for _, kind := range copiedKinds {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		if err := c.Kube.List(ctx, &list, client.InNamespace(c.Namespace),
			client.MatchingLabels{v1alpha1.LabelCluster: c.Name}); err != nil {
			return out, err
		}
		if len(list.Items) == 0 {
			return out, fmt.Errorf("%s/%s has no %s to copy", c.Namespace, c.Name, kind.Kind)
		}
		for i := range list.Items {
			out.items = append(out.items, &list.Items[i])
		}
	}
	return out, nil
}

// WithPods returns them with the cluster's database pods. A restore of a namespace creates pods without an owner,
// before the StatefulSet that adopts them.
func (s SavedObjects) WithPods(ctx context.Context, c *Cluster) (SavedObjects, error) {
	names, err := c.PodNames(ctx)
	if err != nil {
		return s, err
	}
	last := len(s.items) - 1
	set, items := s.items[last], slices.Clone(s.items[:last])
	for _, name := range names {
		pod := &unstructured.Unstructured{}
		pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		if err := c.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, pod); err != nil {
			return s, err
		}
		unstructured.RemoveNestedField(pod.Object, "spec", "nodeName") // the copy is scheduled anew
		unstructured.RemoveNestedField(pod.Object, "spec", "priority")
		items = append(items, pod)
	}
	items = append(items, set)
	s.items = items
	return s, nil
}

// CreateIn creates them in a namespace, as a restore does: without what another owner has given them.
func (s SavedObjects) CreateIn(ctx context.Context, namespace string) error {
	for _, o := range s.items {
		if err := s.kube.Create(ctx, copyOf(o, namespace)); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("copying the %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// copyOf is an object without what another namespace, or another owner, has given it.
func copyOf(o *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	for name, value := range o.DeepCopy().Object {
		if name != "metadata" && name != "status" {
			out.Object[name] = value
		}
	}
	out.SetNamespace(namespace)
	out.SetName(o.GetName())
	out.SetLabels(o.GetLabels())
	out.SetAnnotations(o.GetAnnotations())
	if ip, _, _ := unstructured.NestedString(out.Object, "spec", "clusterIP"); o.GetKind() == "Service" &&
		ip != corev1.ClusterIPNone {
		unstructured.RemoveNestedField(out.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(out.Object, "spec", "clusterIPs")
	}
	if o.GetKind() == "Service" {
		releaseNodePorts(out)
	}
	return out
}

// releaseNodePorts removes the ports on the hosts: they belong to the original, and a second Service with one of them
// is refused as invalid.
func releaseNodePorts(service *unstructured.Unstructured) {
	unstructured.RemoveNestedField(service.Object, "spec", "healthCheckNodePort")
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	for _, port := range ports {
		if m, ok := port.(map[string]any); ok {
			delete(m, "nodePort")
		}
	}
	if len(ports) > 0 {
		_ = unstructured.SetNestedSlice(service.Object, ports, "spec", "ports")
	}
}

// ExecThrough runs a statement through the Service of a copy of the cluster, as a client that takes it for the
// cluster's own.
func (cl *Client) ExecThrough(ctx context.Context, copied *Cluster, service, statement string) (err error) {
	var svc corev1.Service
	if err := cl.cluster.Kube.Get(ctx, client.ObjectKey{Namespace: copied.Namespace, Name: service}, &svc); err != nil {
		return err
	}
	db, err := open(cl.connector(svc.Spec.ClusterIP, service+"."+cl.cluster.Namespace+".svc", answerTimeout))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, statement)
	return err
}
