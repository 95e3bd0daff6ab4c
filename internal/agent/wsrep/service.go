package wsrep

import (
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// maxAway is how many times without service are remembered: a switch of the encryption has two
// for every member, and some to spare.
const maxAway = 8

// Service notes when a server that served stops taking queries, and when it takes them again. A donor that does not
// block goes on taking them. Not safe for concurrent use; event loop only.
type Service struct {
	away []agentapi.Away
}

// Leave notes since when a member that served does not.
func (s *Service) Leave() {
	if s.Away() {
		return
	}
	s.away = append(s.away, agentapi.Away{From: time.Now()})
	s.away = s.away[max(0, len(s.away)-maxAway):]
}

// Back notes that it serves again.
func (s *Service) Back() {
	if s.Away() {
		s.away[len(s.away)-1].To = time.Now()
	}
}

// Away reports whether it does not serve at present.
func (s *Service) Away() bool {
	return len(s.away) > 0 && s.away[len(s.away)-1].To.IsZero()
}

// Report adds the last times without service.
func (s *Service) Report(r *agentapi.Report) { r.Away = slices.Clone(s.away) }

// Save returns what Load takes.
func (s *Service) Save() []agentapi.Away { return s.away }

// Load takes over what an agent before has noted.
func (s *Service) Load(away []agentapi.Away) { s.away = away }
