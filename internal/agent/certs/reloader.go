package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// reloadRetryInterval is the pause after a reload that failed.
const reloadRetryInterval = 3 * time.Second

// Server is the running mariadbd, as this package uses it.
type Server interface {
	// ReloadProviderTLS makes the provider load the installed pair, which it does in any state.
	ReloadProviderTLS(ctx context.Context) error
	// FlushTLS makes the server load it for port 3306, which it does only in a Primary component.
	FlushTLS(ctx context.Context) error
}

// Run is what one run of mariadbd was started with.
type Run struct {
	// Provider and Clients report whether the provider and port 3306 use TLS.
	Provider, Clients bool
	// Pair was installed then: what the server reads is this or newer.
	Pair Bundle

	pid      int
	keyKind  string // of Pair
	otherKey bool   // a pair with another kind of key was loaded since
}

// Reloader watches the published certificate, installs a good one, and makes the running server load it. It is not safe
// for concurrent use (event loop only), except for Identity.
type Reloader struct {
	loop   eventloop.Loop
	places platform.Places
	server Server
	// changed is called when the server has loaded another pair.
	changed func()

	published     Bundle
	installed     Bundle
	loaded        Bundle   // what the running server has, empty when it has none
	trusted       []string // all CAs the running server was ever given
	run           Run
	reloadProblem string // why loading failed, "" when it did not
	reloading     bool
	reloadAt      time.Time
	reloads       int           // since the agent started
	reloadTook    time.Duration // the last of them
	replacedAt    time.Time     // see ReplacedAt
	identity      atomic.Pointer[Identity]
}

// Identity is what the agent itself presents, and whom it believes: CAs are those of nodes, ClientCAs of clients.
type Identity struct {
	Pair           *tls.Certificate
	ControlRoots   *x509.CertPool
	CAs, ClientCAs []*x509.Certificate
}

// Open sets the dependencies. changed is called when the server has loaded another pair.
func (r *Reloader) Open(loop eventloop.Loop, places platform.Places, server Server, changed func()) {
	r.loop, r.places, r.server, r.changed = loop, places, server, changed
}

// Adopt takes over the private copy an earlier run of this container has made, so that a bad pair
// published meanwhile does not keep the member down, and no caller is turned away for lack of an identity.
func (r *Reloader) Adopt() {
	if material, err := Read(r.places.PrivateTLS()); err == nil && len(material.Cert) > 0 {
		if b := Judge(material, time.Now()); b.Problem == nil {
			r.installed = b
		}
	}
	if material, err := Read(r.places.TLS); err == nil {
		r.identify(Judge(material, time.Now()))
	}
}

// Read judges what is published and installs it when it is good and new, which it reports.
func (r *Reloader) Read() (installed bool) {
	material, err := Read(r.places.TLS)
	if err != nil {
		r.loop.Logger.Warn("the published certificate cannot be read", "error", err)
		return false
	}
	b := Judge(material, time.Now())
	if b.Problem != nil && (r.published.Problem == nil || r.published.Problem.Error() != b.Problem.Error()) &&
		len(material.Cert) > 0 {
		r.loop.Logger.Error("the published certificate is not used", "reason", b.Problem)
	}
	r.published = b
	if b.Problem == nil && b.ID != r.installed.ID {
		if err := Install(b, r.places); err != nil {
			r.loop.Logger.Error("the certificate cannot be installed", "error", err)
			return false
		}
		r.loop.Logger.Info("certificate installed", "serial", b.Serial, "notAfter", b.NotAfter.UTC().Format(time.RFC3339))
		r.installed, installed = b, true
		if r.loaded.ID != "" { // a server is to load it
			r.replacedAt = time.Now()
		}
	}
	r.identify(b)
	return installed
}

func (r *Reloader) identify(published Bundle) {
	id := Identify(r.installed, published)
	r.identity.Store(&id)
}

// Identify settles what the control and the peer port present, and whom they believe. A pair that is not good enough
// for mariadbd is better than none here: the operator judges for itself, and members ask for chain and name. Members
// are believed by the CAs of the pair in use and of the published one, which differ while one of them is replaced, or
// while what is published cannot be used.
func Identify(installed, published Bundle) Identity {
	id := Identity{ControlRoots: published.ControlRoots, ClientCAs: pki.Parse(published.Material.ClientCA),
		CAs: pki.Parse(append(lines(installed.Material.CA), published.Material.CA...))}
	if installed.ID != "" {
		id.Pair = &installed.Pair
	} else if pair, err := tls.X509KeyPair(published.Material.Cert, published.Material.Key); err == nil {
		id.Pair = &pair
	}
	return id
}

