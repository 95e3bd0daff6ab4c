package api

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/pki"
)

// PeerHandler is the peer port: it answers the members of its own cluster, and the archiver.
type PeerHandler struct {
	Reports *ReportStore
	// Identity is asked at every question, so that a renewed certificate, and a dropped CA, count at once.
	Identity func() ControlIdentity
	// Members returns the cluster and its members, by the configuration in use.
	Members func() (of agentapi.Identity, members []agentapi.Peer)
	// Renew takes an answer about the site's lease, and asks anew; nil where there is no database.
	Renew func(agentapi.LeaseAnswer) agentapi.LeaseQuestion
}

// Handler returns the routes. The caller is checked again with every request: a connection outlives its certificate.
func (p PeerHandler) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+agentapi.PathPeer, p.admitted(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, PeerView(p.Reports.Get()))
	}))
	if p.Renew != nil {
		mux.HandleFunc("POST "+agentapi.PathLease, p.admitted(func(w http.ResponseWriter, r *http.Request) {
			var said agentapi.LeaseAnswer
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLeaseAnswer)).Decode(&said); err != nil {
				http.Error(w, "not an answer", http.StatusBadRequest)
				return
			}
			answer(w, http.StatusOK, p.Renew(said))
		}))
	}
	return mux
}

// maxLeaseAnswer bounds a LeaseAnswer, in bytes.
const maxLeaseAnswer = 1 << 10

func (p PeerHandler) admitted(then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || p.admit(*r.TLS) != nil {
			w.Header().Set("Connection", "close")
			http.Error(w, "not a member of this cluster", http.StatusForbidden)
			return
		}
		then(w, r)
	}
}

// TLSConfig returns the configuration, which refuses strangers in the handshake.
func (p PeerHandler) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			id := p.Identity()
			if id.Pair == nil {
				return nil, errors.New("no usable certificate has been published yet")
			}
			return &tls.Config{
				MinVersion:             tls.VersionTLS13,
				Certificates:           []tls.Certificate{*id.Pair},
				ClientAuth:             tls.RequireAnyClientCert, // admit verifies it
				VerifyConnection:       p.admit,
				SessionTicketsDisabled: true, // a resumed session would outlive its CA
			}, nil
		},
	}
}

// admit returns the reason why a caller gets no answer, nil when it does.
func (p PeerHandler) admit(state tls.ConnectionState) error {
	id := p.Identity()
	of, members := p.Members()
	names := make([]string, 0, len(members))
	for _, m := range members {
		names = append(names, m.CertificateName())
	}
	member := pki.CheckMember(state.PeerCertificates, id.CAs, x509.ExtKeyUsageClientAuth, names...)
	if member == nil {
		return nil
	}
	if err := pki.CheckClient(state.PeerCertificates, id.ClientCAs, of.Namespace, agentapi.ArchiverName(of.Cluster),
		time.Now()); err != nil {
		return fmt.Errorf("neither a member (%w) nor the archiver (%w)", member, err)
	}
	return nil
}
