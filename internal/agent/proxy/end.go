package proxy

import (
	"context"
	"time"
)

const (
	// lameTimeout is how long new clients are still taken when the pod ends: Services notice a moment later. drainTimeout
	// is how long statements and transactions may take from then on; stopTimeout what ProxySQL itself may take.
	lameTimeout  = 3 * time.Second
	drainTimeout = 30 * time.Second
	stopTimeout  = 5 * time.Second
)

// drain begins the end of the pod: it leaves the Services, and the loop goes on, because nodes may stop meanwhile.
func (p *proxy) drain() {
	if !p.ending.IsZero() {
		return
	}
	p.ending = time.Now()
	p.mu.Lock()
	p.draining = true
	p.mu.Unlock()
}

// drained reports whether ProxySQL may end: it takes no new clients, and those that waited for an answer or were in a
// transaction have had the time for it.
func (p *proxy) drained(ctx context.Context) bool {
	since := time.Since(p.ending)
	switch {
	case p.process == nil || !p.started:
		return true
	case since < lameTimeout && p.Sidecar == nil: // a sidecar ends after its clients
		return false
	case !p.paused:
		p.paused = true
		if err := p.admin.run(ctx, "PROXYSQL PAUSE"); err != nil {
			p.Logger.Warn("new clients are still taken", "error", err)
		}
	}
	n, err := p.admin.busy(ctx)
	return err != nil || n == 0 || since > lameTimeout+drainTimeout
}

// stop ends ProxySQL.
func (p *proxy) stop() {
	if p.process == nil {
		return
	}
	p.process.Terminate()
	select {
	case <-p.process.Done():
	case <-time.After(stopTimeout):
		p.process.Kill()
		<-p.process.Done()
	}
}
