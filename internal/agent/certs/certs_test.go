package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func sign(t *testing.T, template *x509.Certificate, parent *authority) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	signer, signerKey := template, key
	if parent != nil {
		signer, signerKey = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signerKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func ca(t *testing.T, parent *authority) *authority {
	return sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}, parent)
}

// material issues a pair under root through an intermediate.
func material(t *testing.T, root *authority) Material {
	t.Helper()
	middle := ca(t, root)
	leaf := sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "leaf"}, NotBefore: now.Add(-time.Hour),
		NotAfter:    now.Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, middle)
	key, err := x509.MarshalPKCS8PrivateKey(leaf.key)
	if err != nil {
		t.Fatal(err)
	}
	return Material{Cert: append(leaf.pem, middle.pem...),
		Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		CA:  root.pem, ControlCA: root.pem}
}

func TestJudge(t *testing.T) {
	root := ca(t, nil)
	good, other := material(t, root), material(t, root)
	b := Judge(good, now)
	if b.Problem != nil || b.Serial == "" || len(b.CAs) != 1 || b.Pair.PrivateKey == nil ||
		b.NotAfter != now.Add(time.Hour) {
		t.Fatalf("%+v", b)
	}
	if again := Judge(good, now); again.ID != b.ID {
		t.Error("the same material has two ids")
	}
	for name, c := range map[string]struct {
		edit func(*Material)
		at   time.Time
	}{
		"another key": {func(m *Material) { m.Key = other.Key }, now},
		"no key":      {func(m *Material) { m.Key = nil }, now},
		"no ca":       {func(m *Material) { m.CA = nil }, now},
		"foreign ca":  {func(m *Material) { m.CA = ca(t, nil).pem }, now},
		"expired":     {func(*Material) {}, now.Add(2 * time.Hour)},
		"too early":   {func(*Material) {}, now.Add(-2 * time.Hour)},
	} {
		m := good
		c.edit(&m)
		if got := Judge(m, c.at); got.Problem == nil {
			t.Errorf("%s: no problem", name)
		} else if Install(got, paths.Places{Run: t.TempDir()}) == nil {
			t.Errorf("%s: installed", name)
		}
	}
}

func TestIDCoversTheTrustBundle(t *testing.T) {
	root := ca(t, nil)
	m := material(t, root)
	more := m
	more.CA = append(append([]byte{}, m.CA...), ca(t, nil).pem...)
	if Judge(m, now).ID == Judge(more, now).ID {
		t.Error("another ca.crt must be loaded like another certificate")
	}
	if got := len(Judge(more, now).CAs); got != 2 {
		t.Errorf("%d CAs", got)
	}
}

// TestInstallSwapsInOneStep: a reader of the link sees one pair, before and after.
func TestInstallSwapsInOneStep(t *testing.T) {
	root := ca(t, nil)
	p := paths.Places{Run: t.TempDir()}
	for range 2 {
		b := Judge(material(t, root), now)
		if err := Install(b, p); err != nil {
			t.Fatal(err)
		}
		if got := Judge(mustRead(t, p.PrivateTLS()), now); got.Problem != nil || got.ID != b.ID {
			t.Errorf("installed %s, read %s (%v)", b.ID, got.ID, got.Problem)
		}
		bundle, err := os.ReadFile(p.TransferCA())
		if err != nil || strings.Count(string(bundle), "BEGIN CERTIFICATE") != 2 {
			t.Errorf("the scripts' bundle must hold the root and the intermediate: %v\n%s", err, bundle)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(p.Run, "tls-*")); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

func mustRead(t *testing.T, dir string) Material {
	t.Helper()
	m, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestReadThroughKubeletsLink(t *testing.T) {
	dir := t.TempDir()
	for version, text := range map[string]string{"..1": "old", "..2": "new"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"tls.crt", "tls.key", "ca.crt", agentapi.ControlCAKey} {
			if err := os.WriteFile(filepath.Join(dir, version, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink("..2", filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if m := mustRead(t, dir); string(m.Cert) != "new" || string(m.Key) != "new" || string(m.ControlCA) != "new" {
		t.Errorf("%s %s", m.Cert, m.Key)
	}
	if m := mustRead(t, t.TempDir()); len(m.Cert) != 0 {
		t.Error("something from nothing")
	}
}

// TestClientsCA: only port 3306 trusts the clients' CA.
func TestClientsCA(t *testing.T) {
	clients := ca(t, nil)
	m := material(t, ca(t, nil))
	without := Judge(m, now)
	m.ClientCA = clients.pem
	b := Judge(m, now)
	if b.Problem != nil || b.ID == without.ID || len(b.CAs) != len(without.CAs) {
		t.Fatalf("%v, %s, %v", b.Problem, b.ID, b.CAs)
	}
	p := paths.Places{Run: t.TempDir()}
	if err := Install(b, p); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{p.ClientsCA(): true, p.CA(): false, p.TransferCA(): false} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(data), string(clients.pem)); got != want {
			t.Errorf("%s holds the clients' CA: %t", filepath.Base(file), got)
		}
		if !strings.Contains(string(data), string(m.CA)) {
			t.Errorf("%s lacks the nodes' CA", filepath.Base(file))
		}
	}
}
