package prove

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Monitor passes to the prover what there is to prove, and keeps what it saw. Event loop only, except for Subject.
type Monitor struct {
	*Prover
	subject atomic.Pointer[Subject]
	content string
	result  Result
}

// Open makes the prover; post hands events to the loop.
func (r *Monitor) Open(post func(event func())) {
	r.Prover = New(r.Subject, func(seen Result) {
		post(func() { r.result = seen })
	})
}

// Subject is what there is to prove about. Safe for concurrent use.
func (r *Monitor) Subject() Subject {
	if s := r.subject.Load(); s != nil {
		return *s
	}
	return Subject{}
}

// Set takes another subject; its Key and Since follow from content, which differs when what was refused before is
// out of date.
func (r *Monitor) Set(s Subject, content string) {
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
func (r *Monitor) Exited() { r.result = Result{} }

// Report adds what was seen.
func (r *Monitor) Report(to *agentapi.Report) {
	to.TLS.Channels, to.TLS.Peers = maps.Clone(r.result.Channels), maps.Clone(r.result.Peers)
}
