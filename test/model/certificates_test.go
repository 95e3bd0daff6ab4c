package model

import (
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// publisherMutant chooses certificates with one deliberate bug, or restarts nodes with one.
type publisherMutant struct {
	name      string
	publisher Publisher
	plan      Planner
	breaks    []string
}

var publisherMutants = []publisherMutant{
	{"a leaf of a new CA is published before it is trusted", presentsAtOnce, plan.Plan, []string{UntrustedLeaf}},
	{"members that do not answer count as trusting", lying(func(u *galera.CertificateUse) { u.Loaded = true }), plan.Plan,
		[]string{UntrustedLeaf}},
	{"the old CA is dropped with the new leaf", dropsAtOnce, plan.Plan, []string{CADropped, UntrustedLeaf}},
	{"the old CA is dropped before the new leaf is served",
		lying(func(u *galera.CertificateUse) { u.Loaded, u.Serves = true, true }), plan.Plan,
		[]string{CADropped, UntrustedLeaf}},
	{"a renewed CA replaces the old one at once", replacesBundle, plan.Plan, []string{CADropped, UntrustedLeaf}},
	{"the old CAs are dropped at once to make space", makesSpace, plan.Plan, []string{CADropped, UntrustedLeaf}},
	{"members go on trusting what was dropped", plan.Publish, neverForgets, []string{Stuck}},
}

func init() {
	for _, m := range publisherMutants {
		publishers = append(publishers, m.publisher)
	}
}

func presentsAtOnce(c galera.Certificates) plan.Publication {
	p := plan.Publish(c)
	p.Issued = p.Issued || c.Issued.Leaf != ""
	return p
}

func lying(lie func(*galera.CertificateUse)) Publisher {
	return func(c galera.Certificates) plan.Publication {
		for i := range c.Members {
			lie(&c.Members[i])
		}
		return plan.Publish(c)
	}
}

func dropsAtOnce(c galera.Certificates) plan.Publication {
	p := plan.Publish(c)
	if p.Issued {
		p.CAs = c.Issued.CAs
	}
	return p
}

func replacesBundle(c galera.Certificates) plan.Publication {
	return plan.Publication{Issued: true, CAs: c.Issued.CAs}
}

func makesSpace(c galera.Certificates) plan.Publication {
	p := plan.Publish(c)
	if p.TooMany > 0 {
		p.CAs = c.Published.Chain
	}
	return p
}

func neverForgets(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) { m.StaleTrust = false }))
}

// TestPublisherMutants shows that a certificate that is presented or dropped too early is noticed.
func TestPublisherMutants(t *testing.T) {
	for k, m := range publisherMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			for n := range searched {
				s := drawIn(certificates, uint64(n), 60+n%100, false)
				s.Publisher = int8(k + 1)
				if r := Run(s, m.plan); slices.Contains(m.breaks, r.Violation) {
					t.Logf("caught: %s: schedule %d, %s", r.Violation, n+1, time.Since(began).Round(time.Millisecond))
					return
				}
			}
			t.Errorf("survived %d schedules, %s", searched, time.Since(began))
		})
	}
}
