package archiver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/pki"
)

// TestHeard: everyone gets to know how far the archive is; the time is heard from who has the archiver's key.
func TestHeard(t *testing.T) {
	made := func() tls.Certificate {
		t.Helper()
		cert, key, err := pki.SelfSignServer(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "archiver")
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	own, other := made(), made()
	for name, c := range map[string]struct {
		shown []tls.Certificate
		date  string
		away  bool // its own certificate, after the handshake
		heard bool
	}{
		"the operator":          {[]tls.Certificate{own}, "", false, true},
		"the operator, no date": {[]tls.Certificate{own}, "now", false, false},
		"another certificate":   {[]tls.Certificate{other}, "", false, false},
		"none":                  {nil, "", false, false},
		"its own is not known":  {[]tls.Certificate{own}, "", true, false},
	} {
		var away atomic.Bool
		b := &board{now: task.Archived{Segment: 7}}
		s := b.server(func() (tls.Certificate, error) {
			if away.Load() {
				return tls.Certificate{}, errors.New("it is being replaced")
			}
			return own, nil
		})
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.ServeTLS(listener, "", "") }()
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{MinVersion: tls.VersionTLS13,
			InsecureSkipVerify: true, Certificates: c.shown}) //nolint:gosec // whom it reaches is known
		if err != nil {
			t.Fatal(err)
		}
		away.Store(c.away)
		client := http.Client{Transport: &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn,
			error) {
			return conn, nil
		}}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://archiver"+task.PathArchived, nil)
		if err != nil {
			t.Fatal(err)
		}
		if req.Header.Set("Date", c.date); c.date == "" {
			req.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var have task.Archived
		if err := json.NewDecoder(resp.Body).Decode(&have); err != nil || have.Segment != 7 {
			t.Errorf("%s: %+v, %v", name, have, err)
		}
		_ = resp.Body.Close()
		_ = s.Close()
		ahead, heard := b.heard()
		if heard != c.heard || heard && (ahead-time.Hour).Abs() > 10*time.Second {
			t.Errorf("%s: heard %v, %s ahead", name, heard, ahead)
		}
	}
}
