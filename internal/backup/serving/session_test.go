package serving

import (
	"errors"
	"testing"
)

// TestSessions: a replica that connects again begins a stream before its last one has ended, and the end of that one
// does not change what is reported of the new one.
func TestSessions(t *testing.T) {
	const server = "db:3306"
	for name, end := range map[string]func(s *streams, session int){
		"the replica ended it": func(s *streams, session int) { s.stopped(session) },
		"the server ended it":  func(s *streams, session int) { s.broke(session, server, 0, errors.New("closed")) },
	} {
		s := &streams{servers: []string{server}}
		first := s.began(server)
		second := s.began(server)
		end(s, first)
		s.broke(0, "other:3306", 0, errors.New("refused"))
		if of, _ := s.report(); !of.Connected || of.Endpoint != server || of.Error != "" {
			t.Errorf("%s: the second one runs: %+v", name, of)
		}
		end(s, second)
		if of, _ := s.report(); of.Connected {
			t.Errorf("%s: none runs: %+v", name, of)
		}
	}
}
