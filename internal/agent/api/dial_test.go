package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestDialFirst(t *testing.T) {
	for name, row := range map[string]struct {
		peers   string // name=mode, empty: no mode reported
		attempt int
		want    string
	}{
		"no node serves":                      {"", 0, ""},
		"plain and dynamic ones, all at once": {"a=Plain b=Dynamic c=Dynamic", 0, "a b c"},
		"never two strict ones":               {"a=Strict b=Strict", 0, "a"},
		"a dynamic one before a strict one":   {"a=Strict b=Dynamic", 0, "b"},
		"one that reports no mode":            {"a= b=Plain", 0, "a"},
		"after a failure a single one":        {"a=Plain b=Dynamic c=Dynamic", 1, "b"},
		"and another one each time":           {"a=Strict b=Strict c=Strict", 5, "c"},
	} {
		var peers []agentapi.PeerView
		for _, p := range strings.Fields(row.peers) {
			name, mode, _ := strings.Cut(p, "=")
			peers = append(peers, agentapi.PeerView{Name: name, Socket: galera.SocketMode(mode)})
		}
		if got := DialFirst(peers, row.attempt); !slices.Equal(got, strings.Fields(row.want)) {
			t.Errorf("%s: %v, want %s", name, got, row.want)
		}
	}
}

func TestStaying(t *testing.T) {
	leaves, comes, serves := agentapi.PeerView{Name: "a", Draining: true},
		agentapi.PeerView{Name: "b", State: galera.NodeJoining}, agentapi.PeerView{Name: "c"}
	if got := Staying([]agentapi.PeerView{leaves, comes, serves}); len(got) != 1 || got[0].Name != "c" {
		t.Errorf("%+v", got)
	}
	if got := Staying([]agentapi.PeerView{leaves, comes}); len(got) != 2 {
		t.Errorf("no other peer is there: %+v", got)
	}
}
