// Package storetest starts emulators of object stores over TLS, for tests: versitygw, fake-gcs-server and Azurite (make
// test-stores).
package storetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// Bucket is the one that an emulator has.
const Bucket = "backups"

// Service is an emulator, and a directory with what a store needs to use it.
type Service struct {
	task.Store
	// Dir has the credentials, and the CA.
	Dir string
	// Good are the credentials that the emulator takes, Wrong others.
	Good, Wrong map[string]string
	// Refusal is the code that it answers to the wrong ones.
	Refusal string
	// Token is what it gives for the good ones, "" where it gives none.
	Token string
	front *front
}

// Start starts one of the services that package task names.
func Start(t *testing.T, service string) *Service {
	t.Helper()
	s := &Service{Store: task.Store{Service: service, Bucket: Bucket, Credentials: true}, Dir: t.TempDir()}
	switch service {
	case task.ServiceS3:
		s.s3(t)
	case task.ServiceGCS:
		s.gcs(t)
	case task.ServiceAzure:
		s.azure(t)
	}
	s.Use(t, s.Good)
	return s
}

// Use puts credentials where the store reads them.
func (s *Service) Use(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		write(t, filepath.Join(s.Dir, name), []byte(text))
	}
}

// Refuse has requests answered as decide says, without the emulator; status 0 lets one pass. nil lets all pass.
func (s *Service) Refuse(decide func(*http.Request) (status int, body string)) {
	s.front.decide.Store(&decide)
}

// Down stops all answers.
func (s *Service) Down() { s.front.server.Close() }

// program starts an emulator with a certificate of its own, behind a front that can refuse. arguments are reported a
// free port and the files of the pair.
func (s *Service) program(t *testing.T, env []string, name string,
	arguments func(port, cert, key, dir string) []string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: run the tests by make test-stores", name)
	}
	ca, dir, port := pkitest.NewCA("store"), t.TempDir(), freePort(t)
	write(t, filepath.Join(s.Dir, task.CA), ca.PEM)
	cert, key := ca.Issue(pkitest.Leaf{Names: []string{"localhost"}, Usages: pkitest.Both})
	write(t, filepath.Join(dir, "tls.crt"), cert)
	write(t, filepath.Join(dir, "tls.key"), key)
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(filepath.Join(data, Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	s.front = newFront(t, ca, "https://localhost:"+port)
	s.Endpoint = s.front.server.URL
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, arguments(port, filepath.Join(dir, "tls.crt"),
		filepath.Join(dir, "tls.key"), data)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), dir, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for end := time.Now().Add(2 * time.Minute); ; {
		conn, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second}, Config: s.front.believes}).
			DialContext(t.Context(), "tcp", "localhost:"+port)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s has ended: %s", name, out.String())
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not answer: %v", name, err)
		}
	}
}

// Client believes the CA of the service.
func (s *Service) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: s.front.believes}}
}

func newFront(t *testing.T, ca pkitest.CA, to string) *front {
	t.Helper()
	cert, key := ca.Issue(pkitest.Leaf{Names: []string{"localhost"}, Usages: pkitest.Both})
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM)
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{believes: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}
	// The Host is what clients have signed.
	f.pass = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, r.In.Host
	},
		Transport: &http.Transport{TLSClientConfig: f.believes}}
	f.start(pair)
	t.Cleanup(f.server.Close)
	return f
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}
