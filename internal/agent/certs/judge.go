package certs

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// PlainRefusal describes what became of an attempt without TLS.
type PlainRefusal int

// Outcomes of an attempt without TLS.
const (
	RefusedUnknown PlainRefusal = iota
	RefusedYes
	RefusedNo
)

// judgeGroup puts together what the dials of group communication showed and what the node was
// started with. A node with dynamic sockets is never counted as encrypted, whatever it answers:
// it would take a plaintext peer, and open plaintext links itself.
func judgeGroup(fact agentapi.ChannelFact, mode galera.SocketMode, refused PlainRefusal) agentapi.ChannelFact {
	return judge(fact, mode == galera.SocketDynamic, mode == galera.SocketStrict, refused, "a connection")
}

// judgeClients puts together what the dials of the MySQL port showed.
func judgeClients(fact agentapi.ChannelFact, policy galera.ChannelPolicy, refused PlainRefusal) agentapi.ChannelFact {
	required := policy == galera.PolicyRequired
	return judge(fact, !required, required, refused, "a login")
}

// judge adds to a channel that was dialled by TLS whether plaintext is refused as well. optional channels take both.
func judge(fact agentapi.ChannelFact, optional, required bool, refused PlainRefusal, what string) agentapi.ChannelFact {
	if fact.Observed != agentapi.ObservedTLS {
		return fact
	}
	switch {
	case optional, refused == RefusedNo:
		fact.Observed = agentapi.ObservedMixed
	case refused == RefusedYes:
		fact.PlaintextRefused = true
	}
	if required && refused == RefusedNo && fact.Problem == "" {
		fact.Problem = what + " without TLS was accepted although TLS is required"
	}
	return fact
}

// transferFact reports what the scripts are made to do: between transfers there is nothing to dial.
func transferFact(encrypted bool, now time.Time) agentapi.ChannelFact {
	if encrypted {
		return agentapi.ChannelFact{Observed: agentapi.ObservedTLS, Verified: true, CheckedAt: now}
	}
	return agentapi.ChannelFact{Observed: agentapi.ObservedPlaintext, CheckedAt: now}
}
