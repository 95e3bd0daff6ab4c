package accounts

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// rootTable is mysql.global_priv as root's statements change it.
type rootTable map[string]rootRow

var (
	rootStatement = regexp.MustCompile(
		`^(CREATE USER IF NOT EXISTS|ALTER USER|DROP USER IF EXISTS|GRANT ALL .* TO|REVOKE ALL .* FROM) root@'([^']*)'(.*)$`)
	rootMethod = regexp.MustCompile(`USING '([^']*)'`)
)

func (t rootTable) do(statement string) {
	m := rootStatement.FindStringSubmatch(statement)
	if m == nil {
		panic(statement)
	}
	verb, host, rest := m[1], m[2], m[3]
	row, exists := t[host]
	switch {
	case strings.HasPrefix(verb, "DROP"):
		delete(t, host)
		return
	case strings.HasPrefix(verb, "CREATE") && exists:
		return
	case strings.HasPrefix(verb, "CREATE"):
		row = rootRow{host: host, noRight: true}
	case !exists:
		panic("there is no such account: " + statement)
	case strings.HasPrefix(verb, "GRANT"):
		row.allRights, row.noRight = true, false
	case strings.HasPrefix(verb, "REVOKE"):
		row.allRights, row.noRight = false, true
	}
	if methods := rootMethod.FindAllStringSubmatch(rest, -1); methods != nil {
		row.login, row.age = login{Plugin: nativePassword}, 0
		for _, method := range methods {
			row.Accepts = append(row.Accepts, method[1])
		}
	}
	switch {
	case strings.HasSuffix(rest, "ACCOUNT LOCK"):
		row.locked = true
	case strings.HasSuffix(rest, "ACCOUNT UNLOCK"):
		row.locked = false
	}
	t[host] = row
}

// TestRootWhileAgentsEnd: an agent may end after any of its statements, and the next one knows no earlier password. The
// password and rootAccess may have changed meanwhile, together and again. Without a choice of
// hosts at last, root@'%' is open with the present password, no other account of the operator's is left, and none that
// others have made is dropped.
func TestRootWhileAgentsEnd(t *testing.T) {
	desired := func(step int, access string, overlap time.Duration) DesiredRoot {
		w := DesiredRoot{Hash: fmt.Sprint("p", step), Overlap: overlap}
		switch access {
		case "none":
			w.Disabled = true
		case "":
		default:
			w.Hosts = strings.Split(access, ",")
		}
		return w
	}
	accesses := []string{"", "none", "10.1", "10.1,10.2", "%,10.1"}
	for _, overlap := range []time.Duration{0, time.Hour} {
		seen := map[string]bool{}
		var follow func(table rootTable, step int, method string)
		follow = func(table rootTable, step int, method string) {
			state := fmt.Sprint(step, table)
			if seen[state] {
				return
			}
			seen[state] = true
			if step == 3 {
				last(t, table, desired(step, "", overlap), method)
				return
			}
			for _, access := range accesses {
				do, _ := desired(step, access, overlap).statements(table)
				for end := 0; end <= len(do); end++ {
					next := maps.Clone(table)
					for _, statement := range do[:end] {
						next.do(statement)
					}
					follow(next, step+1, fmt.Sprintf("%s, %q ended after %d of %d", method, access, end, len(do)))
				}
			}
		}
		follow(rootTable{"localhost": {host: "localhost", login: login{Plugin: "unix_socket"}},
			"10.9": {host: "10.9", login: login{Plugin: nativePassword, Accepts: []string{"theirs"}}, allRights: true},
		}, 0, fmt.Sprint("overlap ", overlap))
	}
}

// last applies what is desired at the end, without a choice of hosts, and checks root's accounts.
func last(t *testing.T, table rootTable, w DesiredRoot, method string) {
	t.Helper()
	_, theirs := table["10.9"]
	do, _ := w.statements(table)
	out := maps.Clone(table)
	for _, statement := range do {
		out.do(statement)
	}
	if _, left := out["10.9"]; left != theirs {
		t.Fatalf("%s: an account that others have made is dropped by %q", method, do)
	}
	delete(out, "10.9")
	all := out[everyHost]
	if hosts := slices.Sorted(maps.Keys(out)); !slices.Equal(hosts, []string{everyHost, "localhost"}) ||
		all.locked || !all.allRights || all.Accepts[0] != w.Hash {
		t.Fatalf("%s: at the end %q leaves %v of %v", method, do, out, table)
	}
}
