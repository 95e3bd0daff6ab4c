package certs

import (
	"context"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

const loginTimeout = 5 * time.Second

// clientsPlain asks as little as it can: only a server that would continue with a login is logged in to.
func clientsPlain(ctx context.Context, addr string, s ProofSubject) (accepted bool, err error) {
	accepted, err = ClientsPlain(ctx, addr)
	if err != nil || !accepted || s.Password == nil {
		return accepted, err
	}
	return loginPlain(ctx, addr, s.Password(), s.Credentials)
}

// loginPlain logs in with a true password, with TLS and without. Servers before 11 check the transport after
// everything else, and answer then as to a wrong password; so the two logins must differ in
// nothing but the transport. The address is this member's own: nothing of it leaves the pod.
func loginPlain(ctx context.Context, addr, password string, c Credentials) (accepted bool, err error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = probeUser, password, "tcp", addr
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = loginTimeout, loginTimeout, loginTimeout
	cfg.Logger = log.New(io.Discard, "", 0) // every error is returned as well
	encrypted := cfg.Clone()
	encrypted.TLS = c.anonymous().config()
	if err := tryLogin(ctx, encrypted); err != nil {
		return false, fmt.Errorf("logging in with TLS: %w", err)
	}
	err = tryLogin(ctx, cfg)
	if n := sqlrows.ErrorNumber(err); n == codeDenied || n == codeInsecure {
		return false, nil
	}
	return err == nil, err
}

func tryLogin(ctx context.Context, cfg *mysql.Config) error {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}
