package harness

import (
	"context"
	"path"
)

// runVolume is the name of the volume in memory in which an agent keeps what the server and the transfer scripts run with.
const runVolume = "run"

// CorruptPair puts another pair where a running pod's server and transfer scripts read theirs, with the CA it trusts.
// Nothing is published: the agent believes that what it has installed is still there.
func (c *Cluster) CorruptPair(ctx context.Context, pod string, pair Pair) error {
	p, err := c.Pod(ctx, pod)
	if err != nil {
		return err
	}
	dir := path.Join("/var/lib/kubelet/pods", string(p.UID), "volumes/kubernetes.io~empty-dir", runVolume, "tls")
	for name, data := range map[string][]byte{
		"tls.crt": pair.Certificate, "tls.key": pair.Key, "ca.crt": pair.CA, "transfer-ca.crt": pair.CA,
	} {
		file := path.Join(dir, name)
		// Only what is there is written over: it keeps its owner, and a path that is wrong shows.
		_, err := DockerWithInput(ctx, string(data), "exec", "-i", p.Spec.NodeName, "sh", "-euc", `test -f "$1"; cat >"$1"`, "sh", file)
		if err != nil {
			return err
		}
	}
	return nil
}
