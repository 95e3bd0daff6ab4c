package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const uuid = "90e0b86f-e577-11f1-b9b1-fa90d5744545"

func serving() agentapi.Report {
	return agentapi.Report{Name: "a", Phase: galera.PhaseRunning, Data: galera.DataPresent,
		Position: galera.Position{UUID: uuid, Seqno: 4},
		Config:   agentapi.ConfigReport{Socket: galera.SocketDynamic},
		Server: &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true, ClusterUUID: uuid,
			Size: 3}}
}

func TestNotReady(t *testing.T) {
	if why := notReady(serving(), false); why != "" {
		t.Fatal(why)
	}
	for name, c := range map[string]struct {
		edit  func(*agentapi.Report)
		donor bool
		ready bool
	}{
		"draining":             {func(r *agentapi.Report) { r.Draining = true }, true, false},
		"stopping":             {func(r *agentapi.Report) { r.Phase = galera.PhaseStopping }, true, false},
		"no answer":            {func(r *agentapi.Report) { r.Server = nil }, true, false},
		"non-Primary":          {func(r *agentapi.Report) { r.Server.Component = galera.ComponentNonPrimary }, true, false},
		"zero uuid":            {func(r *agentapi.Report) { r.Server.ClusterUUID = galera.ZeroUUID }, true, false},
		"wsrep not ready":      {func(r *agentapi.Report) { r.Server.Ready = false }, true, false},
		"joined":               {func(r *agentapi.Report) { r.Server.State = galera.NodeJoined }, true, false},
		"copy not complete":    {func(r *agentapi.Report) { r.Data = galera.DataIncomplete }, true, false},
		"donor, not blocked":   {func(r *agentapi.Report) { r.Server.State = galera.NodeDonor }, true, true},
		"donor, blocked":       {func(r *agentapi.Report) { r.Server.State = galera.NodeDonor }, false, false},
		"draining but healthy": {func(r *agentapi.Report) { r.Draining = true }, true, false},
	} {
		r := serving()
		server := *r.Server
		r.Server = &server
		c.edit(&r)
		if got := notReady(r, c.donor) == ""; got != c.ready {
			t.Errorf("%s: ready %v", name, got)
		}
	}
}

func probe(r agentapi.Report, alive time.Time) http.Handler {
	return ProbeHandler{Reports: NewReportStore(r), Alive: func() time.Time { return alive },
		DonorReady: func() bool { return true },
		Metrics:    http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })}.Handler()
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestProbe(t *testing.T) {
	h := probe(serving(), time.Now())
	for path, want := range map[string]int{agentapi.PathLive: 200, agentapi.PathReady: 200, agentapi.PathMetrics: 200,
		agentapi.PathPeer: 404, agentapi.PathStatus: 404, agentapi.PathOrders: 404} {
		if got := get(h, path).Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if got := get(probe(serving(), time.Now().Add(-2*stuck)), agentapi.PathLive).Code; got != 503 {
		t.Errorf("a loop that stands still: %d", got)
	}
	if v := PeerView(serving()); v.Name != "a" || v.ClusterUUID != uuid || v.Position.Seqno != 4 ||
		v.Socket != galera.SocketDynamic {
		t.Errorf("%+v", v)
	}
	forming := serving()
	for state, want := range map[agentapi.OrderState]bool{agentapi.OrderAccepted: true, agentapi.OrderDone: false} {
		forming.Order = &agentapi.OrderRecord{Order: agentapi.Order{Kind: agentapi.OrderBootstrap}, State: state}
		if PeerView(forming).Forming != want {
			t.Errorf("bootstrap %s: forming must be %v", state, want)
		}
	}
	forming.Order.State, forming.Killed = agentapi.OrderAccepted, true
	if PeerView(forming).Forming {
		t.Error("a killed server makes nothing Primary")
	}
}

func TestControl(t *testing.T) {
	var result agentapi.OrderResult
	var failure error
	store := NewReportStore(serving())
	h := ControlHandler{Reports: store, Order: func(context.Context, agentapi.Order) (agentapi.OrderResult,
		error) {
		return result, failure
	}}.Handler()
	post := func(body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, agentapi.PathOrders, strings.NewReader(body)))
		return w
	}
	for state, want := range map[agentapi.OrderState]int{agentapi.OrderAccepted: 200, agentapi.OrderDone: 200,
		agentapi.OrderFailed: 200, agentapi.OrderRefused: 409} {
		result = agentapi.OrderResult{State: state, Message: "m"}
		w := post(`{"id":"x"}`)
		var got agentapi.OrderResult
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got != result || w.Code != want {
			t.Errorf("%s: %d %+v", state, w.Code, got)
		}
	}
	failure = errors.New("busy")
	if w := post(`{"id":"x"}`); w.Code != 503 {
		t.Errorf("busy: %d", w.Code)
	}
	for _, body := range []string{"", "{", `{"epoch":"x"}`, `{"id":"` + strings.Repeat("x", maxOrder) + `"}`} {
		if w := post(body); w.Code != 400 {
			t.Errorf("%.20q: %d", body, w.Code)
		}
	}
	for _, query := range []string{"", "?since=x&wait=1s", "?since=0&wait=1s", "?since=1&wait=-1s", "?since=1&wait=5ms"} {
		w := get(h, agentapi.PathStatus+query)
		var r agentapi.Report
		if err := json.NewDecoder(io.LimitReader(bytes.NewReader(w.Body.Bytes()), 1<<20)).Decode(&r); err != nil ||
			r.Name != "a" {
			t.Errorf("%s: %v", query, err)
		}
	}
}
