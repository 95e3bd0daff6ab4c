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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/platform"
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
		} else if Install(got, platform.Places{Run: t.TempDir()}) == nil {
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
	p := platform.Places{Run: t.TempDir()}
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

// TestClientsCA: port 3306 trusts the clients' CA alone, and no other port does. Without one it trusts a CA of which no
// key exists: mariadbd with none would trust the authorities that the image knows.
func TestClientsCA(t *testing.T) {
	clients := ca(t, nil)
	m := material(t, ca(t, nil))
	without := Judge(m, now)
	m.ClientCA = clients.pem
	with := Judge(m, now)
	if with.Problem != nil || with.ID == without.ID || len(with.CAs) != len(without.CAs) {
		t.Fatalf("%v, %s, %v", with.Problem, with.ID, with.CAs)
	}
	for name, b := range map[string]Bundle{"with": with, "without": without} {
		p := platform.Places{Run: t.TempDir()}
		if err := Install(b, p); err != nil {
			t.Fatal(err)
		}
		trusted := func(file string) []*x509.Certificate {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			return pki.Parse(data)
		}
		got := trusted(p.ClientsCA())
		if len(got) != 1 || !got[0].IsCA || got[0].Equal(clients.cert) != (name == "with") {
			t.Errorf("%s a CA of clients, port 3306 trusts %v", name, got)
		}
		for _, node := range pki.Parse(append(lines(m.CA), m.Cert...)) {
			if got[0].Equal(node) {
				t.Errorf("%s a CA of clients, port 3306 trusts a node's CA", name)
			}
		}
		for _, file := range []string{p.CA(), p.TransferCA()} {
			if all := trusted(file); slices.ContainsFunc(all, clients.cert.Equal) || len(all) == 0 {
				t.Errorf("%s: %v", filepath.Base(file), all)
			}
		}
	}
}

// TestServedChain: an intermediate that only ca.crt has is served with the certificate, once.
func TestServedChain(t *testing.T) {
	root := ca(t, nil)
	m := material(t, root)
	chain := pki.Parse(m.Cert)
	moved := m
	moved.Cert, moved.CA = pki.Encode(chain[:1]), append(lines(m.CA), pki.Encode(chain[1:])...)
	for name, m := range map[string]Material{"in tls.crt": m, "in ca.crt": moved} {
		got := pki.Parse(servedChain(m))
		if !slices.EqualFunc(got, chain, (*x509.Certificate).Equal) {
			t.Errorf("the intermediate is %s: %d certificates", name, len(got))
		}
	}
}

// TestIdentify: members are believed by the CAs in use and those published, and a pair that cannot be used is better
// than none.
func TestIdentify(t *testing.T) {
	root, next := ca(t, nil), ca(t, nil)
	in := material(t, root)
	installed := Judge(in, now)
	both := in
	both.CA = append(lines(root.pem), next.pem...)
	broken := Material{Cert: in.Cert, CA: next.pem}
	for name, tc := range map[string]struct {
		installed, published Bundle
		pair                 bool
		cas                  int
	}{
		"nothing is mounted":                      {Bundle{}, Judge(Material{}, now), false, 0},
		"a good pair":                             {installed, installed, true, 1},
		"both CAs":                                {installed, Judge(both, now), true, 2},
		"a bad pair of another CA is published":   {installed, Judge(broken, now), true, 2},
		"a new pod finds a pair that has expired": {Bundle{}, Judge(in, now.Add(time.Hour*24*365)), true, 1},
		"a new pod finds a pair without its key":  {Bundle{}, Judge(broken, now), false, 1},
	} {
		id := Identify(tc.installed, tc.published)
		if (id.Pair != nil) != tc.pair || len(id.CAs) != tc.cas {
			t.Errorf("%s: a pair %t, %d CAs", name, id.Pair != nil, len(id.CAs))
		}
	}
}
