package nodetls

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// TestRead: a certificate counts with the CA that nodes are verified by, and as it is now.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(dir, tls.VersionTLS13); err == nil {
		t.Error("nothing is there")
	}
	ca := pkitest.NewCA("nodes")
	cert, key := ca.Issue(pkitest.Leaf{})
	write("tls.crt", cert)
	write("tls.key", key)
	if _, err := Read(dir, tls.VersionTLS13); err == nil {
		t.Error("there is no CA")
	}
	write("ca.crt", []byte("none"))
	if _, err := Read(dir, tls.VersionTLS13); err == nil {
		t.Error("the CA is none")
	}
	write("ca.crt", ca.PEM)
	c, err := Read(dir, tls.VersionTLS13)
	if err != nil || c.MinVersion != tls.VersionTLS13 || len(c.Certificates) != 1 || c.RootCAs == nil {
		t.Errorf("%+v, %v", c, err)
	}
}
