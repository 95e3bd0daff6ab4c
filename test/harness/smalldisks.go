package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SmallDisks is a StorageClass with one volume of limited size on every worker. The provisioner of
// the local cluster gives directories of one big disk, which must not be filled up.
type SmallDisks struct {
	Class string
	kube  *Kube
	nodes []string
	// freezable is as in limitedDisk.
	freezable bool
}

// CreateSmallDisks mounts a file system of that many MiB on each worker.
func CreateSmallDisks(ctx context.Context, k *Kube, mebibytes int) (*SmallDisks, error) {
	return createDisks(ctx, k, mebibytes, false)
}

// CreateFreezableDisks does the same with file systems that can be frozen.
func CreateFreezableDisks(ctx context.Context, k *Kube, mebibytes int) (*SmallDisks, error) {
	return createDisks(ctx, k, mebibytes, true)
}

func createDisks(ctx context.Context, k *Kube, mebibytes int, freezable bool) (*SmallDisks, error) {
	nodes, err := k.Hosts().Workers(ctx)
	if err != nil {
		return nil, err
	}
	d := &SmallDisks{Class: "small-" + strings.ToLower(rand.Text()[:8]), kube: k, nodes: nodes, freezable: freezable}
	later := storagev1.VolumeBindingWaitForFirstConsumer
	err = k.Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: d.Class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &later,
	})
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if err := d.on(node).mount(ctx, mebibytes); err != nil {
			return nil, errors.Join(err, d.Remove(ctx))
		}
		if err := k.Create(ctx, d.volume(node, mebibytes)); err != nil {
			return nil, errors.Join(err, d.Remove(ctx))
		}
	}
	return d, nil
}

// on is the small disk of one node.
func (d *SmallDisks) on(node string) limitedDisk {
	return limitedDisk{node: node, name: d.Class, freezable: d.freezable}
}

func (d *SmallDisks) volume(node string, mebibytes int) *corev1.PersistentVolume {
	pv := d.on(node).volume(*resource.NewQuantity(int64(mebibytes)<<20, resource.BinarySI))
	pv.Spec.StorageClassName = d.Class
	return pv
}

// Fill uses up what is free on one node's small disk.
func (d *SmallDisks) Fill(ctx context.Context, node string) error { return d.on(node).fill(ctx) }

// Free gives the space back.
func (d *SmallDisks) Free(ctx context.Context, node string) error { return d.on(node).free(ctx) }

// Freeze lets all writes to all of them wait.
func (d *SmallDisks) Freeze(ctx context.Context) error {
	var errs []error
	for _, node := range d.nodes {
		errs = append(errs, d.on(node).freeze(ctx))
	}
	return errors.Join(errs...)
}

// Thaw lets them go on; those that are not frozen complain.
func (d *SmallDisks) Thaw(ctx context.Context) error {
	var errs []error
	for _, node := range d.nodes {
		errs = append(errs, d.on(node).thaw(ctx))
	}
	return errors.Join(errs...)
}

// Remove unmounts everything. No pod may use it any more.
func (d *SmallDisks) Remove(ctx context.Context) error {
	var errs []error
	for _, node := range d.nodes {
		errs = append(errs, client.IgnoreNotFound(d.kube.Delete(ctx, d.volume(node, 1))))
		errs = append(errs, d.on(node).unmount(ctx))
	}
	errs = append(errs, client.IgnoreNotFound(
		d.kube.Delete(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: d.Class}})))
	return errors.Join(errs...)
}
