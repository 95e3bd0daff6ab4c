// Package scrape serves the operator's own metrics, to those who may read them.
package scrape

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/galera-operator/galera-operator/internal/connlimit"
)

// Path is where the metrics are.
const Path = "/metrics"

// What the port takes: Prometheus keeps one connection, and scrapes once a minute or more often.
const (
	maxConnections = 64
	maxPerAddress  = 8
	maxScrapes     = 4 // at the same time: each gathers all series
	maxHeader      = maxToken + 8<<10
	headerTimeout  = 5 * time.Second
	answerTimeout  = time.Minute // from the request's first byte: its context ends then, too
	idleTimeout    = 3 * time.Minute
)

// Server serves the metrics of a registry. Unless Insecure is set, it serves TLS to those whose token may get the URL.
type Server struct {
	Address  string
	Insecure bool
	// CertDir has tls.crt and tls.key; without them the server makes a pair that clients cannot verify.
	CertDir  string
	Registry prometheus.Gatherer
	Config   *rest.Config
	Log      logr.Logger
}

// Start serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listening for scrapes: %w", err)
	}
	return s.serve(ctx, l)
}

// serve serves on a listener until ctx ends.
func (s *Server) serve(ctx context.Context, plain net.Listener) error {
	bounded := &connlimit.Listener{Listener: plain, Total: maxConnections, PerAddress: maxPerAddress}
	l := net.Listener(bounded)
	handler := promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError,
		MaxRequestsInFlight: maxScrapes})
	if !s.Insecure {
		g, err := newGate(s.Config)
		if err != nil {
			return errors.Join(err, plain.Close())
		}
		conf, err := s.tls(ctx)
		if err != nil {
			return errors.Join(err, plain.Close())
		}
		l, handler = tls.NewListener(bounded, conf), g.filter(s.Log, handler)
	}
	mux := http.NewServeMux()
	mux.Handle(Path, handler)
	server := &http.Server{Handler: mux, ConnState: bounded.Follow, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: answerTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return nil
}

// tls returns a configuration with the pair of CertDir, which is read again when it changes.
func (s *Server) tls(ctx context.Context) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	cert, key := filepath.Join(s.CertDir, "tls.crt"), filepath.Join(s.CertDir, "tls.key")
	if _, err := os.Stat(cert); s.CertDir == "" || errors.Is(err, os.ErrNotExist) {
		certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
		if err != nil {
			return nil, fmt.Errorf("making a certificate for the metrics: %w", err)
		}
		pair, err := tls.X509KeyPair(certPEM, keyPEM)
		conf.Certificates = []tls.Certificate{pair}
		return conf, err
	}
	watched, err := certwatcher.New(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of the metrics: %w", err)
	}
	go func() {
		if err := watched.Start(ctx); err != nil {
			s.Log.Error(err, "the certificate of the metrics is not read again when it changes")
		}
	}()
	conf.GetCertificate = watched.GetCertificate
	return conf, nil
}
