package config

import "github.com/galera-operator/galera-operator/internal/agentapi"

// takeWrites takes over from a published configuration who accepts writes, whatever becomes of the rest of it: settings
// that mariadbd refuses, or keys that it does not have, must not keep a node accepting writes after another cluster has
// taken over. The revision stays, as the rest does.
func (r *Manager) takeWrites(published agentapi.NodeConfig) error {
	if r.Node == nil {
		return nil
	}
	*r.Node = r.Node.WithWritesOf(published)
	output := r.build(*r.Node)
	if output.ReadOnly() == r.Output.ReadOnly() {
		return nil
	}
	if err := r.write(output); err != nil { // the running server gets it all the same
		return err
	}
	r.Output = output
	return nil
}
