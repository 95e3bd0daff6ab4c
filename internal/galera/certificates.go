package galera

import "time"

// Pair is a certificate with the CA certificates that come with it, by name only: a leaf by the
// fingerprint of its certificate, a CA by that of its own. It is the zero Pair when there is none.
type Pair struct {
	Leaf string
	CAs  []string
	// Anchors are the CAs, of this pair's or of any other, by which the leaf verifies.
	Anchors []string
	// Chain are those of the pair's CAs that its leaf needs: it verifies when all others are gone.
	Chain []string
}

// Certificates are the facts from which the pair to publish is chosen.
type Certificates struct {
	// Published is the pair published to the nodes.
	Published Pair
	// Valid reports whether the published pair can serve now: neither it nor its CA has expired.
	Valid bool
	// Issued is what the issuer has issued last, checked; the zero Pair without one, or when it
	// was refused.
	Issued Pair
	// Expired are expired CAs.
	Expired []string
	// MaxCAs is how many CAs the nodes take: their agents refuse a pair with more. 0 is any number.
	MaxCAs int
	// Manual reports whether an old CA is dropped only when the user approves it; Droppable are the CAs
	// that the user has approved to drop.
	Manual    bool
	Droppable []string
	// ClientsWait is how much longer clients have to read the CA of the issued leaf before it is presented.
	ClientsWait time.Duration
	// Members has an entry for every wanted node.
	Members []CertificateUse
}

// CertificateUse is what one member does with the published pair.
type CertificateUse struct {
	Name string
	// Loaded reports whether the member was observed to have taken over exactly what is published: a
	// running server trusts all of its CAs, one that is down will when it starts.
	Loaded bool
	// Serves reports whether, beyond that, every encrypted channel of a running server was seen presenting
	// the published leaf.
	Serves bool
}
