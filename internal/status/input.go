// Package status turns what was observed and decided into status: one function for each
// condition, one list of problems, one table of events. It is pure.
package status

import (
	"crypto/x509"
	"fmt"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// Input is everything a condition may be judged by.
type Input struct {
	Facts    observe.Facts
	Seen     map[string]observe.Seen
	Snapshot galera.Snapshot
	Decision plan.Decision
	// Withheld reports whether the cluster is paused and the planner wanted to act: Decision.Action is nil,
	// Decision.Message describes it.
	Withheld bool
	// Config is the NodeConfig that is published.
	Config agentapi.NodeConfig
	// Refused explains why the last issued pair is not published, nil when it is.
	Refused *validate.Problem
	// ImageRefused explains why spec.image is not published, nil when it is.
	ImageRefused *validate.Problem
	// PodMetadataRefused explains why labels and annotations of spec.podTemplate are not published, nil when they are.
	PodMetadataRefused *validate.Problem
	// KeysRefused explains why the encryption keys cannot be used, nil when they can.
	KeysRefused *validate.Problem
	// Published describes the pair the nodes have; nil before there is one.
	Published *PublishedPair
	// Renewals is the record of renewals, and RenewalRefused explains why a request was refused.
	Renewals       []v1alpha1.RenewalStatus
	RenewalRefused *validate.Problem
	// Requests is the record of requests, and RequestRefused explains why an annotation was refused.
	Requests       []v1alpha1.RequestStatus
	RequestRefused *validate.Problem
	// Failed is an error of this pass that the user should see.
	Failed *validate.Problem
	// RefusedWrite is what the API server has refused for long, nil when there is none.
	RefusedWrite *validate.Problem
	// CertManager explains why cert-manager cannot be asked for certificates, nil when it can.
	CertManager *validate.Problem
	// OutdatedAgents says of each agent that is not this operator's why it is not replaced now, "" when it is about to be.
	OutdatedAgents map[string]string
	// Strangers are signs that what is not this cluster's has its names or addresses.
	Strangers observe.ForeignMembers
	// OperatorNamespace is where the operator runs, for hints.
	OperatorNamespace string
	Now               time.Time
}

// Withhold keeps the planner's action from a paused cluster.
func (in *Input) Withhold() {
	if in.cluster().Paused() && in.Decision.Action != nil {
		in.Decision.Action, in.Withheld = nil, true
	}
}

// PublishedPair describes the certificate published to the nodes.
type PublishedPair struct {
	Serial   string
	Key      string
	NotAfter time.Time
	// Choice is the planner's decision for this pair, with the step of a CA's replacement.
	Choice plan.Publication
	// CAs are the CAs published with it.
	CAs []*x509.Certificate
}

// report returns the live report of a member, nil when there is none.
func (in Input) report(name string) *agentapi.Report {
	s, ok := in.Seen[name]
	if !ok || !s.Live {
		return nil
	}
	return &s.Report
}

func (in Input) cluster() *v1alpha1.GaleraCluster { return in.Facts.Cluster }

// blocking is a problem that requires manual action.
func blocking(reason, message string) *validate.Problem {
	return &validate.Problem{Reason: reason, Message: message, Blocked: true}
}

// blockingWith is one whose remedy, or what shows more of it, is a command.
func blockingWith(reason, command, format string, args ...any) *validate.Problem {
	return &validate.Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Blocked: true, Command: command}
}

// passing is a problem that ends by itself.
func passing(reason, message string) *validate.Problem {
	return &validate.Problem{Reason: reason, Message: message}
}
