// Package accounts makes users and databases what they are to be: it reads first, and writes the difference only, because every such
// statement stops the whole cluster for a moment. Whose they are is written into the database before they are made.
package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// keepTime bounds one request: less than a caller waits.
const keepTime = 20 * time.Second

// Keeper carries out the operator's wishes in the member's own server.
type Keeper struct {
	Logger *slog.Logger
	DB     *sql.DB
	// Status asks the server how it is.
	Status func(context.Context) (wsrep.Status, error)

	mu sync.Mutex // one wish at a time
}

// User makes an account what it is to be.
func (k *Keeper) User(ctx context.Context, u agentapi.SQLUser) agentapi.SQLResult {
	return k.keep(ctx, func(ctx context.Context, w *work) error { return w.user(ctx, u) })
}

// Database makes a database what it is to be.
func (k *Keeper) Database(ctx context.Context, d agentapi.SQLDatabase) agentapi.SQLResult {
	return k.keep(ctx, func(ctx context.Context, w *work) error { return w.database(ctx, d) })
}

// keep does so only on a member that is Primary and takes queries: elsewhere nothing would be replicated.
func (k *Keeper) keep(ctx context.Context, do func(context.Context, *work) error) agentapi.SQLResult {
	k.mu.Lock()
	defer k.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	st, err := k.Status(ctx)
	if err == nil && (st.Server.Component != galera.ComponentPrimary || !st.Server.Ready) {
		err = errors.New("this member is not Primary, or takes no queries")
	}
	if err != nil {
		return agentapi.SQLResult{Reason: agentapi.SQLNotServed, Message: err.Error()}
	}
	s, err := open(ctx, k.DB)
	if err != nil {
		return agentapi.SQLResult{Reason: agentapi.SQLNotServed, Message: err.Error()}
	}
	defer func() { _ = s.Close() }()
	w := &work{session: s, logger: k.Logger}
	return w.result(do(ctx, w))
}

// work is one wish being carried out.
type work struct {
	session
	logger *slog.Logger
	done   int
}

// hindered is why a wish is not carried out.
type hindered struct{ agentapi.SQLResult }

func (h hindered) Error() string { return h.Message }

func refuse(reason, format string, args ...any) error {
	return hindered{agentapi.SQLResult{Reason: reason, Message: fmt.Sprintf(format, args...)}}
}

// result sorts out what an error means for the one who wishes.
func (w *work) result(err error) agentapi.SQLResult {
	var h hindered
	var refused *mysql.MySQLError
	out := agentapi.SQLResult{}
	switch {
	case err == nil:
	case errors.As(err, &h):
		out = h.SQLResult
	case errors.As(err, &refused):
		out = agentapi.SQLResult{Number: refused.Number, Message: refused.Message, Reason: meaning(refused.Number)}
	default:
		out = agentapi.SQLResult{Reason: agentapi.SQLNotServed, Message: err.Error()}
	}
	out.Statements = w.done
	return out
}

func meaning(number uint16) string {
	switch number {
	case errNoPlugin:
		return agentapi.SQLNoPlugin
	case errNoTable, errNoColumn, errNoRole, errNoRoutine, errNoDatabase:
		return agentapi.SQLWaits
	case 1047, 1053, 1205, 1213: // not Primary, being stopped, a lock, a conflict: they pass
		return agentapi.SQLNotServed
	}
	return agentapi.SQLRefused
}

// do carries out one statement. A log line has its first words, which hold no name and nothing of a password.
func (w *work) do(ctx context.Context, statement string) error {
	_, err := w.ExecContext(ctx, statement)
	w.done++
	w.logger.Info("account statement", "what", strings.Join(strings.Fields(statement)[:2], " "), "error", number(err))
	return err
}

// mine says whether an owner may change what is marked so, and whether it has to be marked first.
func mine(owner, want, instead string, exists, adopt bool) (mark bool, err error) {
	switch {
	case owner == want:
		return false, nil
	case owner != "" && owner != instead:
		return false, hindered{agentapi.SQLResult{Reason: agentapi.SQLOwned, Owner: owner, Message: "it belongs to " + owner}}
	case owner == "" && exists && !adopt:
		return false, refuse(agentapi.SQLExists, "it exists, and was not made by this operator")
	}
	return true, nil
}

