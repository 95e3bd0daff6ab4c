package accounts

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

// nativePassword is the plugin of root: every client can, and it accepts a second password.
const nativePassword = "mysql_native_password"

// rootTimeout bounds the statements about root.
const rootTimeout = 10 * time.Second

// Root keeps root's accounts on a server but that at localhost.
type Root struct{ DB *sql.DB }

// DesiredRoot is what root is to accept, and from where.
type DesiredRoot struct {
	// Hash is that of the password, as mysql.global_priv has it: no log of any kind can hold more.
	Hash string
	// Before is the hash of the password that was published before, "" when it is not known. It is accepted for Overlap,
	// which begins when the password is changed.
	Before  string
	Overlap time.Duration
	// Hosts are those that root may log in from; none for every host. Disabled is for no host.
	Hosts    []string
	Disabled bool
}

// everyHost is the host of the account that matches a login from anywhere. It always exists, because agents ask the
// servers' ports for its authentication when they check that plaintext is refused: where root may not log in from
// everywhere, it is locked and has no rights.
const everyHost = "%"

// rootRow is an account of root's.
type rootRow struct {
	host string
	login
	age                        time.Duration // of the password
	locked, allRights, noRight bool
}

// Keep gives root its accounts, all privileges and the password. It changes nothing, and replicates nothing, when all
// is as it should be. It returns how long the password before is accepted yet, 0 when it is not: Keep is to be called
// again then.
func (r Root) Keep(ctx context.Context, w DesiredRoot) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, rootTimeout)
	defer cancel()
	have, err := r.read(ctx)
	if err != nil {
		return 0, err
	}
	do, again := w.statements(have)
	for _, statement := range do {
		if _, err := r.DB.ExecContext(ctx, statement); err != nil {
			return 0, refused(err, []string{w.Hash, w.Before})
		}
	}
	return again, nil
}

// statements are those that make root's accounts what they are to be, and when that changes: first those that let root
// in, then those that keep it out.
func (w DesiredRoot) statements(have map[string]rootRow) (do []string, again time.Duration) {
	hosts := slices.Clone(w.Hosts)
	if len(hosts) == 0 && !w.Disabled {
		hosts = []string{everyHost}
	}
	var dropped []string
	for _, host := range slices.Sorted(maps.Keys(have)) {
		switch {
		case host == localhost, host == everyHost, slices.Contains(hosts, host):
		case w.Disabled, len(w.Hosts) > 0, w.made(have, host): // without a choice of hosts, what others have made stays
			dropped = append(dropped, host)
		}
	}
	do = w.record(have, hosts, dropped)
	slices.SortStableFunc(hosts, func(a, b string) int { return w.turn(have, a) - w.turn(have, b) })
	for _, host := range hosts {
		more, left := w.admit(host, have[host])
		do = append(do, more...)
		if left > 0 && (again == 0 || left < again) {
			again = left
		}
	}
	if !slices.Contains(hosts, everyHost) {
		do = append(do, w.lock(have[everyHost])...)
	}
	for _, host := range dropped {
		do = append(do, "DROP USER IF EXISTS root@"+text(host))
	}
	return do, again
}

// made reports whether an account at another host than root@'%' is the operator's: it has a password that root@'%'
// accepts. The agent may be another one than that which made it, and know no earlier password.
func (w DesiredRoot) made(have map[string]rootRow, host string) bool {
	accepts := have[host].Accepts
	if len(accepts) == 0 || accepts[0] == "" {
		return false
	}
	return accepts[0] == w.Hash || accepts[0] == w.Before || slices.Contains(have[everyHost].Accepts, accepts[0])
}

// record keeps what made goes by, whichever statement is the last before the agent ends: root@'%' accepts the password
// before any other account has it, and those that are to be dropped have it before root@'%' forgets theirs.
func (w DesiredRoot) record(have map[string]rootRow, hosts, dropped []string) (do []string) {
	all := have[everyHost]
	others := len(dropped) > 0 || slices.ContainsFunc(hosts, func(h string) bool { return h != everyHost })
	switch {
	case all.Plugin == "" && !slices.Contains(hosts, everyHost):
		do = append(do, "CREATE USER IF NOT EXISTS root@'%'"+via([]string{w.Hash})+" ACCOUNT LOCK")
	case others && all.Plugin == nativePassword && !slices.Contains(all.Accepts, w.Hash):
		do = append(do, "ALTER USER root@'%'"+via(append([]string{w.Hash}, all.Accepts...)))
	}
	for _, host := range dropped {
		if w.made(have, host) && have[host].Accepts[0] != w.Hash {
			do = append(do, "ALTER USER root@"+text(host)+via([]string{w.Hash}))
		}
	}
	return do
}

