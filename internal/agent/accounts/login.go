package accounts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// login is how an account gets in, and how much it may use: the options of CREATE USER and ALTER USER.
type login struct {
	Plugin  string
	Accepts []string
	// SSL is the server's ssl_type.
	SSL int
	// Subject is that of the certificate, Issuer that of the CA that has signed it: a server may trust others, which sign
	// any subject.
	Subject, Issuer string
	Limits          agentapi.SQLLimits
	Role            string // the default one
}

// Values of ssl_type in mysql.global_priv (enum SSL_type in MariaDB's source).
const (
	sslNone = iota
	sslAny
	sslX509
	sslSpecified
)

func wantedLogin(u agentapi.SQLUser) login {
	l := login{Plugin: u.Plugin, Accepts: u.Accepts, Subject: u.Subject, Issuer: u.Issuer, Limits: u.Limits}
	switch {
	case u.Subject != "":
		l.SSL = sslSpecified
	case u.TLS:
		l.SSL = sslAny
	}
	if len(u.Roles) > 0 {
		l.Role = u.Roles[0]
	}
	return l
}

// parseLogin reads the JSON of mysql.global_priv.
func parseLogin(priv string) (login, error) {
	type method struct {
		Plugin string `json:"plugin"`
		Kept   string `json:"authentication_string"`
	}
	var p struct {
		method
		Or                 []method `json:"auth_or"`
		SSL                int      `json:"ssl_type"`
		Subject            string   `json:"x509_subject"`
		Issuer             string   `json:"x509_issuer"`
		Cipher             string   `json:"ssl_cipher"`
		MaxQueries         int64    `json:"max_questions"`
		MaxUpdates         int64    `json:"max_updates"`
		MaxConnections     int64    `json:"max_connections"`
		MaxUserConnections int64    `json:"max_user_connections"`
		MaxStatementTime   float64  `json:"max_statement_time"`
		DefaultRole        string   `json:"default_role"`
	}
	if err := json.Unmarshal([]byte(priv), &p); err != nil {
		return login{}, err
	}
	methods := p.Or
	if len(methods) == 0 {
		methods = []method{{}}
	}
	l := login{SSL: p.SSL, Subject: p.Subject, Issuer: p.Issuer, Role: p.DefaultRole, Limits: agentapi.SQLLimits{
		QueriesPerHour: p.MaxQueries, UpdatesPerHour: p.MaxUpdates, ConnectionsPerHour: p.MaxConnections,
		UserConnections: p.MaxUserConnections, StatementMillis: int64(p.MaxStatementTime*1000 + 0.5)}}
	for i, w := range methods {
		if w == (method{}) { // the one the server writes outside of the list
			w = p.method
		}
		if i == 0 {
			l.Plugin = w.Plugin
		}
		if w.Plugin != l.Plugin {
			l.Plugin = "" // several: not one of ours
		}
		l.Accepts = append(l.Accepts, w.Kept)
	}
	if p.Cipher != "" {
		l.SSL = -1 // asks for more than ours do
	}
	return l, nil
}

func (l login) equal(o login) bool {
	return l.Plugin == o.Plugin && slices.Equal(l.Accepts, o.Accepts) && l.SSL == o.SSL && l.Subject == o.Subject &&
		l.Issuer == o.Issuer && l.Limits == o.Limits
}

// identified is how the account logs in, as CREATE USER and ALTER USER have it after its name.
func (l login) identified() string {
	methods := make([]string, len(l.Accepts))
	for i, kept := range l.Accepts {
		methods[i] = l.Plugin + " USING " + text(kept)
	}
	return "IDENTIFIED VIA " + strings.Join(methods, " OR ")
}

// terms are what follows all accounts of a CREATE USER or ALTER USER, and holds for each of them.
func (l login) terms() string {
	require := "NONE"
	switch l.SSL {
	case sslAny:
		require = "SSL"
	case sslSpecified:
		require = "SUBJECT " + text(l.Subject) + " AND ISSUER " + text(l.Issuer)
	}
	return fmt.Sprintf(
		" REQUIRE %s WITH MAX_QUERIES_PER_HOUR %d MAX_UPDATES_PER_HOUR %d MAX_CONNECTIONS_PER_HOUR %d MAX_USER_CONNECTIONS "+
			"%d MAX_STATEMENT_TIME %s",
		require, l.Limits.QueriesPerHour, l.Limits.UpdatesPerHour, l.Limits.ConnectionsPerHour, l.Limits.UserConnections,
		strconv.FormatFloat(float64(l.Limits.StatementMillis)/1000, 'f', -1, 64))
}
