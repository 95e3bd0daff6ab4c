package serving

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strconv"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"
)

// TestLogin: only the account gets in, and only over TLS.
func TestLogin(t *testing.T) {
	t.Parallel()
	w := newWritten(t, gtid(3))
	port, ca, _ := w.serve(t, "127.0.0.1:0")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	dial := func(user, password string, plain bool) (*client.Conn, error) {
		return client.ConnectWithDialer(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), user, password,
			"", new(net.Dialer).DialContext, func(c *client.Conn) error {
				if !plain {
					c.SetTLSConfig(&tls.Config{RootCAs: pool, ServerName: sourceName, MinVersion: tls.VersionTLS12})
				}
				return nil
			})
	}
	for name, tc := range map[string]struct {
		user, password string
		plain          bool
	}{
		"another password": {testUser, "guess", false}, "no password": {testUser, "", false},
		"another user": {"root", testPassword, false}, "without TLS": {testUser, testPassword, true},
	} {
		if c, err := dial(tc.user, tc.password, tc.plain); err == nil {
			t.Errorf("%s was let in", name)
			_ = c.Close()
		}
	}
	c, err := dial(testUser, testPassword, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	r, err := c.Execute("SHOW VARIABLES LIKE 'SERVER_ID'")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := r.GetString(0, 1); err != nil || v != "1" {
		t.Error(v, err)
	}
	if _, err := c.Execute("DROP TABLE shop.t"); err == nil {
		t.Error("an archive has no tables")
	}
	if err := c.Ping(); err != nil {
		t.Error(err)
	}
}