func (w *work) user(ctx context.Context, u agentapi.SQLUser) error {
	k := key{userMark, u.Name, u.Host}
	owner, err := w.owner(ctx, k)
	if err != nil {
		return err
	}
	h, err := w.session.user(ctx, u)
	if err != nil {
		return err
	}
	if !u.Present {
		return w.dropUser(ctx, u, k, owner, h != nil)
	}
	if err := w.claim(ctx, k, owner, u.Owner, u.Instead, h != nil, u.Adopt); err != nil {
		return err
	}
	if err := w.plugin(ctx, u.Plugin); err != nil {
		return err
	}
	if h == nil {
		h = &have{shown: shown{rights: rights{}}}
		if h.databases, err = w.databases(ctx, u.Grants); err != nil {
			return err
		}
		if err := w.do(ctx, "CREATE USER IF NOT EXISTS "+of(u)+" "+wantedLogin(u).clauses()); err != nil {
			return err
		}
		h.login = wantedLogin(u)
		h.login.Role = ""
	}
	do, waits := statements(u, h)
	var hindrance error
	for _, statement := range do {
		err := w.do(ctx, statement)
		if err != nil && meaning(number(err)) == agentapi.SQLNotServed || number(err) == 0 && err != nil {
			return err
		}
		hindrance = errors.Join(hindrance, err) // one grant that waits keeps no other waiting
	}
	if hindrance != nil {
		return hindrance
	}
	if len(waits) > 0 {
		return refuse(agentapi.SQLWaits, "%s", strings.Join(waits, "; "))
	}
	if len(do) == 0 {
		return nil
	}
	return w.settled(ctx, u)
}

// plugin refuses what the server has not loaded: ALTER USER would not tell why it fails. mysql_native_password is always there.
func (w *work) plugin(ctx context.Context, name string) error {
	if name == "mysql_native_password" {
		return nil
	}
	active, err := w.first(ctx, "SELECT 1 FROM information_schema.plugins WHERE plugin_name = ? AND plugin_status = 'ACTIVE'", name)
	if err == nil && active == nil {
		err = refuse(agentapi.SQLNoPlugin, "the server has not loaded the plugin %s", name)
	}
	return err
}

// settled makes sure that the statements had the effect that is read: otherwise they would be repeated for ever.
func (w *work) settled(ctx context.Context, u agentapi.SQLUser) error {
	h, err := w.session.user(ctx, u)
	if err != nil || h == nil {
		return err
	}
	if left, _ := statements(u, h); len(left) > 0 {
		verbs := make([]string, len(left))
		for i, s := range left {
			verbs[i], _, _ = strings.Cut(s, " IDENTIFIED ")
		}
		return refuse(agentapi.SQLRefused, "the server took the statements and shows another result: write the privileges as SHOW GRANTS does. Left are: %s", strings.Join(verbs, "; "))
	}
	return nil
}

func (w *work) claim(ctx context.Context, k key, owner, want, instead string, exists, adopt bool) error {
	mark, err := mine(owner, want, instead, exists, adopt)
	if err != nil || !mark {
		return err
	}
	w.done++
	return w.mark(ctx, k, want)
}

// dropUser drops the owner's account, and ends the connections that no account allows any more: each node has its own.
func (w *work) dropUser(ctx context.Context, u agentapi.SQLUser, k key, owner string, exists bool) error {
	if owner == u.Owner {
		if exists && !u.Keep {
			if err := w.do(ctx, "DROP USER IF EXISTS "+of(u)); err != nil {
				return err
			}
		}
		w.done++
		if err := w.unmark(ctx, k); err != nil {
			return err
		}
	}
	if u.Keep {
		return nil
	}
	left, err := w.first(ctx, "SELECT 1 FROM mysql.global_priv WHERE User = ? LIMIT 1", u.Name)
	if err != nil || left != nil {
		return err
	}
	connections, err := w.rows(ctx, "SELECT ID FROM information_schema.processlist WHERE USER = ?", u.Name)
	if err != nil {
		return err
	}
	for _, c := range connections {
		if id, err := strconv.ParseUint(c[0], 10, 64); err == nil {
			_, _ = w.ExecContext(ctx, "KILL CONNECTION "+strconv.FormatUint(id, 10)) // it may have ended by itself
		}
	}
	return nil
}

func (w *work) database(ctx context.Context, d agentapi.SQLDatabase) error {
	k := key{kind: databaseMark, name: d.Name}
	owner, err := w.owner(ctx, k)
	if err != nil {
		return err
	}
	is, err := w.schema(ctx, d.Name)
	if err != nil {
		return err
	}
	if !d.Present {
		if owner != d.Owner {
			return nil
		}
		if is != nil && !d.Keep {
			if err := w.do(ctx, "DROP DATABASE IF EXISTS "+ident(d.Name)); err != nil {
				return err
			}
		}
		w.done++
		return w.unmark(ctx, k)
	}
	if err := w.claim(ctx, k, owner, d.Owner, d.Instead, is != nil, d.Adopt); err != nil {
		return err
	}
	for _, statement := range schemaStatements(d, is) {
		if err := w.do(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
