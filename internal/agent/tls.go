package agent

import (
	"context"
	"crypto/tls"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/web"
	"github.com/galera-operator/galera-operator/internal/galera"
)

var emptyBundle certs.Bundle

// reloadAgain is the pause after a reload that failed.
const reloadAgain = 3 * time.Second

// adoptInstalled takes over the private copy an earlier run of this container has made, so that a
// bad pair published meanwhile does not keep the member down.
func (a *agent) adoptInstalled() {
	material, err := certs.Read(a.Places.PrivateTLS())
	if err != nil || len(material.Cert) == 0 {
		return
	}
	if b := certs.Judge(material, time.Now()); b.Problem == nil {
		a.installed = b
	}
}

// readCertificates judges what is published and installs it when it is good and new.
func (a *agent) readCertificates() {
	material, err := certs.Read(a.Places.TLS)
	if err != nil {
		a.Logger.Warn("the published certificate cannot be read", "error", err)
		return
	}
	b := certs.Judge(material, time.Now())
	if b.Problem != nil && (a.published.Problem == nil || a.published.Problem.Error() != b.Problem.Error()) && len(material.Cert) > 0 {
		a.Logger.Error("the published certificate is not used", "reason", b.Problem)
	}
	a.published = b
	if b.Problem == nil && b.ID != a.installed.ID {
		if err := certs.Install(b, a.Places); err != nil {
			a.Logger.Error("the certificate cannot be installed", "error", err)
			return
		}
		a.Logger.Info("certificate installed", "serial", b.Serial, "notAfter", b.NotAfter.UTC().Format(time.RFC3339))
		a.installed = b
		a.updateSubject()
		a.loadCertificates()
	}
	a.updateIdentity()
}

// updateIdentity tells the control port what to present. A pair that is not good enough for
// mariadbd is better than none here: the operator judges for itself.
func (a *agent) updateIdentity() {
	id := web.Identity{ControlRoots: a.published.ControlRoots}
	if a.installed.ID != "" {
		pair := a.installed.Pair
		id.Pair = &pair
	} else if pair, err := tls.X509KeyPair(a.published.Material.Cert, a.published.Material.Key); err == nil {
		id.Pair = &pair
	}
	a.ident.Store(&id)
}

// certificatesOf says what a server that was just started has loaded.
func certificatesOf(run running) (loaded certs.Bundle, trusted []string) {
	if !usesProviderTLS(run) && !usesClientTLS(run) {
		return emptyBundle, nil
	}
	return run.pair, slices.Clone(run.pair.CAs)
}

func usesProviderTLS(run running) bool {
	return run.output.Socket == galera.SocketStrict || run.output.Socket == galera.SocketDynamic
}

func usesClientTLS(run running) bool {
	v, _ := run.output.MyCnf.Get("mysqld", "ssl")
	return v == "ON"
}

// keepsOldKey says that the running provider also has a certificate that is not the installed one: OpenSSL
// keeps one for each kind of key, and a reload replaces only that of the new one's kind. Peers choose
// between them, and would be shown the old one to its end and beyond.
func keepsOldKey(run running) bool { return run.otherKey && usesProviderTLS(run) }

// loadCertificates makes a running server load the installed pair: first the provider, which does it in
// any state, then the server, which does it only in a Primary component.
func (a *agent) loadCertificates() {
	if a.reloading || a.status == nil || a.run.stopping || a.loaded.ID == "" || a.loaded.ID == a.installed.ID || time.Now().Before(a.reloadAt) {
		return
	}
	a.reloading = true
	proc, bundle := a.proc, a.installed
	provider, clients := usesProviderTLS(a.run), usesClientTLS(a.run)
	primary := a.status.Component == galera.ComponentPrimary
	started := time.Now()
	go func() {
		var err error
		if provider {
			err = a.conn.ReloadProviderTLS(context.Background())
		}
		if err == nil && clients {
			err = a.conn.FlushTLS(context.Background())
		}
		a.post(func() { a.onReloaded(proc.PID, bundle, err, primary, time.Since(started)) })
	}()
}

func (a *agent) onReloaded(pid int, bundle certs.Bundle, err error, primary bool, took time.Duration) {
	a.reloading = false
	if a.proc == nil || a.proc.PID != pid {
		return
	}
	// Whatever came of the rest, the provider may trust the new CAs from now on.
	a.trusted = append(a.trusted, bundle.CAs...)
	slices.Sort(a.trusted)
	a.trusted = slices.Compact(a.trusted)
	a.run.otherKey = a.run.otherKey || bundle.KeyKind() != a.run.pair.KeyKind()
	if err != nil {
		a.reloadAt = time.Now().Add(reloadAgain)
		a.tlsTrouble = "the new certificate could not be loaded: " + err.Error()
		if !primary {
			a.tlsTrouble = "the new certificate is loaded for replication; port 3306 follows when the node is Primary again"
		}
		a.Logger.Warn("reload", "error", err)
		return
	}
	a.tlsTrouble, a.loaded = "", bundle
	a.reloads, a.reloadTook = a.reloads+1, took
	a.Logger.Info("certificate loaded", "serial", bundle.Serial, "took", took.Round(time.Millisecond).String())
	a.updateSubject()
}
