package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Volume is where the data of one pod is: a directory on a node.
type Volume struct {
	Node string
	Path string
}

// Volumes are those of a cluster's pods, and their claims.
type Volumes struct{ cluster *Cluster }

// Volumes returns the handle of the volumes of the cluster's pods.
func (c *Cluster) Volumes() Volumes { return Volumes{c} }

// Of finds the volume of a pod, whether the pod exists or not.
func (c Volumes) Of(ctx context.Context, pod string) (Volume, error) {
	pvc := &corev1.PersistentVolumeClaim{}
	if err := c.cluster.Kube.Get(ctx, client.ObjectKey{Namespace: c.cluster.Namespace, Name: "data-" + pod},
		pvc); err != nil {
		return Volume{}, err
	}
	pv := &corev1.PersistentVolume{}
	if err := c.cluster.Kube.Get(ctx, client.ObjectKey{Name: pvc.Spec.VolumeName}, pv); err != nil {
		return Volume{}, err
	}
	out := Volume{}
	switch {
	case pv.Spec.HostPath != nil:
		out.Path = pv.Spec.HostPath.Path
	case pv.Spec.Local != nil:
		out.Path = pv.Spec.Local.Path
	default:
		return out, fmt.Errorf("the volume %s is no directory of a node", pv.Name)
	}
	if pv.Spec.NodeAffinity != nil && pv.Spec.NodeAffinity.Required != nil {
		for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				if e.Key == corev1.LabelHostname && len(e.Values) == 1 {
					out.Node = e.Values[0]
				}
			}
		}
	}
	if out.Node == "" {
		return out, fmt.Errorf("the volume %s is on no particular node", pv.Name)
	}
	return out, nil
}

// DeleteClaim deletes the claim of one pod; the volume goes when the pod does.
func (c Volumes) DeleteClaim(ctx context.Context, pod string) error {
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.cluster.Namespace,
		Name: "data-" + pod}}
	return client.IgnoreNotFound(c.cluster.Kube.Delete(ctx, pvc))
}

// Offline keeps a pod from coming back while something is done to its volume: its node takes no
// new pods meanwhile. The other pods of the cluster go on.
func (c Volumes) Offline(ctx context.Context, pod string, do func(Volume) error) (err error) {
	v, err := c.Of(ctx, pod)
	if err != nil {
		return err
	}
	if err := c.cluster.Kube.Hosts().Cordon(ctx, v.Node, true); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, c.cluster.Kube.Hosts().Cordon(context.WithoutCancel(ctx), v.Node, false))
	}()
	if _, err := c.cluster.Pods().Delete(ctx, pod); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := c.waitOffline(ctx, pod); err != nil {
		return err
	}
	return do(v)
}

// waitOffline waits until the pod that ran is gone and its successor has no node.
func (c Volumes) waitOffline(ctx context.Context, pod string) error {
	return c.cluster.Kube.Until(ctx, pod+" is off its volume", 2*time.Minute, func(ctx context.Context) (bool, string,
		error) {
		p, err := c.cluster.Pod(ctx, pod)
		if apierrors.IsNotFound(err) {
			return false, "gone", nil
		}
		if err != nil {
			return false, "", err
		}
		off := p.DeletionTimestamp == nil && p.Spec.NodeName == "" && p.Status.Phase == corev1.PodPending
		return off, fmt.Sprintf("%s on %q", p.Status.Phase, p.Spec.NodeName), nil
	})
}

// Snapshot copies a volume on its node, under a name. The pod must not be running.
func (v Volume) Snapshot(ctx context.Context, name string) (Volume, error) {
	to := Volume{Node: v.Node, Path: "/var/galera-tests/" + name}
	_, err := onNode(ctx, v.Node, `mkdir -p "$(dirname "$2")"; rm -rf "$2"; cp -a "$1" "$2"`, v.Path, to.Path)
	return to, err
}

// Restore replaces what is in a volume by a snapshot, which may be of another node. The pod must
// not be running.
func (v Volume) Restore(ctx context.Context, from Volume) error {
	if from.Node == v.Node {
		_, err := onNode(ctx, v.Node, `find "$2" -mindepth 1 -delete; cp -a "$1"/. "$2"/`, from.Path, v.Path)
		return err
	}
	archive := "docker exec " + from.Node + " tar -C '" + from.Path + "' -c . | docker exec -i " + v.Node + " tar -C '" +
		v.Path + "' -x"
	if _, err := onNode(ctx, v.Node, `find "$1" -mindepth 1 -delete`, v.Path); err != nil {
		return err
	}
	_, err := run(ctx, "", "bash", "-o", "pipefail", "-c", archive)
	return err
}

