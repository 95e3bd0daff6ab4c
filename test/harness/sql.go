package harness

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	databasePort = "3306"
	// A client that waits long for a dead node would hide when another one serves.
	connectTimeout = time.Second
	answerTimeout  = 3 * time.Second
	// questionTimeout is for one question to a node that is to answer: slow is no answer of another kind.
	questionTimeout = 20 * time.Second
	// patientTimeout is for queries that read much, on nodes that are known to serve.
	patientTimeout = 60 * time.Second
)

func init() {
	// Broken connections are what the tests are about; the driver would print each one.
	_ = mysql.SetLogger(log.New(io.Discard, "", 0))
}

// Encryption describes how a client connects.
type Encryption int

// Ways of connecting.
const (
	// Verified is TLS with the certificate checked against the ConfigMap NAME-ca and the name dialled.
	Verified Encryption = iota
	// Clear is without TLS.
	Clear
)

// Client holds what a database client needs to know of a cluster.
type Client struct {
	cluster  *Cluster
	user     string
	password string
	// pair is presented to servers, if any.
	pair       *tls.Certificate
	trust      *trust
	encryption Encryption
}

// Client reads root's password and the CA, as a user would. It connects as the policy asks for.
func (c *Cluster) Client(ctx context.Context) (*Client, error) {
	var secret corev1.Secret
	if err := c.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name + "-root"}, &secret); err != nil {
		return nil, err
	}
	have, err := c.Get(ctx)
	if err != nil {
		return nil, err
	}
	out := &Client{cluster: c, user: "root", password: string(secret.Data["password"])}
	if have.Spec.TLS.Clients == v1alpha1.TLSDisabled {
		out.encryption = Clear
		return out, nil
	}
	out.trust = &trust{cluster: c}
	return out, out.trust.read(ctx)
}

// With returns the same client connecting another way.
func (cl *Client) With(e Encryption) *Client {
	out := *cl
	out.encryption = e
	return &out
}

// As returns a client that logs in as another user, without a password, and presents a pair unless
// that is nil.
func (cl *Client) As(user string, pair *tls.Certificate) *Client {
	out := *cl
	out.user, out.password, out.pair = user, "", pair
	return &out
}

// Service returns a connector to a Service of the cluster, by its address.
func (cl *Client) Service(ctx context.Context, name string, timeout time.Duration) (driver.Connector, error) {
	var svc corev1.Service
	if err := cl.cluster.Kube.Get(ctx, client.ObjectKey{Namespace: cl.cluster.Namespace, Name: name}, &svc); err != nil {
		return nil, err
	}
	return cl.connector(svc.Spec.ClusterIP, name+"."+cl.cluster.Namespace+".svc", timeout)
}

// Pod returns a connector to one node, by its pod's address.
func (cl *Client) Pod(ctx context.Context, name string, timeout time.Duration) (driver.Connector, error) {
	p, err := cl.cluster.Pod(ctx, name)
	if err != nil {
		return nil, err
	}
	if p.Status.PodIP == "" {
		return nil, fmt.Errorf("%s has no address yet", name)
	}
	serverName := fmt.Sprintf("%s.%s-nodes.%s.svc", name, cl.cluster.Name, cl.cluster.Namespace)
	return cl.connector(p.Status.PodIP, serverName, timeout)
}

// config is that of a connection without TLS.
func (cl *Client) config(address string, timeout time.Duration) *mysql.Config {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd = cl.user, cl.password
	cfg.Net, cfg.Addr = "tcp", address
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = connectTimeout, timeout, timeout
	if timeout > answerTimeout {
		cfg.Timeout = answerTimeout
	}
	cfg.InterpolateParams = true // one round trip for each statement
	return cfg
}

func (cl *Client) connector(address, serverName string, timeout time.Duration) (driver.Connector, error) {
	cfg := cl.config(net.JoinHostPort(address, databasePort), timeout)
	if cl.encryption == Verified {
		cfg.TLS = cl.trust.config(serverName)
		if cl.pair != nil {
			cfg.TLS.Certificates = []tls.Certificate{*cl.pair}
		}
	}
	return mysql.NewConnector(cfg)
}

// OpenService opens a Service of the cluster.
func (cl *Client) OpenService(ctx context.Context, name string) (*sql.DB, error) {
	return open(cl.Service(ctx, name, patientTimeout))
}

// OpenPod opens one node.
func (cl *Client) OpenPod(ctx context.Context, name string) (*sql.DB, error) {
	return open(cl.Pod(ctx, name, patientTimeout))
}

func open(connector driver.Connector, err error) (*sql.DB, error) {
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(2)
	return db, nil
}

// Exec runs statements through a Service, over one connection: it is waited for, because a Service that has just got
// another node does not lead there from everywhere yet.
func (cl *Client) Exec(ctx context.Context, service string, statements ...string) (err error) {
	db, err := cl.OpenService(ctx, service)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var conn *sql.Conn
	err = cl.cluster.Kube.Until(ctx, "a connection to "+service, questionTimeout, func(ctx context.Context) (bool, string,
		error) {
		conn, err = db.Conn(ctx)
		return err == nil, "", err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", firstLine(s), err)
		}
	}
	return nil
}

// QueryPod runs a query that returns one value on one node.
func (cl *Client) QueryPod(ctx context.Context, pod, query string, args ...any) (value string, err error) {
	db, err := open(cl.Pod(ctx, pod, questionTimeout))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(ctx, query, args...).Scan(&value)
	return value, err
}

func firstLine(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// WithPassword returns the same client with another password.
func (cl *Client) WithPassword(password string) *Client {
	out := *cl
	out.password = password
	return &out
}
