package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
}

// CreateSmallDisks mounts a file system of that many MiB on each worker.
func (k *Kube) CreateSmallDisks(ctx context.Context, mebibytes int) (*SmallDisks, error) {
	nodes, err := k.Workers(ctx)
	if err != nil {
		return nil, err
	}
	d := &SmallDisks{Class: "small-" + strings.ToLower(rand.Text()[:8]), kube: k, nodes: nodes}
	later := storagev1.VolumeBindingWaitForFirstConsumer
	err = k.Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: d.Class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &later,
	})
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		script := `mkdir -p "$1"; mount -t tmpfs -o "size=$2m,mode=0777" tmpfs "$1"; mkdir -p "$1/data"; chmod 0777 "$1/data"`
		if _, err := onNode(ctx, node, script, d.path(), fmt.Sprint(mebibytes)); err != nil {
			return nil, errors.Join(err, d.Remove(ctx))
		}
		if err := k.Create(ctx, d.volume(node, mebibytes)); err != nil {
			return nil, errors.Join(err, d.Remove(ctx))
		}
	}
	return d, nil
}

func (d *SmallDisks) path() string { return "/var/galera-tests/" + d.Class }

func (d *SmallDisks) volume(node string, mebibytes int) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: d.Class + "-" + node},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(int64(mebibytes)<<20, resource.BinarySI)},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			StorageClassName:              d.Class,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: d.path() + "/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
				}},
			}}}},
		},
	}
}

// Fill uses up what is free on one node's small disk.
func (d *SmallDisks) Fill(ctx context.Context, node string) error {
	_, err := onNode(ctx, node, `dd if=/dev/zero of="$1/filler" bs=1M 2>/dev/null || true`, d.path())
	return err
}

// Free gives the room back.
func (d *SmallDisks) Free(ctx context.Context, node string) error {
	_, err := onNode(ctx, node, `rm -f "$1/filler"`, d.path())
	return err
}

// Remove unmounts everything. No pod may use it any more.
func (d *SmallDisks) Remove(ctx context.Context) error {
	var errs []error
	for _, node := range d.nodes {
		errs = append(errs, client.IgnoreNotFound(d.kube.Delete(ctx, d.volume(node, 1))))
		_, err := onNode(ctx, node, `umount -l "$1" || true; rm -rf "$1"`, d.path())
		errs = append(errs, err)
	}
	errs = append(errs, client.IgnoreNotFound(d.kube.Delete(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: d.Class}})))
	return errors.Join(errs...)
}
