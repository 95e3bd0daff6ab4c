package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/config"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func controllerConfig() config.Controller { return config.Controller{SkipNameValidation: new(true)} }

// serve answers at the addresses of all agents, with the agents' own control port.
func (w *world) serve(ctx context.Context) error {
	listen := net.ListenConfig{}
	l, err := listen.Listen(ctx, "tcp4", fmt.Sprintf("0.0.0.0:%d", agentapi.ControlPort))
	if err != nil {
		return err
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config,
		error) {
		a, err := w.agent(host(hello.Conn.LocalAddr()))
		if err != nil {
			return nil, err
		}
		return api.TLSConfig(a.identity).GetConfigForClient(hello)
	}}
	server := &http.Server{Handler: http.HandlerFunc(w.route), ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	go func() {
		if err := server.Serve(tls.NewListener(l, conf)); !errors.Is(err, http.ErrServerClosed) {
			progress("the agents have ended: %v", err)
		}
	}()
	return nil
}

func (a *agent) identity() api.ControlIdentity {
	c := a.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bundle.ID == "" {
		return api.ControlIdentity{}
	}
	pair := c.bundle.Pair
	return api.ControlIdentity{Pair: &pair, ControlRoots: c.bundle.ControlRoots}
}

func (w *world) route(out http.ResponseWriter, r *http.Request) {
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	a, err := w.agent(host(address))
	if err != nil {
		http.Error(out, err.Error(), http.StatusNotFound)
		return
	}
	if d := a.cluster.slowness.Load(); d > 0 && pause(r.Context(), time.Duration(d)) != nil {
		return
	}
	control := api.ControlHandler{Reports: a.reports, Order: a.carryOut, Primary: func(agentapi.Primary) {},
		Evict: func(context.Context, agentapi.Eviction) error { return nil }}
	control.Handler().ServeHTTP(out, r)
}

func host(a net.Addr) string {
	if a == nil {
		return ""
	}
	h, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return ""
	}
	return h
}
