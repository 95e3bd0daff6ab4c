package accounts

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// TestRootRefused: what the server refuses is a Refused with its words and without hashes; what passes is not.
func TestRootRefused(t *testing.T) {
	err := refused(&mysql.MySQLError{Number: 1290, Message: "running with --strict-password-validation near '*AB'"},
		[]string{"*AB"})
	var is Refused
	if !errors.As(err, &is) || is.Message != "error 1290: running with --strict-password-validation near '…'" {
		t.Errorf("%v", err)
	}
	for _, passing := range []error{&mysql.MySQLError{Number: 1047}, context.DeadlineExceeded} {
		if err := refused(passing, nil); errors.As(err, &is) {
			t.Errorf("%v", err)
		}
	}
}

func TestRootAccepts(t *testing.T) {
	const hour = time.Hour
	desired := DesiredRoot{Hash: "new", Before: "old", Overlap: hour}
	native := func(accepts ...string) login { return login{Plugin: nativePassword, Accepts: accepts} }
	for name, tc := range map[string]struct {
		desired DesiredRoot
		have    login
		age     time.Duration
		want    []string
		again   time.Duration
	}{
		"there is no root yet":   {desired, login{}, 0, []string{"new"}, 0},
		"all is as it should be": {desired, native("new"), hour, []string{"new"}, 0},
		"a new password":         {desired, native("old"), 9 * hour, []string{"new", "old"}, hour},
		"within the overlap":     {desired, native("new", "old"), hour / 4, []string{"new", "old"}, 3 * hour / 4},
		"at its end":             {desired, native("new", "old"), hour, []string{"new"}, 0},
		"changed by hand":        {desired, native("theirs"), hour, []string{"new"}, 0},
		"the one before is not known": {DesiredRoot{Hash: "new", Overlap: hour}, native("old"), hour, []string{"new"},
			0},
		"no overlap": {DesiredRoot{Hash: "new", Before: "old"}, native("old"), hour, []string{"new"},
			0},
		"the overlap is cut short": {DesiredRoot{Hash: "new"}, native("new", "old"), time.Minute, []string{"new"},
			0},
		"changed again within the overlap": {DesiredRoot{Hash: "newer", Before: "new", Overlap: hour}, native("new", "old"),
			time.Minute, []string{"newer", "new"}, hour},
		"back to the one before": {DesiredRoot{Hash: "old", Before: "new", Overlap: hour}, native("new", "old"),
			time.Minute, []string{"old", "new"}, hour},
		"another plugin, and the same words": {desired, login{Plugin: "ed25519", Accepts: []string{"new"}}, hour,
			[]string{"new"}, 0},
	} {
		got, again := tc.desired.accepts(tc.have, tc.age)
		if !slices.Equal(got, tc.want) || again != tc.again {
			t.Errorf("%s: %v for %s, want %v for %s", name, got, again, tc.want, tc.again)
		}
	}
}

