package certs

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// ProofMonitor passes to the prover what there is to prove, and keeps what it saw. Event loop only, except for Subject.
type ProofMonitor struct {
	*Prover
	subject atomic.Pointer[ProofSubject]
	content string
	result  ProofResult
}

// Open makes the prover; post hands events to the loop.
func (r *ProofMonitor) Open(post func(event func())) {
	r.Prover = NewProver(r.Subject, func(seen ProofResult) {
		post(func() { r.result = seen })
	})
}

// Subject is what there is to prove about. Safe for concurrent use.
func (r *ProofMonitor) Subject() ProofSubject {
	if s := r.subject.Load(); s != nil {
		return *s
	}
	return ProofSubject{}
}

// Set takes another subject; its Key and Since follow from content, which differs when what was refused before is
// out of date.
func (r *ProofMonitor) Set(s ProofSubject, content string) {
	before := r.Subject()
	s.Key, s.Since = before.Key, before.Since
	changed := content != r.content
	if changed {
		s.Key, s.Since, r.content = s.Key+1, time.Now(), content
	}
	r.subject.Store(&s)
	if changed {
		r.Kick()
	}
}

// Exited forgets what was seen of a server that has ended.
func (r *ProofMonitor) Exited() { r.result = ProofResult{} }

// Report adds what was seen.
func (r *ProofMonitor) Report(to *agentapi.Report) {
	to.TLS.Channels, to.TLS.Peers = maps.Clone(r.result.Channels), maps.Clone(r.result.Peers)
}
