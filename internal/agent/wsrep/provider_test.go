package wsrep

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// typedOptions is a server whose provider options have variables of their own, and that reports so with one of its
// errors.
type typedOptions struct {
	script
	number uint16
}

func (s *typedOptions) Connect(context.Context) (driver.Conn, error) { return s, nil }

func (s *typedOptions) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	s.statements = append(s.statements, statement)
	if strings.Contains(statement, "wsrep_provider_options") && s.number != 0 {
		return nil, &mysql.MySQLError{Number: s.number, Message: "wsrep_provider_options"}
	}
	return driver.RowsAffected(0), nil
}

// TestProviderOptions: a provider's option is set by either way, whatever a release says of the one it does not have.
func TestProviderOptions(t *testing.T) {
	const first, typed = "SET GLOBAL wsrep_provider_options = 'socket.ssl_reload=1'",
		"SET GLOBAL wsrep_provider_socket_ssl_reload = ON"
	for number, want := range map[uint16][]string{0: {first}, 1238: {first, typed}, 1210: {first, typed}, 1047: {first}} {
		s := &typedOptions{number: number}
		c := &Conn{db: sql.OpenDB(s)}
		err := c.ReloadProviderTLS(t.Context())
		c.Close()
		var refused *mysql.MySQLError
		if !slices.Equal(s.statements, want) || (number == 1047) != errors.As(err, &refused) {
			t.Errorf("%d: %q, %v", number, s.statements, err)
		}
	}
}

// windows is a server that, like Galera, refuses an evs.user_send_window above evs.send_window, or an evs.send_window
// below the other.
type windows struct {
	script
	user, all int
}

func (s *windows) Connect(context.Context) (driver.Conn, error) { return s, nil }

func (s *windows) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	option := ""
	if _, err := fmt.Sscanf(statement, "SET GLOBAL wsrep_provider_options = 'evs.%s", &option); err != nil {
		return nil, err
	}
	name, value, _ := strings.Cut(strings.TrimSuffix(option, "'"), "=")
	n, err := strconv.Atoi(value)
	if err != nil {
		return nil, err
	}
	user, all := s.user, s.all
	if name == "send_window" {
		all = n
	} else {
		user = n
	}
	if user > all {
		return nil, errors.New("out of range")
	}
	s.user, s.all = user, all
	return driver.RowsAffected(0), nil
}

// TestSendWindows: from any windows to any others.
func TestSendWindows(t *testing.T) {
	sizes := []agentapi.SendWindows{{UserSendWindow: 1, SendWindow: 2}, {UserSendWindow: 2, SendWindow: 4},
		{UserSendWindow: 32, SendWindow: 64}, {UserSendWindow: 64, SendWindow: 64}}
	for _, from := range sizes {
		for _, to := range sizes {
			s := &windows{user: from.UserSendWindow, all: from.SendWindow}
			c := &Conn{db: sql.OpenDB(s)}
			err := c.SetSendWindows(t.Context(), to)
			c.Close()
			if err != nil || s.user != to.UserSendWindow || s.all != to.SendWindow {
				t.Errorf("from %v to %v: %d, %d: %v", from, to, s.user, s.all, err)
			}
		}
	}
}