// turn orders the hosts that root is admitted from: root@'%' changes after all others, but is made before them.
func (w DesiredRoot) turn(have map[string]rootRow, host string) int {
	switch {
	case host != everyHost:
		return 1
	case have[everyHost].Plugin == "":
		return 0
	}
	return 2
}

// via is how an account accepts these passwords.
func via(hashes []string) string {
	methods := make([]string, len(hashes))
	for i, hash := range hashes {
		methods[i] = nativePassword + " USING " + text(hash)
	}
	return " IDENTIFIED VIA " + strings.Join(methods, " OR ")
}

// admit lets root log in from a host.
func (w DesiredRoot) admit(host string, have rootRow) (do []string, again time.Duration) {
	name := "root@" + text(host)
	accepts, again := w.accepts(have.login, have.age)
	if have.Plugin != nativePassword || !slices.Equal(accepts, have.Accepts) {
		do = append(do, "CREATE USER IF NOT EXISTS "+name+via(accepts), "ALTER USER "+name+via(accepts))
	}
	if len(do) > 0 || !have.allRights {
		do = append(do, "GRANT ALL PRIVILEGES ON *.* TO "+name+" WITH GRANT OPTION")
	}
	if have.locked { // last: only then is it what it should be
		do = append(do, "ALTER USER "+name+" ACCOUNT UNLOCK")
	}
	return do, again
}

// lock keeps root from logging in from hosts that are not named. The locked account has the present password all the
// same: it shows which accounts at other hosts are the operator's, also to an agent that knows no earlier password.
func (w DesiredRoot) lock(have rootRow) (do []string) {
	const name = "root@'%'"
	switch {
	case have.Plugin == "":
		return nil // record has made it
	case have.Plugin != nativePassword || !slices.Equal(have.Accepts, []string{w.Hash}):
		do = append(do, "ALTER USER "+name+via([]string{w.Hash})+" ACCOUNT LOCK")
	case !have.locked:
		do = append(do, "ALTER USER "+name+" ACCOUNT LOCK")
	}
	if !have.noRight {
		do = append(do, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM "+name)
	}
	return do
}

// Refused is what a server answers that does not take a statement. Trying again does not help. It holds no hash.
type Refused struct{ Message string }

func (r Refused) Error() string { return r.Message }

// refused returns err as a Refused where it is one.
func refused(err error, hashes []string) error {
	if isTransient(err) {
		return err
	}
	r := result(err, 0, hashes...)
	return Refused{Message: fmt.Sprintf("error %d: %s", r.Number, r.Message)}
}

// accepts are the hashes that an account of root's is to have, and how long until that changes: now it has those of
// have, for age.
func (w DesiredRoot) accepts(have login, age time.Duration) ([]string, time.Duration) {
	native := have.Plugin == nativePassword
	switch {
	case native && len(have.Accepts) == 2 && have.Accepts[0] == w.Hash && age < w.Overlap:
		return have.Accepts, w.Overlap - age
	case native && len(have.Accepts) > 0 && have.Accepts[0] != w.Hash && have.Accepts[0] == w.Before && w.Overlap > 0:
		return []string{w.Hash, w.Before}, w.Overlap
	}
	return []string{w.Hash}, 0
}

// read returns the accounts of root by their hosts.
func (r Root) read(ctx context.Context) (map[string]rootRow, error) {
	out := map[string]rootRow{}
	err := sqlrows.Each(ctx, r.DB,
		"SELECT Host, Priv, CAST(UNIX_TIMESTAMP() - COALESCE(JSON_VALUE(Priv, '$.password_last_changed'), 0) AS SIGNED), "+
			"COALESCE(JSON_VALUE(Priv, '$.account_locked'), 'false') IN ('true', '1'), COALESCE("+hasAllRights+", FALSE), "+
			"COALESCE(CAST(JSON_VALUE(Priv, '$.access') AS UNSIGNED), 0) = 0 FROM mysql.global_priv WHERE User = 'root'", nil,
		func(rows *sql.Rows) (err error) {
			var a rootRow
			var priv string
			var seconds int64
			if err := rows.Scan(&a.host, &priv, &seconds, &a.locked, &a.allRights, &a.noRight); err != nil {
				return err
			}
			if a.login, err = parseLogin(priv); err != nil && a.host == everyHost {
				return err
			}
			a.age = time.Duration(seconds) * time.Second
			out[a.host] = a
			return nil
		})
	return out, err
}
