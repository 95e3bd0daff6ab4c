package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// CheckMember checks a chain that a node has presented (leaf first): it leads to a root among cas, and the leaf is
// valid for one of names. Dates are not checked: nodes whose clocks are wrong after a power cut, or whose certificate
// could not be renewed in time, must still recognise each other. A key that leaked is locked out by another CA.
func CheckMember(chain, cas []*x509.Certificate, usage x509.ExtKeyUsage, names ...string) error {
	switch {
	case len(chain) == 0 || len(chain) > MaxCAs:
		return fmt.Errorf("a chain of %d certificates", len(chain))
	case len(cas) == 0:
		return errors.New("no CA of the nodes has been published yet")
	case len(names) == 0:
		return errors.New("the names of the cluster's nodes are not known yet")
	}
	err := verify(undated(chain[:1])[0], undated(cas), undated(chain[1:]), usage, anyTime)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err = chain[0].VerifyHostname(name); err == nil {
			return nil
		}
	}
	return err
}

// CheckClient checks a chain that a client has presented: it leads to a root among cas, and its subject is the one
// organization and the common name.
func CheckClient(chain, cas []*x509.Certificate, organization, name string, now time.Time) error {
	if len(chain) == 0 || len(chain) > MaxCAs {
		return fmt.Errorf("a chain of %d certificates", len(chain))
	}
	if err := verify(chain[0], cas, chain[1:], x509.ExtKeyUsageClientAuth, now); err != nil {
		return err
	}
	s := chain[0].Subject
	if len(s.Names) != 2 || len(s.Organization) != 1 || s.Organization[0] != organization || s.CommonName != name {
		return fmt.Errorf("the certificate is that of %q", s)
	}
	return nil
}

var (
	// anyTime is within the dates of every certificate that undated returns.
	anyTime = time.Unix(0, 0)
	forever = time.Unix(1<<40, 0)
)

// undated returns copies whose dates hold at anyTime.
func undated(certs []*x509.Certificate) []*x509.Certificate {
	out := make([]*x509.Certificate, 0, len(certs))
	for _, c := range certs {
		copied := *c
		copied.NotBefore, copied.NotAfter = time.Time{}, forever
		out = append(out, &copied)
	}
	return out
}
