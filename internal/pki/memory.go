package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"slices"
	"sync"
	"time"
)

// maxRemembered is how many answers are kept: some for each cluster.
const maxRemembered = 4096

// verified are the answers of anchors: every pass of every cluster asks twice, and a signature costs far more than a
// hash.
var verified memory

// memory keeps answers by what they depend on.
type memory struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte][]string
}

func (m *memory) get(chain, cas []*x509.Certificate, now time.Time) []string {
	key := question(chain, cas, now)
	m.mu.Lock()
	out, known := m.seen[key]
	m.mu.Unlock()
	if known {
		return slices.Clone(out)
	}
	out = anchors(chain, cas, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil || len(m.seen) >= maxRemembered {
		m.seen = map[[sha256.Size]byte][]string{}
	}
	m.seen[key] = out
	return slices.Clone(out)
}

// question is a hash of the certificates, and of which of them are valid now: nothing else of the time counts.
func question(chain, cas []*x509.Certificate, now time.Time) (key [sha256.Size]byte) {
	sum := sha256.New()
	for _, list := range [][]*x509.Certificate{chain, cas} {
		_ = binary.Write(sum, binary.BigEndian, int64(len(list)))
		for _, c := range list {
			_ = binary.Write(sum, binary.BigEndian, int64(len(c.Raw)))
			_, _ = sum.Write(c.Raw)
			_ = binary.Write(sum, binary.BigEndian, !now.Before(c.NotBefore) && !now.After(c.NotAfter))
		}
	}
	sum.Sum(key[:0])
	return key
}