// TestRootStatements: root gets in from the hosts of the spec before it is kept out elsewhere, and the account that
// agents ask the servers' ports for is never dropped.
func TestRootStatements(t *testing.T) {
	good := func(host string) rootRow {
		return rootRow{host: host, login: login{Plugin: nativePassword, Accepts: []string{"new"}}, allRights: true}
	}
	earlier := func(host string, locked bool) rootRow {
		return rootRow{host: host, login: login{Plugin: nativePassword, Accepts: []string{"old"}}, allRights: !locked,
			locked: locked, noRight: locked}
	}
	locked := rootRow{host: "%", login: login{Plugin: nativePassword, Accepts: []string{"new"}}, locked: true,
		noRight: true}
	socket := rootRow{host: "localhost", login: login{Plugin: "unix_socket"}, allRights: true}
	theirs := rootRow{host: "10.9.%", login: login{Plugin: nativePassword, Accepts: []string{"theirs"}}, allRights: true}
	const lock, revoke = "ALTER USER root@'%' ACCOUNT LOCK", "REVOKE ALL PRIVILEGES, GRANT OPTION FROM root@'%'"
	const both = "ALTER USER root@'%' IDENTIFIED VIA mysql_native_password USING 'new' OR mysql_native_password " +
		"USING 'old'"
	made := func(host string) []string {
		return []string{"CREATE USER IF NOT EXISTS root@'" + host + "' IDENTIFIED VIA mysql_native_password USING 'new'",
			"ALTER USER root@'" + host + "' IDENTIFIED VIA mysql_native_password USING 'new'",
			"GRANT ALL PRIVILEGES ON *.* TO root@'" + host + "' WITH GRANT OPTION"}
	}
	for name, tc := range map[string]struct {
		desired DesiredRoot
		have    []rootRow
		want    []string
	}{
		"a new server":  {DesiredRoot{}, []rootRow{socket}, made("%")},
		"nothing to do": {DesiredRoot{}, []rootRow{socket, good("%"), theirs}, nil},
		"a new server, disabled": {DesiredRoot{Disabled: true}, []rootRow{socket},
			[]string{"CREATE USER IF NOT EXISTS root@'%' IDENTIFIED VIA mysql_native_password USING 'new' ACCOUNT LOCK"}},
		"disabled on a living cluster": {DesiredRoot{Disabled: true}, []rootRow{socket, good("%"), theirs},
			[]string{lock, revoke, "DROP USER IF EXISTS root@'10.9.%'"}},
		"disabled already": {DesiredRoot{Disabled: true}, []rootRow{socket, locked}, nil},
		"enabled again": {DesiredRoot{}, []rootRow{socket, locked},
			[]string{"GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION", "ALTER USER root@'%' ACCOUNT UNLOCK"}},
		"hosts on a living cluster": {DesiredRoot{Hosts: []string{"10.1.%"}}, []rootRow{socket, good("%")},
			append(made("10.1.%"), lock, revoke)},
		"hosts as they should be": {DesiredRoot{Hosts: []string{"10.1.%"}},
			[]rootRow{socket, locked, good("10.1.%")}, nil},
		"another host": {DesiredRoot{Hosts: []string{"10.2.%"}}, []rootRow{locked, good("10.1.%")},
			append(made("10.2.%"), "DROP USER IF EXISTS root@'10.1.%'")},
		"every host and others": {DesiredRoot{Hosts: []string{"%", "10.1.%"}},
			[]rootRow{good("%"), good("10.1.%")}, nil},
		"no choice of hosts after one": {DesiredRoot{}, []rootRow{good("%"), good("10.1.%"), theirs},
			[]string{"DROP USER IF EXISTS root@'10.1.%'"}},
		"a new password, with hosts": {DesiredRoot{Hosts: []string{"10.1.%"}}, []rootRow{earlier("%", true),
			good("10.1.%")}, []string{both,
			"ALTER USER root@'%' IDENTIFIED VIA mysql_native_password USING 'new' ACCOUNT LOCK"}},
		"a new password, and no choice of hosts any more": {DesiredRoot{}, []rootRow{earlier("%", true),
			earlier("10.1.%", false), theirs}, slices.Concat([]string{both, made("10.1.%")[1]}, made("%"),
			[]string{"ALTER USER root@'%' ACCOUNT UNLOCK", "DROP USER IF EXISTS root@'10.1.%'"})},
		"rights that someone has taken": {DesiredRoot{}, []rootRow{{host: "%", login: good("%").login}},
			[]string{"GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION"}},
		"rights that someone has given": {DesiredRoot{Disabled: true},
			[]rootRow{{host: "%", login: good("%").login, locked: true}}, []string{revoke}},
		"a lock that someone has taken off": {DesiredRoot{Disabled: true},
			[]rootRow{{host: "%", login: good("%").login, noRight: true}}, []string{lock}},
	} {
		have := map[string]rootRow{}
		for _, r := range tc.have {
			have[r.host] = r
		}
		tc.desired.Hash = "new"
		if got, _ := tc.desired.statements(have); !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, tc.want)
		}
	}
}
