package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// use is what the members do: "loaded,serving" for three members.
func uses(states ...string) []galera.CertificateUse {
	var out []galera.CertificateUse
	for i, s := range states {
		out = append(out, galera.CertificateUse{Name: fmt.Sprint("n-", i), Loaded: s == "loaded" || s == "serves",
			Serves: s == "serves"})
	}
	return out
}

func certPair(leaf, cas, anchors string) galera.Pair {
	return galera.Pair{Leaf: leaf, CAs: strings.Fields(cas), Anchors: strings.Fields(anchors)}
}

func TestPublish(t *testing.T) {
	all, none := uses("serves", "serves", "serves"), galera.Pair{}
	old, renewed, other := certPair("l1", "A", "A"), certPair("l2", "A", "A"), certPair("l3", "B", "B")
	both := certPair("l1", "A B", "A")
	for name, tc := range map[string]struct {
		c    galera.Certificates
		want string // leaf, CAs, step, who is waited for
	}{
		"nothing yet": {galera.Certificates{}, "published [] Settled []"},
		"the first":   {galera.Certificates{Issued: old}, "issued [A] Settled []"},
		"nothing new": {galera.Certificates{Published: old, Valid: true, Issued: old, Members: all},
			"issued [A] Settled []"},
		"refused or gone": {galera.Certificates{Published: old, Valid: true, Members: all},
			"published [A] Settled []"},
		"renewed, all there": {galera.Certificates{Published: old, Valid: true, Issued: renewed,
			Members: all}, "issued [A] Settled []"},
		"renewed, one silent": {galera.Certificates{Published: old, Valid: true, Issued: renewed,
			Members: uses("serves", "", "serves")}, "issued [A] Settled []"},
		"another CA": {galera.Certificates{Published: old, Valid: true, Issued: other, Members: all},
			"published [A B] DistributingTrust []"},
		"another CA, no node there": {galera.Certificates{Published: old, Valid: true, Issued: other,
			Members: uses("", "")}, "published [A B] DistributingTrust [n-0 n-1]"},
		"both published, one has not loaded": {galera.Certificates{Published: both, Valid: true, Issued: other,
			Members: uses("loaded", "", "serves")}, "published [A B] DistributingTrust [n-1]"},
		"both trusted": {galera.Certificates{Published: both, Valid: true, Issued: other,
			Members: uses("loaded", "loaded")}, "issued [A B] RotatingCertificates []"},
		"new leaf, one not seen serving": {galera.Certificates{Published: certPair("l3", "A B", "B"), Valid: true,
			Issued: other, Members: uses("serves", "serves", "loaded")}, "issued [A B] RotatingCertificates [n-2]"},
		"new leaf served by all": {galera.Certificates{Published: certPair("l3", "A B", "B"), Valid: true,
			Issued: other, Members: all}, "issued [B] Settled []"},
		"manual": {galera.Certificates{Published: certPair("l3", "A B", "B"), Valid: true,
			Issued: other, Members: all, Manual: true}, "issued [A B] AwaitingApproval []"},
		"manual, another asked for": {galera.Certificates{Published: certPair("l3", "A B", "B"), Valid: true,
			Issued: other, Members: all, Manual: true, Droppable: []string{"C", "B"}}, "issued [A B] AwaitingApproval []"},
		"manual, asked for": {galera.Certificates{Published: certPair("l3", "A B", "B"), Valid: true,
			Issued: other, Members: all, Manual: true, Droppable: []string{"A"}}, "issued [B] Settled []"},
		"manual, asked for too early": {galera.Certificates{Published: both, Valid: true, Issued: other,
			Members: uses("loaded", "", "serves"), Manual: true, Droppable: []string{"A"}},
			"published [A B] DistributingTrust [n-1]"},
		"a third CA halfway": {galera.Certificates{Published: both, Valid: true,
			Issued: certPair("l4", "C", "C"), Members: all}, "published [A B C] DistributingTrust []"},
		"back to the first halfway": {galera.Certificates{Published: certPair("l3", "A B", "B"), Valid: true,
			Issued: renewed, Members: uses("loaded", "loaded")}, "issued [A B] RotatingCertificates []"},
		"back to the first, one not there": {galera.Certificates{Published: certPair("l3", "A B", "B"), Valid: true,
			Issued: renewed, Members: uses("loaded", "")}, "published [A B] DistributingTrust [n-1]"},
		// A CA renewed with its key: the leaf verifies by either certificate of it.
		"CA renewed with its key": {galera.Certificates{Published: certPair("l1", "A", "A A2"), Valid: true,
			Issued: certPair("l2", "A2", "A A2"), Members: uses("", "", "")}, "issued [A A2] RotatingCertificates []"},
		"CA renewed, leaf served": {galera.Certificates{Published: certPair("l2", "A A2", "A A2"), Valid: true,
			Issued: certPair("l2", "A2", "A A2"), Members: all}, "issued [A2] Settled []"},
		"same leaf, another CA with it": {galera.Certificates{Published: certPair("l1", "A", "A A2"), Valid: true,
			Issued: certPair("l1", "A2", "A A2"), Members: all}, "issued [A A2] RotatingCertificates []"},
		"only one of two anchors common": {galera.Certificates{Published: certPair("l1", "A B", "A B"), Valid: true,
			Issued: other, Members: uses("", "loaded")}, "published [A B] DistributingTrust [n-0]"},
		// Expiry.
		"published has expired, new CA": {galera.Certificates{Published: certPair("l1", "A", ""), Issued: other,
			Members: uses("", "", "")}, "issued [A B] RotatingCertificates []"},
		"and its CA, too": {galera.Certificates{Published: certPair("l1", "A", ""), Issued: other,
			Expired: []string{"A"}}, "issued [B] Settled []"},
		"expired, and nothing new": {galera.Certificates{Published: certPair("l1", "A", ""), Issued: none,
			Expired: []string{"A"}}, "published [A] Settled []"},
		"an expired CA leaves": {galera.Certificates{Published: certPair("l3", "A B", "B"), Valid: true,
			Issued: other, Expired: []string{"A"}, Manual: true}, "issued [B] Settled []"},
		"an expired CA leaves by itself": {galera.Certificates{Published: certPair("l3", "A B", "B"), Valid: true,
			Expired: []string{"A"}}, "published [B] Settled []"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Publish(tc.c)
			leaf := "published"
			if p.Issued {
				leaf = "issued"
			}
			if got := fmt.Sprintf("%s %v %s %v", leaf, p.CAs, p.Step, p.Waiting); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestPublishWaitsForClients: no node presents a leaf of a CA that clients have not had the time to read, unless they
// cannot connect anyway.
func TestPublishWaitsForClients(t *testing.T) {
	both, other := certPair("l1", "A B", "A"), certPair("l3", "B", "B")
	for name, tc := range map[string]struct {
		c      galera.Certificates
		issued bool
		step   CertificateStep
		wait   time.Duration
	}{
		"all nodes trust it": {galera.Certificates{Published: both, Valid: true, Issued: other}, false, StepDistributingTrust,
			time.Second},
		"expired": {galera.Certificates{Published: both, Issued: other}, true, StepRotatingCertificates, 0},
		"of the same CA": {galera.Certificates{Published: certPair("l1", "A", "A"), Valid: true,
			Issued: certPair("l2", "A", "A")}, true, StepSettled, 0},
		"it is served": {galera.Certificates{Published: certPair("l3", "B", "B"), Valid: true, Issued: other}, true,
			StepSettled, 0},
	} {
		tc.c.ClientsWait = time.Second
		if p := Publish(tc.c); p.Issued != tc.issued || p.Step != tc.step || p.ClientsWait != tc.wait {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p := Publish(galera.Certificates{Published: both, Valid: true, Issued: other}); !p.Issued {
		t.Errorf("when they have had it: %+v", p)
	}
}

// TestPublishNoMoreThanNodesTake: agents refuse a pair with more CAs. So the issued one waits until old CAs have gone,
// and none goes by which a member could still be verified.
func TestPublishNoMoreThanNodesTake(t *testing.T) {
	const most = 3
	all := uses("serves", "serves", "serves")
	full, next := certPair("l1", "A B C", "A"), certPair("l4", "D", "D")
	full.Chain = []string{"A"}
	long := full
	long.Chain = full.CAs
	unknown := full
	unknown.Chain = nil
	for name, tc := range map[string]struct {
		c       galera.Certificates
		want    string // leaf, CAs, old ones, step, who is waited for
		tooMany int
	}{
		"all present it": {galera.Certificates{Published: full, Valid: true, Issued: next, Members: all},
			"published [A] [] Settled []", 0},
		"one was not seen presenting it": {galera.Certificates{Published: full, Valid: true, Issued: next,
			Members: uses("serves", "loaded")}, "published [A B C] [B C] RotatingCertificates [n-1]", 4},
		"one is silent": {galera.Certificates{Published: full, Valid: true, Issued: next, Members: uses("serves", "")},
			"published [A B C] [B C] RotatingCertificates [n-1]", 4},
		"manual": {galera.Certificates{Published: full, Valid: true, Issued: next, Members: all, Manual: true},
			"published [A B C] [B C] AwaitingApproval []", 4},
		"manual, one asked for": {galera.Certificates{Published: full, Valid: true, Issued: next, Members: all,
			Manual: true, Droppable: []string{"B"}}, "published [A C] [C] AwaitingApproval []", 0},
		"manual, the one that is needed asked for": {galera.Certificates{Published: full, Valid: true, Issued: next,
			Members: all, Manual: true, Droppable: []string{"A"}}, "published [A B C] [B C] AwaitingApproval []", 4},
		"one of them is issued, too": {galera.Certificates{Published: full, Valid: true,
			Issued: certPair("l4", "C D", "D"), Members: all}, "published [A C] [] Settled []", 0},
		"the same leaf, with another CA": {galera.Certificates{Published: full, Valid: true,
			Issued: certPair("l1", "A D", "A"), Members: all}, "published [A] [] Settled []", 0},
		"a renewal that brings another CA": {galera.Certificates{Published: full, Valid: true,
			Issued: certPair("l2", "A D", "A"), Members: uses("serves", "")},
			"published [A B C] [B C] RotatingCertificates [n-1]", 4},
		"all are needed": {galera.Certificates{Published: long, Valid: true, Issued: next, Members: all},
			"published [A B C] [] Settled []", 4},
		"what is needed is not known": {galera.Certificates{Published: unknown, Valid: true, Issued: next, Members: all},
			"published [A B C] [] Settled []", 4},
		"one has expired": {galera.Certificates{Published: full, Valid: true, Issued: next, Members: all,
			Expired: []string{"B"}}, "published [A C D] [A C] DistributingTrust []", 0},
		"the published leaf has expired": {galera.Certificates{Published: full, Issued: next, Members: uses("", "")},
			"issued [B C D] [B C] RotatingCertificates []", 0},
		"there is space": {galera.Certificates{Published: certPair("l1", "A B", "A"), Valid: true, Issued: next,
			Members: all}, "published [A B D] [A B] DistributingTrust []", 0},
		"nothing is issued": {galera.Certificates{Published: full, Valid: true, Members: all},
			"published [A B C] [] Settled []", 0},
	} {
		t.Run(name, func(t *testing.T) {
			tc.c.MaxCAs = most
			p := Publish(tc.c)
			leaf := "published"
			if p.Issued {
				leaf = "issued"
			}
			if got := fmt.Sprintf("%s %v %v %s %v", leaf, p.CAs, p.Old, p.Step, p.Waiting); got != tc.want ||
				p.TooMany != tc.tooMany {
				t.Errorf("got  %s, %d\nwant %s, %d", got, p.TooMany, tc.want, tc.tooMany)
			}
		})
	}
}
