package plugin

import (
	"context"
	"fmt"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// rejoin has a cluster follow the one that has taken over from it. What keeps that from being done is found by its
// operator, which removes nothing before.
func (e sites) rejoin(ctx context.Context, name string, f siteFlags) error {
	a, b, err := e.both(ctx, name, f.to)
	if err != nil {
		return err
	}
	if a.Follows() {
		e.say("%s follows %s already", name, a.FollowedName())
		return nil
	}
	switch {
	case b.ArchivesBinlog():
	case b.Spec.ReplicaOf == nil:
		return fmt.Errorf("%s has no archive that %s could follow: enable spec.backup.pointInTime there", b.Name, name)
	default:
		if err := e.other.change(ctx, b, archiving(b.Spec.ReplicaOf.StoreRef.Name)); err != nil {
			return fmt.Errorf("%s is to be archived, so that %s can follow it: %w", b.Name, name, err)
		}
		e.say("%s is archived from now on", b.Name)
	}
	err = e.await(ctx, f.timeout, task{cluster: name, poll: e.pollCluster(name,
		func(c *v1alpha1.GaleraCluster) (string, bool, error) {
			line, done, err := rejoinLine(c, siteOf(b))
			a = c
			return line, done, err
		}), late: name + " does not follow " + b.Name + " yet", goesOn: "run the command again"})
	if err != nil {
		return err
	}
	if a.Spec.ReplicaOf == nil || a.Spec.ReplicaOf.Replaces != a.Status.Superseded.ID {
		if err := e.change(ctx, a, rejoining(a, f.identity)); err != nil {
			return err
		}
	}
	e.say("%s is emptied, and follows %s then, once that has a backup and an archive. To wait for that: kubectl wait "+
		"--for=condition=Following galeracluster/%s -n %s --timeout=24h", name, b.Name, name, e.namespace)
	return nil
}

// archiving is the patch with which a cluster is archived.
func archiving(store string) map[string]any {
	return map[string]any{"spec": map[string]any{"backup": map[string]any{"storeRef": map[string]any{"name": store},
		"pointInTime": map[string]any{"enabled": true}}}}
}

// rejoining is the patch with which a cluster follows the one that has taken over from it.
func rejoining(c *v1alpha1.GaleraCluster, identity string) map[string]any {
	by := c.Status.Superseded
	return map[string]any{"spec": map[string]any{"switchSite": nil, "cutover": nil, "bootstrapFrom": nil,
		"overrulesPromotion": nil,
		"replicaOf": map[string]any{"storeRef": map[string]any{"name": c.Spec.Backup.StoreRef.Name},
			"cluster":           map[string]any{"namespace": by.Namespace, "name": by.Name, "uid": by.UID},
			"identitySecretRef": map[string]any{"name": identity}, "replaces": by.ID,
			"endpoints": nil, "credentialsSecretRef": nil, "tls": nil}}}
}

// rejoinLine reports whether a cluster knows that another one has taken over, and lacks nothing.
func rejoinLine(c *v1alpha1.GaleraCluster, to v1alpha1.SiteCluster) (line string, done bool, err error) {
	by := c.Status.Superseded
	switch {
	case by == nil:
		return "waiting until " + c.Name + " has found that " + to.Name + " has taken over", false, nil
	case by.UID != to.UID:
		return "", false, fmt.Errorf("another cluster has taken over from %s: %s/%s", c.Name, by.Namespace, by.Name)
	case by.CountedBy == v1alpha1.CountedByNothing:
		return "", false, fmt.Errorf("nothing is removed: an earlier release of the operator has recorded that %s has taken "+
			"over, and has not shown that it has all transactions of %s. Compare the two, then delete %[2]s and its "+
			"claims, and create it anew with spec.replicaOf", to.Name, c.Name)
	case by.Surplus == nil:
		return "waiting until " + c.Name + " knows whether " + to.Name + " has everything", false, nil
	case *by.Surplus > 0:
		return "", false, fmt.Errorf("%s lacks transactions that %s has (status.superseded.surplus): nothing is removed",
			to.Name, c.Name)
	case c.Spec.Backup == nil:
		return "", false, fmt.Errorf("%s has no spec.backup any more: set it to the store in which %s has taken over", c.Name,
			to.Name)
	}
	return "", true, nil
}
