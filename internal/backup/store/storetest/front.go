package storetest

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync/atomic"
)

// front stands before an emulator, and answers in its place where a test wants it.
type front struct {
	server   *httptest.Server
	believes *tls.Config
	pass     *httputil.ReverseProxy
	admit    func(*http.Request) (status int, body string) // the service's own judgement, nil for none
	decide   atomic.Pointer[func(*http.Request) (status int, body string)]
}

func (f *front) start(pair tls.Certificate) {
	f.server = httptest.NewUnstartedServer(f)
	f.server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	f.server.StartTLS()
	f.server.URL = strings.Replace(f.server.URL, "127.0.0.1", "localhost", 1)
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	decide := f.admit
	if d := f.decide.Load(); d != nil && *d != nil {
		decide = *d
	}
	if decide != nil {
		if status, body := decide(r); status != 0 {
			_, _ = io.Copy(io.Discard, r.Body) // clients that are still sending would see a reset
			kind := "application/json"
			if strings.HasPrefix(body, "<") {
				kind = "application/xml"
			}
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return
		}
	}
	f.pass.ServeHTTP(w, r)
}
