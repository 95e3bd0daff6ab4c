package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// nativePassword is the plugin of root@'%': every client can, and it accepts a second password.
const nativePassword = "mysql_native_password"

// rootTime bounds the statements about root.
const rootTime = 10 * time.Second

// Root keeps root@'%' on a server.
type Root struct{ DB *sql.DB }

// RootWish is what root@'%' is to accept.
type RootWish struct {
	// Hash is that of the password, as mysql.global_priv has it: no log of any kind can hold more.
	Hash string
	// Before is the hash of the password that was published before, "" when it is not known. It is accepted for Overlap, which begins
	// when the password is changed.
	Before  string
	Overlap time.Duration
}

// Keep gives root@'%' all privileges and the password. It changes nothing, and replicates nothing, when all is as it should be. It
// returns how long the password before is accepted yet, 0 when it is not: Keep is to be called again then.
func (r Root) Keep(ctx context.Context, w RootWish) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, rootTime)
	defer cancel()
	have, age, err := r.read(ctx)
	if err != nil {
		return 0, err
	}
	accepts, again := w.accepts(have, age)
	var do []string
	if have.Plugin != nativePassword || !slices.Equal(accepts, have.Accepts) {
		ways := make([]string, len(accepts))
		for i, hash := range accepts {
			ways[i] = nativePassword + " USING " + text(hash)
		}
		via := " IDENTIFIED VIA " + strings.Join(ways, " OR ")
		do = append(do, "CREATE USER IF NOT EXISTS root@'%'"+via, "ALTER USER root@'%'"+via)
	}
	if len(do) > 0 || !r.mayAll(ctx) {
		do = append(do, "GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION")
	}
	for _, statement := range do {
		if _, err := r.DB.ExecContext(ctx, statement); err != nil {
			return 0, refused(err, accepts)
		}
	}
	return again, nil
}

// Refused is what a server answers that does not take a statement. Trying again does not help. It holds no hash.
type Refused struct{ Message string }

func (r Refused) Error() string { return r.Message }

// refused returns err as a Refused where it is one.
func refused(err error, hashes []string) error {
	if passes(err) {
		return err
	}
	r := result(err, 0, hashes...)
	return Refused{Message: fmt.Sprintf("error %d: %s", r.Number, r.Message)}
}

// accepts are the hashes that root@'%' is to have, and how long until that changes: now it has those of have, for age.
func (w RootWish) accepts(have login, age time.Duration) ([]string, time.Duration) {
	native := have.Plugin == nativePassword
	switch {
	case native && len(have.Accepts) == 2 && have.Accepts[0] == w.Hash && age < w.Overlap:
		return have.Accepts, w.Overlap - age
	case native && len(have.Accepts) > 0 && have.Accepts[0] != w.Hash && have.Accepts[0] == w.Before && w.Overlap > 0:
		return []string{w.Hash, w.Before}, w.Overlap
	}
	return []string{w.Hash}, 0
}

// read returns how root@'%' logs in, and for how long it has been so.
func (r Root) read(ctx context.Context) (login, time.Duration, error) {
	var priv string
	var seconds int64
	err := r.DB.QueryRowContext(ctx, "SELECT Priv, UNIX_TIMESTAMP() - COALESCE(JSON_VALUE(Priv, '$.password_last_changed'), 0) FROM mysql.global_priv WHERE User = 'root' AND Host = '%'").Scan(&priv, &seconds)
	if errors.Is(err, sql.ErrNoRows) {
		return login{}, 0, nil
	}
	if err != nil {
		return login{}, 0, err
	}
	l, err := parseLogin(priv)
	return l, time.Duration(seconds) * time.Second, err
}

func (r Root) mayAll(ctx context.Context) bool {
	var one int
	row := r.DB.QueryRowContext(ctx, "SELECT 1 FROM mysql.global_priv WHERE User = 'root' AND Host = '%' AND "+hasAllRights)
	return row.Scan(&one) == nil
}
