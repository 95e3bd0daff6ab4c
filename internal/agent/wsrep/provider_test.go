package wsrep

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// typedOptions is a server whose provider options have variables of their own, and that says so with one of its errors.
type typedOptions struct {
	script
	number uint16
}

func (s *typedOptions) Connect(context.Context) (driver.Conn, error) { return s, nil }

func (s *typedOptions) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	s.told = append(s.told, statement)
	if strings.Contains(statement, "wsrep_provider_options") && s.number != 0 {
		return nil, &mysql.MySQLError{Number: s.number, Message: "wsrep_provider_options"}
	}
	return driver.RowsAffected(0), nil
}

// TestProviderOptions: a provider's option is set by either way, whatever a release says of the one it does not have.
func TestProviderOptions(t *testing.T) {
	const first, typed = "SET GLOBAL wsrep_provider_options = 'socket.ssl_reload=1'", "SET GLOBAL wsrep_provider_socket_ssl_reload = ON"
	for number, want := range map[uint16][]string{0: {first}, 1238: {first, typed}, 1210: {first, typed}, 1047: {first}} {
		s := &typedOptions{number: number}
		c := &Conn{db: sql.OpenDB(s)}
		err := c.ReloadProviderTLS(t.Context())
		c.Close()
		var refused *mysql.MySQLError
		if !slices.Equal(s.told, want) || (number == 1047) != errors.As(err, &refused) {
			t.Errorf("%d: %q, %v", number, s.told, err)
		}
	}
}
