package config

import (
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
}

// takeKeys gives mariadbd its own copy of the mounted keys, in memory, when they are those that the data are encrypted
// with. Other keys never replace them: a server that is restarted in this pod still reads its data.
func takeKeys(p platform.Places, wanted *agentapi.AtRest) keyFiles {
	if wanted == nil {
		return keyFiles{}
	}
	var out keyFiles
	if err := datadir.InstallKeys(p, wanted.Keys); err != nil {
		out.problem = err.Error()
	}
	out.usable = datadir.HasKeys(p, wanted.Keys)
	return out
}

// AtRestOptions are the settings for encryption at rest, nil without.
func AtRestOptions(p platform.Places, a *agentapi.AtRest) []mycnf.Option {
	if a == nil {
		return nil
	}
	return mycnf.AtRest{Algorithm: a.Algorithm, KeyFile: filepath.Join(p.KeyFiles(), atrest.KeyFile),
		PasswordFile: filepath.Join(p.KeyFiles(), atrest.PasswordFile)}.Options()
}

// keysMissing is why mariadbd cannot be started for want of its keys, nil when it can.
func (r *Manager) keysMissing() *agentapi.Failure {
	if r.keys.usable || r.keys.problem == "" {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureKeys, Message: r.keys.problem}
}
