package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// stuck is how long the loop may stand still before the proxy counts as dead.
const stuck = 45 * time.Second

func readState(dir string) (agentapi.ProxyState, error) {
	data, err := os.ReadFile(filepath.Join(dir, agentapi.ProxyStateKey))
	if err != nil {
		return agentapi.ProxyState{}, err
	}
	return agentapi.DecodeProxyState(data)
}

// serve opens the two ports.
func (p *proxy) serve(ctx context.Context) error {
	p.beat, p.heard = time.Now(), time.Now()
	if err := api.Serve(ctx, &p.sockets, agentapi.ProbePort, p.probes(), nil, p.Logger); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+agentapi.PathProxy, p.setState)
	return api.Serve(ctx, &p.sockets, agentapi.ControlPort, mux, api.TLSConfig(p.identity), p.Logger)
}

// identity is the proxy's certificate, and the CA of the operator's.
func (p *proxy) identity() (id api.ControlIdentity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pair, err := tls.X509KeyPair(p.material.Cert, p.material.Key); err == nil {
		id.Pair = &pair
	}
	if p.wanted != nil {
		id.ControlRoots = x509.NewCertPool()
		id.ControlRoots.AppendCertsFromPEM([]byte(p.wanted.ControlCA))
	}
	return id
}

// settleTimeout is how long a request waits until its state is loaded: some milliseconds are usual.
const settleTimeout = time.Second

// setState takes a state, and answers with what is observed once it is loaded, or with what was observed last.
func (p *proxy) setState(w http.ResponseWriter, r *http.Request) {
	var s agentapi.ProxyState
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, agentapi.MaxProxyState)).Decode(&s)
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		answer(w, http.StatusBadRequest, agentapi.ProxyReport{Problem: err.Error()})
		return
	}
	p.take(s)
	p.mu.Lock()
	p.heard = time.Now()
	p.mu.Unlock()
	answer(w, http.StatusOK, p.settled(r.Context(), s.Revision).Sent(time.Now()))
}

// settled returns the report of a step that has loaded a revision, or the last one after settleTimeout.
func (p *proxy) settled(ctx context.Context, revision int64) agentapi.ProxyReport {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		p.mu.Lock()
		report, stepped := p.report, p.stepped
		p.mu.Unlock()
		if report.Revision >= revision || ctx.Err() != nil {
			return report
		}
		select {
		case <-stepped:
		case <-ctx.Done():
		}
	}
}

func answer(w http.ResponseWriter, status int, body agentapi.ProxyReport) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller has gone if this fails
}

// probes are for kubelet and Prometheus.
func (p *proxy) probes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+agentapi.PathLive, func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		still := time.Since(p.beat)
		if p.draining {
			still = 0
		}
		p.mu.Unlock()
		if still > stuck {
			http.Error(w, "the proxy's loop has not turned for "+still.Round(time.Second).String(),
				http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET "+agentapi.PathReady, func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		why := p.report.Problem
		if p.draining {
			why = "draining"
		} else if why == "" && p.report.Revision == 0 {
			why = "ProxySQL is starting"
		}
		p.mu.Unlock()
		if why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET "+agentapi.PathMetrics, func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		text := p.metrics
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += facts{report: p.report, state: p.wanted, heard: p.heard}.used().text()
		p.mu.Unlock()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = fmt.Fprint(w, text)
	})
	return mux
}
