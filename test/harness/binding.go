package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// loginTimeout is for a login on a machine that has a lot to do: slow is not refused.
const loginTimeout = 20 * time.Second

// Binding is what an application finds in a user's binding Secret.
type Binding struct {
	// Data are the Secret's keys.
	Data map[string][]byte
	addr string
}

// ReadBinding reads a user's binding Secret. Nothing else is used to connect, but the address behind the name in it:
// this process is no pod.
func ReadBinding(ctx context.Context, c *Cluster, namespace, user string) (*Binding, error) {
	var u v1alpha1.GaleraUser
	if err := c.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: user}, &u); err != nil {
		return nil, err
	}
	var secret corev1.Secret
	if err := c.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: u.BindingName()}, &secret); err != nil {
		return nil, err
	}
	service, _, _ := strings.Cut(string(secret.Data["host"]), ".")
	var svc corev1.Service
	if err := c.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: service}, &svc); err != nil {
		return nil, err
	}
	return &Binding{Data: secret.Data, addr: net.JoinHostPort(svc.Spec.ClusterIP, databasePort)}, nil
}

// With returns the binding with another value of a key; nil is none.
func (b *Binding) With(key string, value []byte) *Binding {
	out := &Binding{Data: map[string][]byte{}, addr: b.addr}
	for k, v := range b.Data {
		out.Data[k] = v
	}
	out.Data[key] = value
	return out
}

// Password of the account.
func (b *Binding) Password() string { return string(b.Data["password"]) }

// Open connects by go-dsn, verifying the server by ca.crt, and with the certificate if there is one. The password is
// that of the key.
func (b *Binding) Open() (*sql.DB, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool(), ServerName: string(b.Data["host"])}
	if !conf.RootCAs.AppendCertsFromPEM(b.Data["ca.crt"]) {
		return nil, fmt.Errorf("no ca.crt in the binding")
	}
	if len(b.Data["tls.crt"]) > 0 {
		pair, err := tls.X509KeyPair(b.Data["tls.crt"], b.Data["tls.key"])
		if err != nil {
			return nil, err
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	if err := mysql.RegisterTLSConfig("galera", &tls.Config{MinVersion: tls.VersionTLS12}); err != nil {
		return nil, err
	}
	cfg, err := mysql.ParseDSN(string(b.Data["go-dsn"]))
	if err != nil {
		return nil, err
	}
	cfg.TLS, cfg.TLSConfig, cfg.Addr, cfg.Passwd = conf, "", b.addr, b.Password()
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = loginTimeout, loginTimeout, loginTimeout
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// Login connects once.
func (b *Binding) Login(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*loginTimeout)
	defer cancel()
	db, err := b.Open()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

// Knocker logs in again and again: with what the binding Secret held at the beginning and with what it holds now, as
// applications do that read it at their start and those that read it each time.
type Knocker struct {
	cancel context.CancelFunc
	done   chan struct{}
	// Logins is how often it got in, Failures what it got otherwise: when, with which binding, after how long, and why.
	Logins   int
	Failures []string
}

// StartKnocker starts logging in, once a first login has succeeded: this machine's way to a new Service may be made
// later than that of the pods. For the overlap a password is accepted after it was replaced: one that was read longer
// ago, on a machine that has a lot to do, may be refused.
func StartKnocker(ctx context.Context, c *Cluster, namespace, user string, overlap time.Duration) (*Knocker, error) {
	var first *Binding
	var before time.Time
	err := c.Kube.Until(ctx, namespace+"/"+user+" logs in", loginTimeout, func(ctx context.Context) (bool, string, error) {
		var err error
		before = time.Now().Add(overlap)
		if first, err = ReadBinding(ctx, c, namespace, user); err != nil {
			return false, "", err
		}
		if err = first.Login(ctx); err != nil {
			return false, err.Error(), nil //nolint:nilerr // it is tried again
		}
		return true, "", nil
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &Knocker{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		for ctx.Err() == nil {
			read := time.Now()
			if now, err := ReadBinding(ctx, c, namespace, user); err == nil { // the API server is not what is tested
				k.note(ctx, "now", read, read.Add(overlap), now.Login(ctx))
			}
			if began := time.Now(); began.Before(before) {
				k.note(ctx, "first", began, before, first.Login(ctx))
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return k, nil
}

// note counts a login that began at a time, with a binding that is good until another.
func (k *Knocker) note(ctx context.Context, which string, began, until time.Time, err error) {
	now := time.Now()
	switch {
	case err == nil:
		k.Logins++
	case ctx.Err() == nil && now.Before(until):
		k.Failures = append(k.Failures, fmt.Sprintf("%s, the %s binding, after %s, login %d: %v",
			now.Format(time.TimeOnly), which, now.Sub(began).Round(time.Millisecond), k.Logins, err))
	}
}

// Stop ends it.
func (k *Knocker) Stop() {
	k.cancel()
	<-k.done
}
