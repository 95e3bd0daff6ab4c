package wsrep

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/go-sql-driver/mysql"
)

// state asks a source which transactions its binary log has had: by the same TLS and credentials as the channel.
func (s Source) state(ctx context.Context) (state string, err error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net = s.User, s.Password, "tcp"
	cfg.Addr = net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = queryTimeout, queryTimeout, queryTimeout
	cfg.Logger = log.New(io.Discard, "", 0) // every error is returned as well
	if s.CA == "" {
		if err := encryptForNobody(); err != nil {
			return "", err
		}
		cfg.ServerPubKey = throwAway
	} else if cfg.TLS, err = s.verify(); err != nil {
		return "", err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 2*queryTimeout)
	defer cancel()
	err = db.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_binlog_state").Scan(&state)
	return state, err
}

// verify is the TLS of the channel: the certificate is the CA's, and names the host.
func (s Source) verify() (*tls.Config, error) {
	ca, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, fmt.Errorf("reading the CA of the source: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("the CA of the source holds no certificate in PEM")
	}
	return &tls.Config{RootCAs: pool, ServerName: s.Host, MinVersion: tls.VersionTLS12}, nil
}

const throwAway = "galera-agent-throw-away"

// encryptForNobody has the driver encrypt passwords, where a server asks for that, by a key that is thrown away: by
// itself it takes the key that a server sends which has proved nothing.
var encryptForNobody = sync.OnceValue(func() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	mysql.RegisterServerPubKey(throwAway, &key.PublicKey)
	return nil
})