// Identity is the agent's own. Safe for concurrent use.
func (r *Reloader) Identity() Identity {
	if id := r.identity.Load(); id != nil {
		return *id
	}
	return Identity{}
}

// Installed is the pair mariadbd uses when it is started, empty when there is none.
func (r *Reloader) Installed() Bundle { return r.installed }

// Loaded is the pair the running server has, empty when it has none.
func (r *Reloader) Loaded() Bundle { return r.loaded }

// ReplacedAt is when the running server's pair was last being loaded, or was loaded: zero while it has the one it was
// started with.
func (r *Reloader) ReplacedAt() time.Time { return r.replacedAt }

// Missing is why no pair is installed, "" when one is.
func (r *Reloader) Missing() string {
	switch {
	case r.installed.ID != "":
		return ""
	case r.published.Problem != nil:
		return r.published.Problem.Error()
	}
	return "no certificate has been published yet"
}

// Started notes that a server was started.
func (r *Reloader) Started(pid int, run Run) {
	r.run, r.reloadProblem = run, ""
	r.run.pid, r.run.keyKind = pid, run.Pair.KeyKind()
	r.loaded, r.trusted, r.replacedAt = Bundle{}, nil, time.Time{}
	if run.Provider || run.Clients {
		r.loaded, r.trusted = run.Pair, slices.Clone(run.Pair.CAs)
	}
}

// Exited notes that it has ended.
func (r *Reloader) Exited() {
	r.run, r.loaded, r.trusted, r.reloadProblem = Run{}, Bundle{}, nil, ""
}

// KeepsOldKey reports whether the running provider also has a certificate that is not the installed one: OpenSSL
// keeps one for each kind of key, and a reload replaces only that of the new one's kind. Peers choose
// between them, and would be shown the old one to its end and beyond.
func (r *Reloader) KeepsOldKey() bool { return r.run.otherKey && r.run.Provider }

// Reload makes a running server, which answers, load the installed pair if it has another one: first the provider,
// which does it in any state, then the server, which does it only in a Primary component.
func (r *Reloader) Reload(primary bool) {
	if r.reloading || r.loaded.ID == "" || r.loaded.ID == r.installed.ID || time.Now().Before(r.reloadAt) {
		return
	}
	r.reloading = true
	run, bundle, started := r.run, r.installed, time.Now()
	go func() {
		var err error
		if run.Provider {
			err = r.server.ReloadProviderTLS(context.Background())
		}
		if err == nil && run.Clients {
			err = r.server.FlushTLS(context.Background())
		}
		r.loop.Post(func() { r.onReloaded(run.pid, bundle, err, primary, time.Since(started)) })
	}()
}

func (r *Reloader) onReloaded(pid int, bundle Bundle, err error, primary bool, took time.Duration) {
	r.reloading = false
	if r.run.pid != pid {
		return
	}
	// Whatever came of the rest, the provider may trust the new CAs from now on.
	r.trusted = append(r.trusted, bundle.CAs...)
	slices.Sort(r.trusted)
	r.trusted = slices.Compact(r.trusted)
	r.run.otherKey = r.run.otherKey || bundle.KeyKind() != r.run.keyKind
	if err != nil {
		r.reloadAt = time.Now().Add(reloadRetryInterval)
		r.reloadProblem = "the new certificate could not be loaded: " + err.Error()
		if !primary {
			r.reloadProblem = "the new certificate is loaded for replication; port 3306 follows when the node is Primary again"
		}
		r.loop.Logger.Warn("reload", "error", err)
		return
	}
	r.reloadProblem, r.loaded, r.replacedAt = "", bundle, time.Now()
	r.reloads, r.reloadTook = r.reloads+1, took
	r.loop.Logger.Info("certificate loaded", "serial", bundle.Serial, "took", took.Round(time.Millisecond).String())
	r.changed()
}

// Report reports the certificates. The prover adds what was proved of the channels.
func (r *Reloader) Report(to *agentapi.Report) {
	t := &to.TLS
	t.Installed, t.Loaded, t.Reloads, t.ReloadSeconds = r.installed.ID, r.loaded.ID, r.reloads, r.reloadTook.Seconds()
	t.PublishedSerial, t.PublishedCAs = r.published.Serial, r.published.CAs
	t.LoadedSerial, t.TrustedCAs, t.Problem = r.loaded.Serial, slices.Clone(r.trusted), r.reloadProblem
	if r.loaded.ID != "" {
		notAfter := r.loaded.NotAfter.UTC()
		t.LoadedNotAfter = &notAfter
	}
	t.KeepsOldKey = r.KeepsOldKey()
	if r.published.Problem != nil {
		t.Problem = r.published.Problem.Error()
	}
}
