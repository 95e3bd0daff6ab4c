package plan

import (
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// CertificateStep is a step of the replacement of the CA.
type CertificateStep string

// The steps. Each is published, and observed on every member before the next.
const (
	// StepSettled means that one CA is trusted and the issued certificate is published.
	StepSettled CertificateStep = "Settled"
	// StepDistributingTrust means that the old certificate is presented, and all members have to trust both CAs.
	StepDistributingTrust CertificateStep = "DistributingTrust"
	// StepRotatingCertificates means that both CAs are trusted, and all members have to present the new certificate.
	StepRotatingCertificates CertificateStep = "RotatingCertificates"
	// StepAwaitingApproval means that the old CA can be dropped as soon as the user approves it.
	StepAwaitingApproval CertificateStep = "AwaitingApproval"
)

// Publication is the certificate and the CAs to publish to the nodes.
type Publication struct {
	// Issued reports whether the leaf is the issued one; otherwise the published leaf stays.
	Issued bool
	// CAs are trusted by the nodes.
	CAs []string
	// Old are those of them that were not issued with the certificate.
	Old  []string
	Step CertificateStep
	// Waiting are the members that delay the next step.
	Waiting []string
	// ClientsWait is how much longer the next step waits for clients to read the new CA, 0 when it does not.
	ClientsWait time.Duration
	// TooMany is how many CAs there would be with those of the issued pair, which waits because nodes take fewer; 0 when
	// there is space for them, or will be now.
	TooMany int
}

// Publish decides which leaf the nodes present and which CAs they trust. A leaf is published only
// when every member trusts it, and a CA is dropped only when no member presents a leaf of it:
//
//	old leaf, old CA → old leaf, both CAs → new leaf, both CAs → new leaf, new CA
//
// A leaf that verifies by every CA by which the published leaf verifies needs no step of trust: each member trusts
// those CAs already. It is published at once, even if members are silent, so that a renewal depends on no member. Any
// other leaf waits until clients have had their time to read its CA, too, unless the published one has expired: then
// they cannot connect anyway.
func Publish(c galera.Certificates) Publication {
	published, issued := c.Published, c.Issued
	switch {
	case issued.Leaf == "" && published.Leaf == "":
		return Publication{Step: StepSettled}
	case issued.Leaf == "":
		return Publication{CAs: unexpired(published.CAs, c.Expired), Step: StepSettled}
	case published.Leaf == "":
		return Publication{Issued: true, CAs: issued.CAs, Step: StepSettled}
	}
	p := Publication{CAs: unexpired(union(published.CAs, issued.CAs), c.Expired)}
	if c.MaxCAs > 0 && len(p.CAs) > c.MaxCAs {
		if c.Valid {
			return holdBack(c)
		}
		// No one verifies the published leaf any more: of the old CAs the last ones stay that there is space for.
		old, next := without(p.CAs, issued.CAs), common(p.CAs, issued.CAs)
		p.CAs = union(old[min(len(old), len(p.CAs)-c.MaxCAs):], next)
	}
	p.Old = without(p.CAs, issued.CAs)
	switch {
	case issued.Leaf == published.Leaf:
		return drop(c, p)
	case !c.Valid, sameTrust(published, issued), trusted(c) && c.ClientsWait <= 0:
		p.Issued, p.Step = true, StepRotatingCertificates
		if len(p.Old) == 0 {
			p.Step = StepSettled
		}
		return p
	}
	p.Step, p.ClientsWait = StepDistributingTrust, max(0, c.ClientsWait)
	p.Waiting = waiting(c.Members, func(u galera.CertificateUse) bool { return u.Loaded })
	return p
}

// holdBack keeps the published pair while there would be more CAs with the issued one than nodes take. Meanwhile the
// old CAs are dropped, in the same way as after a replacement: all that neither the published leaf needs nor the issued
// one came with.
func holdBack(c galera.Certificates) Publication {
	next := c.Issued.CAs
	p := Publication{CAs: unexpired(c.Published.CAs, c.Expired)}
	if len(c.Published.Chain) > 0 {
		p.Old = without(p.CAs, slices.Concat(c.Published.Chain, next))
	}
	c.Issued.CAs = without(p.CAs, p.Old)
	p = drop(c, p)
	p.Issued = false
	if all := len(unexpired(union(p.CAs, next), c.Expired)); all > c.MaxCAs {
		p.TooMany = all
	}
	return p
}

// sameTrust reports whether every member that trusts the published leaf trusts the issued one, too.
func sameTrust(published, issued galera.Pair) bool {
	by := common(published.Anchors, published.CAs)
	return len(by) > 0 && len(without(by, issued.Anchors)) == 0
}

// trusted reports whether a CA of the issued leaf is published and whether every member was observed to trust it.
func trusted(c galera.Certificates) bool {
	return len(common(c.Published.CAs, c.Issued.Anchors)) > 0 &&
		len(waiting(c.Members, func(u galera.CertificateUse) bool { return u.Loaded })) == 0
}

// drop removes the old CAs once every member presents the new leaf.
func drop(c galera.Certificates, p Publication) Publication {
	p.Issued, p.Step = true, StepSettled
	if len(p.Old) == 0 {
		return p
	}
	p.Step = StepRotatingCertificates
	p.Waiting = waiting(c.Members, func(u galera.CertificateUse) bool { return u.Loaded && u.Serves })
	if len(p.Waiting) > 0 || len(without(c.Issued.CAs, c.Published.CAs)) > 0 {
		return p
	}
	gone := p.Old
	if c.Manual {
		gone = common(p.Old, c.Droppable)
	}
	p.CAs, p.Old = without(p.CAs, gone), without(p.Old, gone)
	p.Step = StepSettled
	if len(p.Old) > 0 {
		p.Step = StepAwaitingApproval
	}
	return p
}

// unexpired leaves out expired CAs, unless none would be left.
func unexpired(cas, expired []string) []string {
	if alive := without(cas, expired); len(alive) > 0 {
		return alive
	}
	return cas
}

// waiting names the members that are not ready. An unreachable member is not: it may be running, and it may come
// back with its old certificates.
func waiting(members []galera.CertificateUse, ready func(galera.CertificateUse) bool) []string {
	var out []string
	for _, u := range members {
		if !ready(u) {
			out = append(out, u.Name)
		}
	}
	return out
}

func without(list, remove []string) []string {
	return filter(list, func(s string) bool { return !slices.Contains(remove, s) })
}

func common(list, other []string) []string {
	return filter(list, func(s string) bool { return slices.Contains(other, s) })
}

func union(list, add []string) []string {
	return slices.Concat(list, without(add, list))
}

func filter(list []string, keep func(string) bool) []string {
	var out []string
	for _, s := range list {
		if keep(s) {
			out = append(out, s)
		}
	}
	return out
}
