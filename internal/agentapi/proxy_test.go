package agentapi

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func aProxyState() ProxyState {
	return ProxyState{Revision: 1, Mode: ProxyPrimary, MaxConnections: 5, MaxFrontendConnections: 9, CA: "ca",
		ControlCA: "c", Nodes: []ProxyNode{{Name: "shop-0", Address: "10.0.0.1", ServerName: "shop-0.svc", Writer: true},
			{Name: "shop-1", Address: "fd00::1", ServerName: "shop-1.svc", Reader: true}},
		Users: []ProxyUser{{Name: "app", Hash: NativeHash("secret")}}}
}

// TestCheckOfAState: a state that no operator publishes is refused, field by field.
func TestCheckOfAState(t *testing.T) {
	if err := aProxyState().Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*ProxyState){
		"revision":              func(s *ProxyState) { s.Revision = 0 },
		"mode":                  func(s *ProxyState) { s.Mode = "Both" },
		"number of nodes":       func(s *ProxyState) { s.Nodes = make([]ProxyNode, maxProxyNodes+1) },
		"number of users":       func(s *ProxyState) { s.Users = make([]ProxyUser, MaxProxyUsers+1) },
		"limit of connections":  func(s *ProxyState) { s.MaxConnections = 0 },
		"limit of connections ": func(s *ProxyState) { s.MaxFrontendConnections = -1 },
		"time to wait":          func(s *ProxyState) { s.WaitMilliseconds = -1 },
		"time to wait ":         func(s *ProxyState) { s.WaitMilliseconds = 3600001 },
		"statements after":      func(s *ProxyState) { s.HoldAfterInsert = new(int32(-1)) },
		"CA":                    func(s *ProxyState) { s.CA = "" },
		"CA ":                   func(s *ProxyState) { s.ControlCA = "" },
		"node":                  func(s *ProxyState) { s.Nodes[0].Address = "10.0.0.1'), (" },
		"node ":                 func(s *ProxyState) { s.Nodes[0].Name = "" },
		"node  ":                func(s *ProxyState) { s.Nodes[0].ServerName = "" },
		"two nodes":             func(s *ProxyState) { s.Nodes[1].Writer = true },
		"user":                  func(s *ProxyState) { s.Users[0].Hash = "secret" },
		"user ":                 func(s *ProxyState) { s.Users[0].Name = "" },
		"user  ":                func(s *ProxyState) { s.Users[0].MaxConnections = -1 },
	} {
		s := aProxyState()
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// FuzzProxyState: whatever is published or mounted, what passes the check has one writer at most, bounded lists, and
// nothing but hashes and addresses in the places of hashes and addresses.
func FuzzProxyState(f *testing.F) {
	good, _ := json.Marshal(aProxyState())
	for _, seed := range []string{string(good), "{", "null", `{"revision":1,"nodes":[{"address":"::1"}]}`,
		strings.Replace(string(good), `"reader":true`, `"writer":true`, 1)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeProxyState(data)
		if err != nil {
			return
		}
		writers := 0
		for _, n := range s.Nodes {
			if n.Writer {
				writers++
			}
			if strings.ContainsAny(n.Address, "'\\;( ") {
				t.Errorf("address %q", n.Address)
			}
		}
		for _, u := range s.Users {
			if len(u.Hash) != 41 || strings.ContainsAny(u.Hash, "'\\") {
				t.Errorf("hash %q", u.Hash)
			}
		}
		if writers > 1 || len(s.Nodes) > maxProxyNodes || len(s.Users) > MaxProxyUsers || s.Revision <= 0 {
			t.Errorf("%+v", s)
		}
		again, _ := json.Marshal(s)
		if back, err := DecodeProxyState(again); err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%+v is read back as %+v: %v", s, back, err)
		}
	})
}

// FuzzProxyReport: whatever a pod answers, a status can hold it, and sums of what 32 pods answer do not overflow.
func FuzzProxyReport(f *testing.F) {
	f.Add([]byte(`{"revision":9223372036854775807,"known":-1,"clients":1e18,"problem":"\u0000x","nodes":[{"name":"a","used":-5}]}`))
	f.Add([]byte(`{"problem":"` + strings.Repeat("é", 600) + `","nodes":[` + strings.Repeat(`{},`, 40) + `{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r ProxyReport
		if json.Unmarshal(data, &r) != nil {
			return
		}
		r = r.Bounded()
		texts, numbers := []string{r.Version, r.Problem, r.Frontend.Problem}, []int64{r.Revision, r.Known, r.Clients,
			r.Waiting, r.TimedOut}
		for _, n := range r.Nodes {
			texts = append(texts, n.Name, n.Status, n.Backend.Problem)
			numbers = append(numbers, n.Used, n.Free, n.Queries, n.Errors)
		}
		for _, text := range texts {
			if len(text) > 1024 || !utf8.ValidString(text) {
				t.Errorf("%d bytes, valid %v", len(text), utf8.ValidString(text))
			}
		}
		for _, n := range numbers {
			if n < 0 || n > math.MaxInt64/64 {
				t.Errorf("%d", n)
			}
		}
		if len(r.Nodes) > maxProxyNodes {
			t.Errorf("%d nodes", len(r.Nodes))
		}
	})
}
