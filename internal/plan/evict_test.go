package plan

import (
	"reflect"
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestEvictions(t *testing.T) {
	inView := func(id int64) memberOption {
		return func(m *galera.Member) {
			if m.Server != nil {
				m.Server.ViewID = id
			}
		}
	}
	ended := func(m *galera.Member) {
		down(10)(m)
		m.Ended = &galera.Ended{NodeUUID: "u-" + m.Name, ViewID: 7}
	}
	five := func(s *galera.Snapshot) {
		for _, name := range []string{"db-3", "db-4"} {
			m := s.Members[1]
			m.Name = name
			synced(&m) // with a status of its own
			s.Members = append(s.Members, m)
		}
	}
	reported := func(by, gone string) Eviction {
		return Eviction{Member: by, Gone: gone, NodeUUID: "u-" + gone, ViewID: 7}
	}
	for _, tc := range []struct {
		name string
		s    galera.Snapshot
		want []Eviction
	}{
		{"all run", shop(all(inView(7))), nil},
		{"one has ended", shop(all(inView(7)), db(2, ended)), []Eviction{reported("db-0", "db-2")}},
		{"the first one", shop(all(inView(7)), db(0, ended)), []Eviction{reported("db-1", "db-0")}},
		{"the group has gone on", shop(all(inView(8)), db(2, ended)), nil},
		{"one of them has", shop(db(0, inView(8)), db(1, inView(7)), db(2, ended)), []Eviction{reported("db-1", "db-2")}},
		{"no quorum", shop(all(inView(7)), db(2, ended), db(0, nonPrimary(10, "db-0", "db-1")),
			db(1, nonPrimary(10, "db-0", "db-1"))), nil},
		{"an arbitrator would remember it", shop(all(inView(7)), db(2, ended),
			func(s *galera.Snapshot) { s.Arbitrator = &galera.Arbitrator{} }), nil},
		{"two have ended, and each believes but one", shop(all(inView(7)), db(0, ended), db(2, ended)),
			[]Eviction{reported("db-1", "db-0")}},
		{"two of five have", shop(five, all(inView(7)), db(0, ended), db(2, ended)),
			[]Eviction{reported("db-1", "db-0"), reported("db-3", "db-2")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Evictions(tc.s); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}
