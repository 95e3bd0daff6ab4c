package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Identity is the UID that a cluster was created with.
type Identity struct {
	// UID is "" for that of the present resource.
	UID string
	// Unheard are running nodes of which none reports the group it is in. While there are any, nothing is published: with
	// another identity their group would have another name, and a node that restarts would not find it.
	Unheard []string
	// Copied is the cluster whose ConfigMap was copied here, nil when none was, or the cluster begins with a backup, or
	// has begun.
	Copied *agentapi.Identity
	// Started are the pods that were started with the copied ConfigMap: they do not read another one.
	Started []string
	// Mixed names two nodes that are in the groups of two clusters, "" when none are.
	Mixed string
}

// IdentityOf returns the identity: as the status has it; after a loss of the status, or of the resource, as the
// configuration that was published last has it; and when that is lost, too, as the running nodes have it. Without
// running nodes any will do: all start with it.
func IdentityOf(f Facts, seen map[string]Seen, published agentapi.NodeConfig) Identity {
	c := f.Cluster
	if of := copied(f); of != nil {
		return Identity{Copied: of, Started: slices.DeleteFunc(slices.Sorted(maps.Keys(f.Pods)), func(name string) bool {
			return !started(f.Pods[name])
		})}
	}
	if published.Cluster != c.Name {
		published.UID = ""
	}
	if uid := cmp.Or(c.Status.Identity, emptied(f, published), published.UID); uid != "" {
		return Identity{UID: uid}
	}
	var unheard []string
	found := map[string]string{} // a node of each
	for _, name := range slices.Sorted(maps.Keys(f.Pods)) {
		of := seen[name].Report.Cluster
		switch {
		case seen[name].Live && of.Namespace == c.Namespace && of.Cluster == c.Name && of.UID != "":
			found[of.UID] = name
		case !seen[name].Live && started(f.Pods[name]):
			unheard = append(unheard, name)
		}
	}
	uids := slices.Sorted(maps.Keys(found))
	switch len(uids) {
	case 0:
		return Identity{Unheard: unheard}
	case 1:
		return Identity{UID: uids[0]}
	}
	return Identity{Mixed: fmt.Sprintf("%s (UID %s) and %s (UID %s)", found[uids[0]], uids[0], found[uids[1]], uids[1])}
}

// emptied returns the identity of a cluster whose status was lost when its nodes and volumes were gone, so that it
// follows the one that has taken over from it, and before that was published; "" for any other one. With the identity
// of before it would count from 1 again in a GTID domain that the other one has.
func emptied(f Facts, published agentapi.NodeConfig) string {
	c := f.Cluster
	var by v1alpha1.SupersededStatus
	if r := c.Spec.ReplicaOf; r == nil || r.Replaces == "" || f.StatefulSet != nil || len(f.Claims)+len(f.Pods) > 0 ||
		published.Cluster != c.Name || json.Unmarshal([]byte(published.Refused().SupersededBy), &by) != nil ||
		by.ID != r.Replaces {
		return ""
	}
	return v1alpha1.IdentityAfter(c, by.ID)
}

// copied returns whose configuration was copied into the namespace of a cluster that has not begun.
func copied(f Facts) *agentapi.Identity {
	c := f.Cluster
	if f.Config == nil || c.Status.Identity != "" || c.Status.ClusterUUID != "" || c.Bootstrap() != nil {
		return nil
	}
	var n agentapi.NodeConfig
	if json.Unmarshal([]byte(f.Config.Data[agentapi.ConfigKey]), &n) != nil || n.Namespace == "" ||
		n.Namespace == c.Namespace {
		return nil
	}
	of := n.Identity()
	return &of
}

// Known reports whether a configuration can be published.
func (i Identity) Known() bool { return len(i.Unheard) == 0 && i.Mixed == "" && i.Copied == nil }

// Message returns what keeps the identity from being known.
func (i Identity) Message() string {
	switch {
	case i.Copied != nil:
		pods := ""
		if len(i.Started) > 0 {
			pods = " and the pods that were started with it (" + strings.Join(i.Started, ", ") + ")"
		}
		return fmt.Sprintf("the ConfigMap with the nodes' configuration is that of the cluster %s: the objects of this "+
			"cluster were copied from there. It does not begin empty by itself. For a copy of the data, delete it and create "+
			"it with spec.bootstrapFrom; for an empty cluster, delete the ConfigMap%s", i.Copied, pods)
	case i.Mixed != "":
		return "the nodes run as members of different clusters: " + i.Mixed +
			". Nothing is changed. Decide which of them is this cluster, and " +
			"delete the pods of the other: they start again as this cluster's nodes, with their data"
	}
	return "the record of the cluster's identity is lost, and its running nodes do not report it: " +
		strings.Join(i.Unheard, ", ") + " do not answer. " +
		"Nothing is published meanwhile. See why the operator cannot connect to their port 8443; or, if no node serves, " +
		"delete their pods: " +
		"they start again with a new identity, and their data"
}

// started reports whether the database container runs, or has run.
func started(p *corev1.Pod) bool {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == resources.ContainerName {
			return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
		}
	}
	return false
}
