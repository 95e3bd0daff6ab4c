package config

import (
	"os"
	"path/filepath"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// keyFiles is what was found of the encryption keys.
type keyFiles struct {
	// problem explains why the mounted keys were not taken over, "" when they were.
	problem string
	// usable reports whether mariadbd's own copy has the keys that the data are encrypted with.
	usable bool
	// optional reports whether a server is started without them.
	optional bool
}

// takeKeys gives mariadbd its own copy of the mounted keys, in memory, when they are those that the data are encrypted
// with. Other keys never replace them: a server that is restarted in this pod still reads its data.
func takeKeys(p platform.Places, wanted *agentapi.AtRest) keyFiles {
	if wanted == nil {
		return keyFiles{}
	}
	out := keyFiles{optional: wanted.State == agentapi.AtRestPrepared}
	if err := datadir.InstallKeys(p, wanted.Keys); err != nil {
		out.problem = err.Error()
	}
	out.usable = datadir.HasKeys(p, wanted.Keys)
	return out
}

// usableAtRest is the encryption that a server can be started with here: none while the keys are prepared and the pod
// does not have them, and no cache in memory where the pod has no volume for it. It is false when no server may be
// started, as the data may be encrypted.
func usableAtRest(p platform.Places, wanted *agentapi.AtRest, keys keyFiles) (*agentapi.AtRest, bool) {
	if wanted == nil || !keys.usable {
		return nil, wanted == nil || wanted.State == agentapi.AtRestPrepared
	}
	out := *wanted
	if info, err := os.Stat(p.Cache); err != nil || !info.IsDir() {
		out.CacheInMemory = false
	}
	return &out, true
}

// AtRestOptions are the settings for encryption at rest, nil without.
func AtRestOptions(p platform.Places, a *agentapi.AtRest) []mycnf.Option {
	if a == nil {
		return nil
	}
	settings := mycnf.AtRest{Algorithm: a.Algorithm, KeyFile: filepath.Join(p.KeyFiles(), atrest.KeyFile),
		PasswordFile: filepath.Join(p.KeyFiles(), atrest.PasswordFile)}
	if a.State == agentapi.AtRestEncrypted {
		return settings.Options()
	}
	return settings.ClearOptions()
}

// atRestMode is what a server does with the keys.
func atRestMode(a *agentapi.AtRest) string {
	switch {
	case a == nil:
		return ""
	case a.State == agentapi.AtRestEncrypted:
		return agentapi.ModeEncrypts
	}
	return agentapi.ModeHolds
}

// ServerKeys returns the fingerprints of the keys that the running server has, nil when it has none, and the algorithm
// that it encrypts with.
func (r *Manager) ServerKeys() (keys map[string]string, algorithm string, err error) {
	if r.run.Output.AtRest == "" {
		return nil, "", nil
	}
	if r.Node != nil && r.Node.AtRest != nil {
		algorithm = r.Node.AtRest.Algorithm
	}
	keys, err = datadir.OwnKeys(r.places)
	return keys, algorithm, err
}

// KeysForStart returns the fingerprints of the keys that a server is started with, nil when it has none.
func (r *Manager) KeysForStart() map[string]string {
	if r.Node == nil || r.Node.AtRest == nil {
		return nil
	}
	return r.Node.AtRest.Keys
}

// missing is why mariadbd cannot be started for want of its keys, nil when it can.
func (k keyFiles) missing() *agentapi.Failure {
	if k.usable || k.optional || k.problem == "" {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureKeys, Message: k.problem}
}
