package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// limitedDisk is a file system of limited size on a node. It is in the node's own mount namespace, so that kubelet sees
// it.
type limitedDisk struct {
	node string
	name string
	// freezable makes it a file system on a file (ext4), which can be frozen, and not one in memory, which cannot.
	freezable bool
}

func (d limitedDisk) path() string { return "/var/galera-tests/" + d.name }

func (d limitedDisk) mount(ctx context.Context, mebibytes int) error {
	script := `mkdir -p "$1"; mount -t tmpfs -o "size=$2m,mode=0777" tmpfs "$1"; mkdir -p "$1/data"; chmod 0777 "$1/data"`
	if d.freezable {
		script = `mkdir -p "$1"; truncate -s "$2m" "$1.img"; mkfs.ext4 -q -F "$1.img"
dev=$(losetup -f); [ -e "$dev" ] || mknod "$dev" b 7 "${dev#/dev/loop}"; mount -o loop "$1.img" "$1"; mkdir -p "$1/data"; chmod 0777 "$1/data"`
	}
	_, err := onNode(ctx, d.node, script, d.path(), fmt.Sprint(mebibytes))
	return err
}

// freeze lets every write to it wait, until thaw.
func (d limitedDisk) freeze(ctx context.Context) error {
	_, err := onNode(ctx, d.node, `fsfreeze --freeze "$1"`, d.path())
	return err
}

func (d limitedDisk) thaw(ctx context.Context) error {
	_, err := onNode(ctx, d.node, `fsfreeze --unfreeze "$1"`, d.path())
	return err
}

func (d limitedDisk) resize(ctx context.Context, mebibytes int) error {
	_, err := onNode(ctx, d.node, `mount -o "remount,size=$2m" "$1"`, d.path(), fmt.Sprint(mebibytes))
	return err
}

func (d limitedDisk) fill(ctx context.Context) error {
	_, err := onNode(ctx, d.node, `dd if=/dev/zero of="$1/filler" bs=1M 2>/dev/null || true`, d.path())
	return err
}

func (d limitedDisk) free(ctx context.Context) error {
	_, err := onNode(ctx, d.node, `rm -f "$1/filler"`, d.path())
	return err
}

func (d limitedDisk) unmount(ctx context.Context) error {
	_, err := onNode(ctx, d.node, `umount -l "$1" || true; rm -rf "$1" "$1.img"`, d.path())
	return err
}

// volume offers the disk to Kubernetes as one of that size, whatever it really has.
func (d limitedDisk) volume(capacity resource.Quantity) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: d.name + "-" + d.node},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: capacity},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: d.path() +
				"/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{d.node},
					}},
				}}}},
		},
	}
}

// NextDisk is a disk of limited size that is reserved for the next claim of one pod.
type NextDisk struct {
	kube *Kube
	disk limitedDisk
}

// CreateNextDisk prepares a disk of that many MiB on the node a pod is on. The pod's next claim, once its present
// one is deleted, is bound to it and to no other. The volume says it has the size that is asked for.
func (c Volumes) CreateNextDisk(ctx context.Context, pod string, mebibytes int) (*NextDisk, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := c.cluster.Kube.Get(ctx, client.ObjectKey{Namespace: c.cluster.Namespace, Name: "data-" + pod},
		claim); err != nil {
		return nil, err
	}
	node, err := c.cluster.Pods().NodeOf(ctx, pod)
	if err != nil {
		return nil, err
	}
	d := &NextDisk{kube: c.cluster.Kube, disk: limitedDisk{node: node, name: "next-" + strings.ToLower(rand.Text()[:8])}}
	pv := d.disk.volume(claim.Spec.Resources.Requests[corev1.ResourceStorage])
	pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1",
		Namespace: c.cluster.Namespace, Name: claim.Name}
	if claim.Spec.StorageClassName != nil {
		pv.Spec.StorageClassName = *claim.Spec.StorageClassName
	}
	if err := d.disk.mount(ctx, mebibytes); err != nil {
		return nil, errors.Join(err, d.Remove(ctx))
	}
	if err := c.cluster.Kube.Create(ctx, pv); err != nil {
		return nil, errors.Join(err, d.Remove(ctx))
	}
	return d, nil
}

// Resize gives the disk another size, also while it is used.
func (d *NextDisk) Resize(ctx context.Context, mebibytes int) error {
	return d.disk.resize(ctx, mebibytes)
}

// Fill uses up what is free.
func (d *NextDisk) Fill(ctx context.Context) error { return d.disk.fill(ctx) }

// Free gives the space back.
func (d *NextDisk) Free(ctx context.Context) error { return d.disk.free(ctx) }

// Remove unmounts it. No pod may use it any more.
func (d *NextDisk) Remove(ctx context.Context) error {
	err := client.IgnoreNotFound(d.kube.Delete(ctx, d.disk.volume(resource.Quantity{})))
	return errors.Join(err, d.disk.unmount(ctx))
}
