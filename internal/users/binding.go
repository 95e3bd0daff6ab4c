// Package users decides what becomes of GaleraUsers and GaleraDatabases: what an account is to be, how its password
// changes without a login being refused, and what an application is given to connect with. All of it is pure.
package users

import (
	"net"
	"net/url"

	"github.com/go-sql-driver/mysql"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// BindingType is the type of a binding Secret, after the Service Binding specification for Kubernetes.
const BindingType corev1.SecretType = "servicebinding.io/mysql"

const port = "3306"

// Login is what an application logs in with.
type Login struct {
	Password string
	// CA verifies the server. Cert and Key are the user's certificate, nil without one.
	CA, Cert, Key []byte
	// Proxy is where endpoint: Proxy leads.
	Proxy string
}

// Binding returns the contents of a user's binding Secret: everything an application needs, and nothing else. Every
// address in it makes the driver verify the server, as far as a driver's address can say so.
func Binding(c *v1alpha1.GaleraCluster, u *v1alpha1.GaleraUser, l Login) map[string][]byte {
	b := binding{host: host(c, u, l.Proxy), user: u.AccountName(), password: l.Password,
		database: database(u), dir: mountPath(u),
		tls: c.Spec.TLS.Clients != v1alpha1.TLSDisabled, certificate: len(l.Cert) > 0}
	out := map[string][]byte{
		"type": []byte("mysql"), "provider": []byte("galera-operator"),
		"host": []byte(b.host), "port": []byte(port), "username": []byte(b.user),
		"uri": []byte(b.uri("mysql", nil)), "jdbc-url": []byte(b.jdbc()), "go-dsn": []byte(b.goDSN()),
		"sqlalchemy-url": []byte(b.sqlAlchemy()),
	}
	put := func(key string, value []byte) {
		if len(value) > 0 {
			out[key] = value
		}
	}
	put("password", []byte(l.Password))
	put("database", []byte(b.database))
	if b.tls {
		put("ca.crt", l.CA)
	}
	put(corev1.TLSCertKey, l.Cert)
	put(corev1.TLSPrivateKeyKey, l.Key)
	return out
}

// LacksTLS reports whether a user's account, its binding or its proxy needs TLS, and the cluster offers clients none.
func LacksTLS(u *v1alpha1.GaleraUser, c *v1alpha1.GaleraCluster) bool {
	needs := u.Spec.Require != v1alpha1.RequireNone || u.Spec.Endpoint == v1alpha1.EndpointProxy
	return needs && c.Spec.TLS.Clients == v1alpha1.TLSDisabled
}

type binding struct {
	host, user, password, database, dir string
	tls, certificate                    bool
}

func host(c *v1alpha1.GaleraCluster, u *v1alpha1.GaleraUser, proxy string) string {
	name := resources.PrimaryServiceName(c)
	switch u.Spec.Endpoint {
	case v1alpha1.EndpointAny:
		name = resources.ServiceName(c)
	case v1alpha1.EndpointReadOnly:
		name = resources.ReadOnlyServiceName(c)
	case v1alpha1.EndpointProxy:
		return proxy
	}
	return name + "." + c.Namespace + ".svc"
}

// database is the one that an application uses: the one the spec names, or the first one that it gets privileges on.
func database(u *v1alpha1.GaleraUser) string {
	if u.Spec.Database != "" {
		return u.Spec.Database
	}
	for _, g := range u.Spec.Grants {
		if g.Database != "" && g.Database != "*" {
			return g.Database
		}
	}
	return ""
}

func mountPath(u *v1alpha1.GaleraUser) string {
	if u.Spec.MountPath != "" {
		return u.Spec.MountPath
	}
	return "/bindings/" + u.Name
}

func (b binding) uri(scheme string, query url.Values) string {
	u := url.URL{Scheme: scheme, User: url.UserPassword(b.user, b.password), Host: net.JoinHostPort(b.host, port),
		Path: "/" + b.database, RawQuery: query.Encode()}
	if b.password == "" {
		u.User = url.User(b.user)
	}
	return u.String()
}

// jdbc is for MariaDB Connector/J, which takes the values of parameters as they are, without decoding them. The account
// is not in it: its name and its password are properties of their own, in which every character means itself.
func (b binding) jdbc() string {
	out := "jdbc:mariadb://" + net.JoinHostPort(b.host, port) + "/" + url.PathEscape(b.database)
	if b.tls {
		// sslMode came with version 3; version 2 knows useSsl, and verifies by default.
		out += "?useSsl=true&sslMode=verify-full&serverSslCert=" + b.dir + "/ca.crt"
	}
	return out
}

// goDSN is for go-sql-driver. A CA of one's own has to be registered under the name galera: docs/connecting.md shows
// how.
func (b binding) goDSN() string {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName = b.user, b.password, "tcp", net.JoinHostPort(b.host, port),
		b.database
	if b.tls {
		cfg.TLSConfig = "galera"
	}
	return cfg.FormatDSN()
}

// sqlAlchemy is for PyMySQL below SQLAlchemy. With a CA PyMySQL verifies by default. Its own parameters ssl_verify_cert
// and ssl_verify_identity must not be there: SQLAlchemy hands them on without the CA, and PyMySQL would take the
// system's.
func (b binding) sqlAlchemy() string {
	query := url.Values{"charset": {"utf8mb4"}}
	if b.tls {
		query.Set("ssl_ca", b.dir+"/ca.crt")
		query.Set("ssl_check_hostname", "true")
	}
	if b.certificate {
		query.Set("ssl_cert", b.dir+"/tls.crt")
		query.Set("ssl_key", b.dir+"/tls.key")
	}
	return b.uri("mysql+pymysql", query)
}

// Account names a user's account as the server does.
func Account(u *v1alpha1.GaleraUser) string {
	host := u.Spec.Host
	if host == "" {
		host = "%"
	}
	return "'" + u.AccountName() + "'@'" + host + "'"
}
