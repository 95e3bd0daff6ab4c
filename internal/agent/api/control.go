package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	maxOrder = 64 << 10
	maxWait  = time.Minute
	// replaceTimeout bounds the transport of another agent's program.
	replaceTimeout = time.Minute
	empty          = "{}\n"
)

// ControlHandler is the control port's handler.
type ControlHandler struct {
	Reports *ReportStore
	// Order carries out an order, or explains why not. An error is answered with "not now": nothing was
	// recorded.
	Order func(context.Context, agentapi.Order) (agentapi.OrderResult, error)
	// Evict evicts a terminated server from the group, or explains why not.
	Evict func(context.Context, agentapi.Eviction) error
	// Users and Databases make accounts and databases what they are to be; nil where there is no database.
	Users     func(context.Context, []agentapi.SQLUser) []agentapi.SQLResult
	Databases func(context.Context, agentapi.SQLDatabase) agentapi.SQLResult
	// Primary is called with the member that clients are sent to, and with whether a proxy sends statements to this one.
	Primary func(agentapi.Primary)
	// ChangeEvents gives events another status, on this member only; nil where there is no database.
	ChangeEvents func([]agentapi.EventChange)
	// AdmitBackup lets the holder of a key take a backup; nil where there is none to take.
	AdmitBackup func(agentapi.BackupAdmission) error
	// Align has all nodes count GTIDs from one number on; nil where there is no database.
	Align func(context.Context, agentapi.Alignment) (number uint64, err error)
	// Replace takes another agent, whose program is in body, and returns what makes it this one's successor; it is called
	// once the answer is written. Nil where the agent cannot be replaced without its pod.
	Replace func(ctx context.Context, sha256 string, body io.Reader) (commit func(), err error)
}

// Handler returns the routes. All of them are for the operator alone; the TLS configuration sees to that.
func (c ControlHandler) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+agentapi.PathStatus, c.status)
	mux.HandleFunc("POST "+agentapi.PathOrders, c.order)
	mux.HandleFunc("POST "+agentapi.PathPrimary, c.primary)
	mux.HandleFunc("POST "+agentapi.PathEvictions, c.evict)
	mux.HandleFunc("POST "+agentapi.PathUsers, c.users)
	mux.HandleFunc("POST "+agentapi.PathDatabases, c.databases)
	mux.HandleFunc("POST "+agentapi.PathAgent, c.replace)
	if c.ChangeEvents != nil {
		mux.HandleFunc("POST "+agentapi.PathScheduled, c.changeEvents)
	}
	if c.Align != nil {
		mux.HandleFunc("POST "+agentapi.PathNumbers, c.align)
	}
	if c.AdmitBackup != nil {
		mux.HandleFunc("POST "+agentapi.PathBackups, c.admitBackup)
	}
	return mux
}

func (c ControlHandler) status(w http.ResponseWriter, r *http.Request) {
	since, err := strconv.ParseInt(r.URL.Query().Get("since"), 10, 64)
	wait, waitErr := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil || waitErr != nil || wait <= 0 {
		answer(w, http.StatusOK, c.Reports.Get().Sent(time.Now()))
		return
	}
	answer(w, http.StatusOK, c.Reports.Wait(r.Context(), since, min(wait, maxWait)).Sent(time.Now()))
}

func (c ControlHandler) order(w http.ResponseWriter, r *http.Request) {
	var o agentapi.Order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&o); err != nil {
		answer(w, http.StatusBadRequest, agentapi.OrderResult{State: agentapi.OrderRefused, Message: "not an order: " +
			err.Error()})
		return
	}
	result, err := c.Order(r.Context(), o)
	switch {
	case err != nil:
		answer(w, http.StatusServiceUnavailable, agentapi.OrderResult{Message: err.Error()})
	case result.State == agentapi.OrderRefused:
		answer(w, http.StatusConflict, result)
	default:
		answer(w, http.StatusOK, result)
	}
}

func (c ControlHandler) evict(w http.ResponseWriter, r *http.Request) {
	var e agentapi.Eviction
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&e); err != nil {
		answer(w, http.StatusBadRequest, agentapi.EvictionResult{Message: "not an eviction: " + err.Error()})
		return
	}
	if c.Evict == nil {
		answer(w, http.StatusConflict, agentapi.EvictionResult{Message: "an arbitrator takes no evictions"})
		return
	}
	if err := c.Evict(r.Context(), e); err != nil {
		answer(w, http.StatusConflict, agentapi.EvictionResult{Message: err.Error()})
		return
	}
	answer(w, http.StatusOK, agentapi.EvictionResult{})
}

