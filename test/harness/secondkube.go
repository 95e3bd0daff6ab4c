package harness

import (
	"context"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// secondKube is the name of the second local Kubernetes.
const secondKube = "galera-b"

// StartSecond makes a second Kubernetes of one node with an operator of its own, or takes the one that there is. Its
// pods and those of the first one reach each other; names are not shared (Publish).
func StartSecond(ctx context.Context, log Logf) (*Kube, error) {
	if _, err := hackSecond(ctx, "stack.sh"); err != nil {
		return nil, err
	}
	file, err := hackSecond(ctx, "cluster.sh", "file")
	if err != nil {
		return nil, err
	}
	return connect(strings.TrimSpace(file), "kind-"+secondKube, log)
}

// StopSecond removes it.
func StopSecond(ctx context.Context) error {
	_, err := hackSecond(ctx, "cluster.sh", "down")
	return err
}

// hackSecond runs a script of hack for the second Kubernetes.
func hackSecond(ctx context.Context, script string, args ...string) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	return run(ctx, "", "env", append([]string{"GALERA_CLUSTER=" + secondKube, "NODES=1",
		filepath.Join(root, "hack", script)}, args...)...)
}

// Publish has pods of this Kubernetes find an address elsewhere under the name NAME.NAMESPACE.svc, as a person does who
// cannot change what DNS has: a Service without a selector, with the address as its only endpoint.
func (k *Kube) Publish(ctx context.Context, namespace, name, address string, port int32) error {
	err := k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace,
		Labels: map[string]string{LabelTest: "true"}}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	err = k.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port, TargetPort: intstr.FromInt32(port)}}}})
	if err != nil {
		return err
	}
	return k.Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
	})
}