// CopyOn copies a snapshot to another node, under a name.
func (v Volume) CopyOn(ctx context.Context, node, name string) (Volume, error) {
	to := Volume{Node: node, Path: "/var/galera-tests/" + name}
	if _, err := onNode(ctx, node, `rm -rf "$1"; mkdir -p "$1"`, to.Path); err != nil {
		return to, err
	}
	return to, to.Restore(ctx, v)
}

// Claim creates a claim that is bound to this directory, as a restore of volumes does before pods are created.
func (v Volume) Claim(ctx context.Context, c *Cluster, pod string) error {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "data-" + pod,
		Labels: map[string]string{v1alpha1.LabelCluster: c.Name}}}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	none, modes := "", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec = corev1.PersistentVolumeClaimSpec{StorageClassName: &none, AccessModes: modes,
		VolumeName: c.Namespace + "-" + pod, Resources: corev1.VolumeResourceRequirements{Requests: size}}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
	volume.Spec = corev1.PersistentVolumeSpec{Capacity: size, AccessModes: modes,
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: v.Path}},
		ClaimRef:                      &corev1.ObjectReference{Namespace: c.Namespace, Name: claim.Name},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname,
				Operator: corev1.NodeSelectorOpIn, Values: []string{v.Node}}}}}}}}
	return errors.Join(c.Kube.Create(ctx, volume), c.Kube.Create(ctx, claim))
}

// Unclaim deletes the volume that Claim has created.
func (c Volumes) Unclaim(ctx context.Context, pod string) error {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: c.cluster.Namespace + "-" + pod}}
	return client.IgnoreNotFound(c.cluster.Kube.Delete(ctx, volume))
}

// Has reports whether a file, or a directory, is on a volume.
func (v Volume) Has(ctx context.Context, name string) (bool, error) {
	out, err := onNode(ctx, v.Node, `if [ -e "$1/$2" ]; then echo yes; fi`, v.Path, name)
	return strings.TrimSpace(out) == "yes", err
}

// Disguise makes what an aborted full transfer has left look like a database that knows where it stands, and better
// than any other node. The pod must not be running.
func (v Volume) Disguise(ctx context.Context, clusterUUID string) error {
	const script = `cd "$1/data"; rm -rf .sst sst_in_progress; [ -e ibdata1 ] || head -c 1048576 /dev/zero >ibdata1
printf '# GALERA saved state\nversion: 2.1\nuuid:    %s\nseqno:   999999999\nsafe_to_bootstrap: 1\n' "$2" >grastate.dat
chown --reference=. ibdata1 grastate.dat`
	_, err := onNode(ctx, v.Node, script, v.Path, clusterUUID)
	return err
}

// Break damages a database so that no server can read it, nor report where it stands. The pod must not be running.
func (v Volume) Break(ctx context.Context) error {
	const script = `cd "$1/data"; sed -i 's/^seqno:.*/seqno:   -1/' grastate.dat; dd if=/dev/urandom of=ibdata1 bs=65536 count=32 conv=notrunc 2>/dev/null`
	_, err := onNode(ctx, v.Node, script, v.Path)
	return err
}

// Wipe removes the database from a volume, also under a running pod, and leaves what the agent keeps alongside it.
func (v Volume) Wipe(ctx context.Context) error {
	_, err := onNode(ctx, v.Node, `find "$1/data" -mindepth 1 -delete`, v.Path)
	return err
}

// DamageOrderBook writes over what the agent remembers of its orders, also under a running pod.
func (v Volume) DamageOrderBook(ctx context.Context) error {
	_, err := onNode(ctx, v.Node, `[ -e "$1/agent/orders.json" ] && echo '{"highestEpoch": torn' >"$1/agent/orders.json"`,
		v.Path)
	return err
}

// Remove deletes a snapshot.
func (v Volume) Remove(ctx context.Context) error {
	if !strings.HasPrefix(v.Path, "/var/galera-tests/") {
		return fmt.Errorf("%s is no snapshot", v.Path)
	}
	_, err := onNode(ctx, v.Node, `rm -rf "$1"`, v.Path)
	return err
}

// Search returns the files of a volume in which a text stands, every byte of it, also under a running pod.
func (v Volume) Search(ctx context.Context, text string) ([]string, error) {
	out, err := onNode(ctx, v.Node, `cd "$1"; grep -rlaF -e "$2" . || [ $? = 1 ]`, v.Path, text)
	return strings.Fields(out), err
}