func (c ControlHandler) primary(w http.ResponseWriter, r *http.Request) {
	var p agentapi.Primary
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&p); err != nil {
		answer(w, http.StatusBadRequest, p)
		return
	}
	c.Primary(p)
	answer(w, http.StatusOK, p)
}

func (c ControlHandler) changeEvents(w http.ResponseWriter, r *http.Request) {
	var e agentapi.EventChanges
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&e)
	if err == nil {
		err = e.Check()
	}
	if err != nil {
		answer(w, http.StatusBadRequest, agentapi.EventChangesResult{Message: err.Error()})
		return
	}
	c.ChangeEvents(e.Changes)
	answer(w, http.StatusOK, agentapi.EventChangesResult{})
}

func (c ControlHandler) admitBackup(w http.ResponseWriter, r *http.Request) {
	var a agentapi.BackupAdmission
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&a)
	if err == nil {
		err = c.AdmitBackup(a)
	}
	if err != nil {
		answer(w, http.StatusBadRequest, agentapi.BackupResult{Message: err.Error()})
		return
	}
	answer(w, http.StatusOK, agentapi.BackupResult{})
}

func (c ControlHandler) align(w http.ResponseWriter, r *http.Request) {
	var a agentapi.Alignment
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&a)
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		answer(w, http.StatusBadRequest, agentapi.AlignmentResult{Message: err.Error()})
		return
	}
	number, err := c.Align(r.Context(), a)
	if err != nil {
		answer(w, http.StatusConflict, agentapi.AlignmentResult{Message: err.Error()})
		return
	}
	answer(w, http.StatusOK, agentapi.AlignmentResult{Number: number})
}

func (c ControlHandler) replace(w http.ResponseWriter, r *http.Request) {
	if c.Replace == nil {
		answer(w, http.StatusConflict, agentapi.ReplaceResult{Message: "this agent is replaced with its pod"})
		return
	}
	controller := http.NewResponseController(w)
	end := time.Now().Add(replaceTimeout)
	_ = controller.SetReadDeadline(end) // a recorder of a test has no deadlines
	_ = controller.SetWriteDeadline(end)
	commit, err := c.Replace(r.Context(), r.URL.Query().Get("sha256"), r.Body)
	if err != nil {
		answer(w, http.StatusConflict, agentapi.ReplaceResult{Message: err.Error()})
		return
	}
	// All of the answer is on its way before this process ends: with its length known, no last chunk follows.
	w.Header().Set("Content-Length", strconv.Itoa(len(empty)))
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, empty)
	_ = controller.Flush()
	commit()
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller has gone if this fails
}

// ControlIdentity is what the control and the peer port present and whom they believe: the operator, members, the
// archiver.
type ControlIdentity struct {
	Pair           *tls.Certificate
	ControlRoots   *x509.CertPool
	CAs, ClientCAs []*x509.Certificate
}

// TLSConfig returns the control port's configuration. identity is asked at every handshake, so that a
// renewed certificate is used from the next connection on.
func TLSConfig(identity func() ControlIdentity) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			id := identity()
			if id.Pair == nil || id.ControlRoots == nil {
				return nil, errors.New("no usable certificate has been published yet")
			}
			return &tls.Config{
				MinVersion:   tls.VersionTLS13,
				Certificates: []tls.Certificate{*id.Pair},
				ClientAuth:   tls.RequireAndVerifyClientCert,
				ClientCAs:    id.ControlRoots,
				VerifyConnection: func(state tls.ConnectionState) error {
					if len(state.PeerCertificates) == 0 {
						return errors.New("no client certificate")
					}
					return state.PeerCertificates[0].VerifyHostname(agentapi.OperatorName)
				},
				// Every handshake is a full one: a resumed session would outlive its CA.
				SessionTicketsDisabled: true,
			}, nil
		},
	}
}

// Serve serves a handler on a port until ctx ends. conf is nil for plain HTTP.
func Serve(ctx context.Context, open *platform.SocketSet, port int, h http.Handler, conf *tls.Config,
	logger *slog.Logger) error {
	plain, err := open.Listen(ctx, "tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	serveOn(ctx, plain, h, conf, limitsOf(port), logger.With("port", port))
	return nil
}

// serveOn serves a handler on a listener until ctx ends.
func serveOn(ctx context.Context, plain net.Listener, h http.Handler, conf *tls.Config, limits limits,
	logger *slog.Logger) {
	bounded := limits.listener(plain)
	l := net.Listener(bounded)
	if conf != nil {
		l = tls.NewListener(bounded, conf)
	}
	server := limits.newServer(bounded, h)
	server.ErrorLog = slog.NewLogLogger(logger.Handler(), slog.LevelDebug)
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	go func() {
		if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			logger.Error("server ended", "error", err)
		}
	}()
}
