// Package accounts makes users and databases what they are to be: it reads first, and writes the difference only,
// because every such statement stops the whole cluster for a moment. Whose they are is written into the database before
// they are made.
package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

// keepTimeout bounds one request: less than a caller waits.
const keepTimeout = 20 * time.Second

// maxMessage bounds the message for one account or database.
const maxMessage = 700

// Keeper establishes the operator's desired state in the member's own server.
type Keeper struct {
	Logger *slog.Logger
	DB     *sql.DB
	// Status asks the server how it is.
	Status func(context.Context) (wsrep.Status, error)

	mu sync.Mutex // one request at a time
}

// Users makes accounts what they are to be, and answers for each of them.
func (k *Keeper) Users(ctx context.Context, users []agentapi.SQLUser) []agentapi.SQLResult {
	requests := make([]*desiredUser, len(users))
	for i, u := range users {
		requests[i] = &desiredUser{u: u, err: u.Check()}
	}
	unserved := k.keep(ctx, func(ctx context.Context, s session) { keepUsers(ctx, s, k.Logger, requests) })
	out := make([]agentapi.SQLResult, len(users))
	for i, w := range requests {
		out[i] = w.result(unserved)
	}
	return out
}

// Database makes a database what it is to be.
func (k *Keeper) Database(ctx context.Context, d agentapi.SQLDatabase) agentapi.SQLResult {
	var w work
	var err error
	unserved := k.keep(ctx, func(ctx context.Context, s session) {
		w = work{session: s, logger: k.Logger}
		err = w.database(ctx, d)
	})
	return result(errors.Join(unserved, err), w.done)
}

// keep does so only on a member that is Primary and takes queries: elsewhere nothing would be replicated.
func (k *Keeper) keep(ctx context.Context, do func(context.Context, session)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	st, err := k.Status(ctx)
	if err == nil && (st.Server.Component != galera.ComponentPrimary || !st.Server.Ready) {
		err = errors.New("this member is not Primary, or takes no queries")
	}
	if err != nil {
		return blockedError{agentapi.SQLResult{Reason: agentapi.SQLNotServed, Message: err.Error()}}
	}
	s, err := open(ctx, k.DB)
	if err != nil {
		return blockedError{agentapi.SQLResult{Reason: agentapi.SQLNotServed, Message: err.Error()}}
	}
	defer s.close()
	do(ctx, s)
	return nil
}

// work is one desired state being established.
type work struct {
	session
	logger *slog.Logger
	done   int
}

// blockedError is why a desired state is not established.
type blockedError struct{ agentapi.SQLResult }

func (h blockedError) Error() string { return h.Message }

func refuse(reason, format string, args ...any) error {
	return blockedError{agentapi.SQLResult{Reason: reason, Message: fmt.Sprintf(format, args...)}}
}

// result sorts out what an error means for the requester. What the server keeps of passwords is never reported, though
// its errors may quote it.
func result(err error, done int, secrets ...string) agentapi.SQLResult {
	var h blockedError
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
	for _, s := range secrets {
		if s != "" {
			out.Message = strings.ReplaceAll(out.Message, s, "…")
		}
	}
	if len(out.Message) > maxMessage {
		out.Message = strings.ToValidUTF8(out.Message[:maxMessage], "") + "…"
	}
	out.Statements = done
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

// isTransient reports whether an error is not about the statement: the server accepts none at present.
func isTransient(err error) bool {
	return err != nil && (sqlrows.ErrorNumber(err) == 0 || meaning(sqlrows.ErrorNumber(err)) == agentapi.SQLNotServed)
}

// do carries out one statement. A log line has its first words, which hold no name and nothing of a password.
func (w *work) do(ctx context.Context, statement string) error {
	_, err := w.ExecContext(ctx, statement)
	w.done++
	w.logger.Info("account statement", "what", strings.Join(strings.Fields(statement)[:2], " "),
		"error", sqlrows.ErrorNumber(err))
	return err
}

// mayManage reports whether an owner may change what is marked so, and whether it has to be marked first.
func mayManage(owner string, by agentapi.SQLOwner, exists bool) (mark bool, err error) {
	switch {
	case owner == by.Owner:
		return false, nil
	case by.Again(owner):
		return true, nil
	case owner != "" && owner != by.Instead && by.Tenant && !by.Has(owner):
		return false, refuse(agentapi.SQLOwned, "it belongs to another namespace")
	case owner != "" && owner != by.Instead:
		return false, ownedBy(owner)
	case owner == "" && exists && !by.Adopt:
		return false, refuse(agentapi.SQLExists, "it exists, and was not made by this operator")
	}
	return true, nil
}

// mayDrop reports whether what has the mark is the owner's to drop. The mark of a predecessor, which a restored cluster
// brings, is refused by name: only the operator can find out that the predecessor is gone.
func mayDrop(owner string, by agentapi.SQLOwner) (bool, error) {
	if by.Again(owner) && owner != by.Instead {
		return false, ownedBy(owner)
	}
	return owner != "" && (owner == by.Owner || owner == by.Instead), nil
}

func ownedBy(owner string) error {
	return blockedError{agentapi.SQLResult{Reason: agentapi.SQLOwned, Owner: owner, Message: "it belongs to " +
		agentapi.Named(owner)}}
}

func (w *work) claim(ctx context.Context, k key, owner string, by agentapi.SQLOwner, exists bool) error {
	mark, err := mayManage(owner, by, exists)
	if err != nil || !mark {
		return err
	}
	w.done++
	return w.mark(ctx, k, by.Owner)
}
