package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Arbitrator is what a garbd runs with.
type Arbitrator struct {
	OpenSSL string
	// Options are the provider's.
	Options string
	// Hash covers all of it: garbd takes nothing over while it runs.
	Hash   string
	Socket galera.SocketMode
	Suites []string
}

// BuildArbitrator makes the settings of a garbd. Name, Provider and User of the input are not used.
func BuildArbitrator(in Input) Arbitrator {
	out := Arbitrator{
		OpenSSL: openSSL(in.Config.TLS, in.CPUFlags),
		Options: strings.Join(groupOptions(in), ";"),
		Socket:  in.Config.TLS.Replication,
		Suites:  in.Config.TLS.CipherSuites,
	}
	sum := sha256.Sum256([]byte(out.Options + "\x00" + out.OpenSSL))
	out.Hash = hex.EncodeToString(sum[:8])
	return out
}

// File is the configuration file of a garbd with that name in the group. It gets nothing from its donor, yet
// for a moment there has to be one: any but the primary.
func (a Arbitrator) File(group, name, primary string, members []agentapi.Peer) string {
	var donors strings.Builder
	for _, m := range members {
		if m.Name != primary {
			donors.WriteString(agentapi.GroupName(m.Name) + ",") // the last comma stands for any other node
		}
	}
	text := "name = " + name + "\ngroup = " + group + "\naddress = " + ClusterAddress(members) + "\noptions = " +
		a.Options + "\n"
	if donors.Len() > 0 {
		text += "donor = " + donors.String() + "\n"
	}
	return text
}

// group is every member that a member is to dial. In a switch of the encryption the arbitrator must be among them:
// members with dynamic sockets hand its address on as one without TLS, and a strict member would never find it there.
func group(c agentapi.NodeConfig) []agentapi.Peer {
	if c.Arbitrator == nil {
		return c.Members
	}
	return append(slices.Clip(c.Members), *c.Arbitrator)
}

// NeedsGroupPair reports whether group communication needs a certificate.
func NeedsGroupPair(t agentapi.TLSConfig) bool { return t.Replication != galera.SocketPlain }
