package accounts

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// desiredUser is one account of a request.
type desiredUser struct {
	work
	u agentapi.SQLUser
	// is the account as it was read, nil while there is none.
	is      *have
	exists  objects
	foreign []string // databases that a tenant asks for and that are not its own
	// err is why no more is done.
	err error
}

func (w *desiredUser) result(unserved error) agentapi.SQLResult {
	err := w.err
	if err == nil {
		err = unserved
	}
	if check := w.u.Check(); check != nil {
		err = refuse(agentapi.SQLRefused, "%s", strings.ReplaceAll(check.Error(), "\n", ", "))
	}
	return result(err, w.done, w.u.Accepts...)
}

// keepUsers makes accounts what they are to be. New ones are made together, because each statement stops the whole
// cluster for a moment.
func keepUsers(ctx context.Context, s session, logger *slog.Logger, requests []*desiredUser) {
	each := func(do func(*desiredUser, context.Context) error) {
		for _, w := range requests {
			if w.err == nil {
				w.err = do(w, ctx)
			}
		}
	}
	for _, w := range requests {
		w.session, w.logger = s, logger
	}
	each((*desiredUser).begin)
	created(ctx, requests)
	each((*desiredUser).apply)
}

// begin reads the account and claims it, or drops it.
func (w *desiredUser) begin(ctx context.Context) error {
	k := key{userMark, w.u.Name, w.u.Host}
	owner, err := w.owner(ctx, k)
	if err != nil {
		return err
	}
	if w.is, err = w.user(ctx, w.u.Name, w.u.Host); err != nil {
		return err
	}
	if !w.u.Present {
		return w.drop(ctx, k, owner)
	}
	w.u.Grants = w.names(w.u.Grants)
	if w.u.Grants, w.foreign, err = w.own(ctx, w.u); err != nil {
		return err
	}
	if w.exists, err = w.objects(ctx, w.u); err != nil {
		return err
	}
	if err := w.checkShadowing(ctx, w.u); err != nil {
		return err
	}
	if err := w.plugin(ctx, w.u.Plugin); err != nil {
		return err
	}
	return w.claim(ctx, k, owner, w.u.SQLOwner, w.is != nil)
}

// plugin refuses what the server has not loaded: ALTER USER would not report why it fails. mysql_native_password is
// always there.
func (w *desiredUser) plugin(ctx context.Context, name string) error {
	if name == "mysql_native_password" {
		return nil
	}
	active, err := w.first(ctx,
		"SELECT 1 FROM information_schema.plugins WHERE plugin_name = ? AND plugin_status = 'ACTIVE'", name)
	if err == nil && active == nil {
		err = refuse(agentapi.SQLNoPlugin, "the server has not loaded the plugin %s", name)
	}
	return err
}

// created makes the accounts that there are not yet: those of the same terms by one statement. If the server refuses
// that, each is made by itself, to know which one it is about.
func created(ctx context.Context, requests []*desiredUser) {
	groups := map[string][]*desiredUser{}
	var terms []string // in the order of the request
	for _, w := range requests {
		if w.err != nil || !w.u.Present || w.is != nil {
			continue
		}
		t := wantedLogin(w.u).terms()
		if groups[t] == nil {
			terms = append(terms, t)
		}
		groups[t] = append(groups[t], w)
	}
	for _, t := range terms {
		group := groups[t]
		err := create(ctx, group, t)
		if err != nil && !isTransient(err) && len(group) > 1 {
			for _, w := range group {
				w.err = create(ctx, []*desiredUser{w}, t)
			}
			continue
		}
		for _, w := range group {
			w.err = err
		}
	}
}

// create makes accounts by one statement. With IF NOT EXISTS a repetition after a lost answer is no error; the next
// pass reads what there is.
func create(ctx context.Context, group []*desiredUser, terms string) error {
	made := make([]string, len(group))
	for i, w := range group {
		made[i] = quotedAccount(w.u) + " " + wantedLogin(w.u).identified()
	}
	err := group[0].do(ctx, "CREATE USER IF NOT EXISTS "+strings.Join(made, ", ")+terms)
	for _, w := range group[1:] {
		w.done++
	}
	if err != nil {
		return err
	}
	for _, w := range group {
		w.is = &have{login: wantedLogin(w.u), shownGrants: shownGrants{rights: rights{}}}
		w.is.login.Role = ""
	}
	return nil
}

// apply makes an account that is there what it is to be.
func (w *desiredUser) apply(ctx context.Context) error {
	if !w.u.Present {
		return nil
	}
	do, waits := statements(w.u, *w.is, w.exists)
	var blocker error
	for _, statement := range do {
		err := w.do(ctx, statement)
		if isTransient(err) {
			return err
		}
		blocker = errors.Join(blocker, err) // one grant that waits keeps no other waiting
	}
	switch {
	case blocker != nil:
		return blocker
	case len(w.foreign) > 0:
		return refuse(agentapi.SQLForeign, "%s", strings.Join(w.foreign, ", "))
	case len(waits) > 0:
		return refuse(agentapi.SQLWaits, "%s", strings.Join(waits, "; "))
	case len(do) == 0:
		return nil
	}
	return w.settled(ctx)
}

// settled makes sure that the statements had the effect that is read: otherwise they would be repeated forever.
func (w *desiredUser) settled(ctx context.Context) error {
	h, err := w.user(ctx, w.u.Name, w.u.Host)
	if err != nil || h == nil {
		return err
	}
	if left, _ := statements(w.u, *h, w.exists); len(left) > 0 {
		verbs := make([]string, len(left))
		for i, s := range left {
			verbs[i], _, _ = strings.Cut(s, " IDENTIFIED ")
		}
		return refuse(agentapi.SQLRefused,
			"the server took the statements and shows another result: write the privileges as SHOW GRANTS does. Left are: %s",
			strings.Join(verbs, "; "))
	}
	return nil
}

// drop drops the owner's account, and ends the connections that no account allows any more: each node has its own.
func (w *desiredUser) drop(ctx context.Context, k key, owner string) error {
	own, err := mayDrop(owner, w.u.SQLOwner)
	if err != nil {
		return err
	}
	if own {
		if w.is != nil {
			if err := w.do(ctx, "DROP USER IF EXISTS "+quotedAccount(w.u)); err != nil {
				return err
			}
		}
		w.done++
		if err := w.unmark(ctx, k); err != nil {
			return err
		}
	}
	left, err := w.first(ctx, "SELECT 1 FROM mysql.global_priv WHERE User = ? LIMIT 1", w.u.Name)
	if err != nil || left != nil {
		return err
	}
	connections, err := w.rows(ctx, "SELECT ID, USER FROM information_schema.processlist WHERE USER = ?", w.u.Name)
	if err != nil {
		return err
	}
	// The comparison in the list of connections minds no case and no accents; accounts do.
	connections = slices.DeleteFunc(connections, func(c []string) bool { return c[1] != w.u.Name })
	for _, c := range connections {
		if id, err := strconv.ParseUint(c[0], 10, 64); err == nil {
			_, _ = w.ExecContext(ctx, "KILL CONNECTION "+strconv.FormatUint(id, 10)) // it may have ended by itself
		}
	}
	return nil
}
