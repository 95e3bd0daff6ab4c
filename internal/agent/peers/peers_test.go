package peers

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestAsk needs one port for all, as in a cluster; the members differ by their loopback addresses.
func TestAsk(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	shop := agentapi.Identity{Namespace: "prod", Cluster: "shop", UID: "one"}
	names := map[string]string{"127.0.0.1": "a", "127.0.0.2": "b", "127.0.0.3": "another-host", "127.0.0.6": "g"}
	server := &httptest.Server{Listener: l,
		Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			host, _, _ := net.SplitHostPort(r.Host)
			switch host {
			case "127.0.0.4":
				http.Error(w, "no", http.StatusInternalServerError)
			case "127.0.0.5":
				select {
				case <-r.Context().Done():
				case <-time.After(5 * time.Second):
				}
			default:
				view := agentapi.PeerView{Name: names[host], Cluster: shop, Component: galera.ComponentPrimary}
				if host == "127.0.0.6" {
					view.Cluster.UID = "another"
				}
				_ = json.NewEncoder(w).Encode(view)
			}
		})}}
	server.Start()
	defer server.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	a := New()
	a.port, _ = strconv.Atoi(port)
	began := time.Now()
	got := a.Ask(context.Background(), shop, []agentapi.Peer{
		{Name: "self", Host: "127.0.0.1"}, {Name: "a", Host: "127.0.0.1"}, {Name: "b", Host: "127.0.0.2"},
		{Name: "c", Host: "127.0.0.3"}, {Name: "d", Host: "127.0.0.4"}, {Name: "e", Host: "127.0.0.5"},
		{Name: "f", Host: "no.such.host.invalid"},
		{Name: "g", Host: "127.0.0.6"},
	}, "self")
	if len(got) != 2 || got["a"].Component != galera.ComponentPrimary || got["b"].Name != "b" {
		t.Errorf("%v", got)
	}
	if others := a.Others(); len(others) != 1 || others["g"].UID != "another" {
		t.Errorf("answers of another cluster: %v", others)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("took %s: one slow member must not hold up the rest", took)
	}
}
