package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// nextAtRest is how far the data are switched after this pass. It is recorded before the nodes have it: a pass
// publishes what an earlier one has recorded.
//
//	"", Off     → On           a cluster without data
//	"", Off     → Preparing    a running one: its nodes are given the keys
//	Preparing   → On           when the server of every node has them
//	Preparing   → Off          the spec asks for none, and nothing is encrypted
//	On          → Decrypting   the spec asks for none
//	Decrypting  → On           the spec asks for it again, and the server of every node has the keys
//	Decrypting  → Off          when nothing on any node's volume is encrypted
func nextAtRest(in Input, before v1alpha1.AtRestStatus) v1alpha1.AtRestStatus {
	asked := in.cluster().AtRest() != nil
	next := before
	next.Message = ""
	wait := ""
	switch before.State {
	case "", v1alpha1.AtRestOff:
		return beginAtRest(in, before)
	case v1alpha1.AtRestPreparing:
		if !asked {
			if wait = stillEncrypted(in, true); wait == "" {
				next.State = v1alpha1.AtRestOff
			}
		} else if wait = withoutKeys(in); wait == "" {
			next.State = v1alpha1.AtRestOn
		}
	case v1alpha1.AtRestOn:
		if !asked {
			next.State = v1alpha1.AtRestDecrypting
		}
	case v1alpha1.AtRestDecrypting:
		if asked {
			if wait = withoutKeys(in); wait == "" {
				next.State = v1alpha1.AtRestOn
			}
		} else if wait = stillEncrypted(in, false); wait == "" {
			next.State = v1alpha1.AtRestOff
		}
	}
	if asked && in.KeysRefused == nil { // another one does not have the keys
		next.SecretName = resources.KeysSecretName(in.cluster())
	}
	next.Message = clip(wait, 1024)
	return next
}

// beginAtRest records the keys, and that the nodes are to have them. A status that was lost is made again from what the
// nodes run with: their data may be encrypted.
func beginAtRest(in Input, before v1alpha1.AtRestStatus) v1alpha1.AtRestStatus {
	c, k := in.cluster(), in.Facts.Keys
	forgotten := observe.KeysForgotten(in.Facts)
	if c.AtRest() == nil && !forgotten || k == nil || !k.Exists || k.Problem != "" {
		return before
	}
	out := v1alpha1.AtRestStatus{State: v1alpha1.AtRestPreparing, SecretName: resources.KeysSecretName(c),
		Algorithm: algorithm(in)}
	switch {
	case forgotten:
		out.State = v1alpha1.AtRestDecrypting
		if c.AtRest() == nil {
			out.SecretName = resources.MountedKeys(in.Facts.StatefulSet)
		}
	case c.Status.ClusterUUID == "" && in.Facts.StatefulSet == nil:
		out.State = v1alpha1.AtRestOn
	}
	for _, id := range slices.Sorted(maps.Keys(k.Fingerprints)) {
		out.Keys = append(out.Keys, v1alpha1.EncryptionKeyStatus{ID: id, Fingerprint: k.Fingerprints[id]})
	}
	return out
}

// algorithm is what the data are encrypted with.
func algorithm(in Input) string {
	if a := in.Config.AtRest; a != nil { // of a status that was lost
		return a.Algorithm
	}
	if a := in.cluster().AtRest(); a != nil && a.Algorithm != "" {
		return a.Algorithm
	}
	return "AES_CTR"
}

// withoutKeys explains which node's server does not have the keys, or is not known to; "" when all have them.
func withoutKeys(in Input) string {
	return eachNode(in, "the nodes are given the keys before one of them encrypts", func(m galera.Member,
		a *agentapi.AtRestReport) string {
		switch {
		case a == nil || a.Mode == "":
			return m.Name + " does not run with them yet"
		case a.Problem != "":
			return m.Name + ": " + a.Problem
		}
		return ""
	})
}

// stillEncrypted explains what on which node's volume is encrypted, or not known to be in clear; "" when nothing is. A
// server without keys has encrypted nothing if none of the nodes needed them.
func stillEncrypted(in Input, without bool) string {
	return eachNode(in, "the nodes keep the keys until nothing is encrypted", func(m galera.Member,
		a *agentapi.AtRestReport) string {
		switch {
		case without && (a == nil || a.Mode == ""):
			return ""
		case a == nil || a.Mode != agentapi.ModeHolds:
			return m.Name + " does not write in clear yet"
		case !without && m.ConfigLoaded != in.Config.Revision:
			return m.Name + " does not have the published settings yet: its server may be started as one that encrypts"
		case a.EncryptedFiles > 0:
			return fmt.Sprintf("%s: %d of %d files are encrypted: %s", m.Name, a.EncryptedFiles, a.Files,
				strings.Join(a.Encrypted, "; "))
		}
		return missingProof(in.Now, m.Name, a)
	})
}

// eachNode returns what the first node lacks, "" when no node lacks anything. Of a cluster whose nodes are not all
// there nothing is known.
func eachNode(in Input, what string, lacks func(galera.Member, *agentapi.AtRestReport) string) string {
	if in.Snapshot.Hibernate || len(in.Snapshot.Members) == 0 {
		return what + ": no node runs"
	}
	for _, m := range in.Snapshot.Members {
		var a *agentapi.AtRestReport
		r := in.report(m.Name)
		if r == nil {
			return what + ": waiting for " + m.Name
		}
		if a = r.AtRest; m.Pod.Terminating {
			a = nil // its successor may run with something else
		}
		if why := lacks(m, a); why != "" {
			return what + ": " + why
		}
	}
	return ""
}
