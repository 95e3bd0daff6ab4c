package model

import "github.com/galera-operator/galera-operator/internal/galera"

// mode is the encryption of a member's replication.
type mode int8

const (
	modeNone mode = iota
	modePlain
	modeDynamic
	modeStrict
)

var encryptions = [...]galera.Encryption{{}, {Socket: galera.SocketPlain}, {Socket: galera.SocketDynamic},
	{Socket: galera.SocketStrict}}

func modeOf(e galera.Encryption) mode {
	for i, known := range encryptions {
		if known == e {
			return mode(i)
		}
	}
	panic("model: unknown encryption")
}

// published is the configuration the nodes are to run with: a number, and the part of it the model
// checks.
type published struct {
	revision int8
	mode     mode
}

// meets reports whether two running servers could make a link.
func (m mode) meets(o mode) bool { return m == o || m == modeDynamic || o == modeDynamic }

// linked reports whether two members' servers find each other.
func (w *database) linked(i, j int) bool {
	return w.connected(i, j) && !w.nodes[i].srv.hung && !w.nodes[j].srv.hung && w.nodes[i].agent.running.mode.meets(
		w.nodes[j].agent.running.mode)
}

// verified reports whether the member sees every other one answer with TLS.
func (w *platform) verified(i int) bool {
	for j := range w.size() {
		if j != i && (!w.connected(i, j) || !w.nodes[j].srv.on || w.nodes[j].agent.running.mode == modePlain) {
			return false
		}
	}
	return true
}

// reconfigure makes a new configuration with the mode; the agents read it when they come to it.
func (w *apiServer) reconfigure(m mode) {
	w.config = published{(w.config.revision + 1) % 8, m}
}

// checkMixed: one membership never has a plain member and a strict one.
func (w *database) checkMixed(members set) {
	var seen [modeStrict + 1]bool
	for i := range w.places {
		if members.has(i) {
			seen[w.nodes[i].agent.running.mode] = true
		}
	}
	if seen[modePlain] && seen[modeStrict] {
		w.violate(MixedMembership)
	}
}
