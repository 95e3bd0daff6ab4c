package accounts

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestResult: an answer is short, and holds nothing of what the server keeps of a password, though the server's errors
// quote the statement.
func TestResult(t *testing.T) {
	const kept = "*E74858DB86EBA20BC33D0AECAE8A8108C56B17FA"
	err := error(&mysql.MySQLError{Number: 1064, Message: "You have an error in your SQL syntax; … near 'NONSENSE '" +
		kept + "' REQUIRE SSL' at line 1"})
	if r := result(err, 2, "", kept); strings.Contains(r.Message, kept) || !strings.Contains(r.Message, "NONSENSE") ||
		r.Number != 1064 || r.Reason != agentapi.SQLRefused || r.Statements != 2 {
		t.Errorf("%+v", r)
	}
	if r := result(refuse(agentapi.SQLWaits, "%s", strings.Repeat("日本", 1000)), 0); len(r.Message) > maxMessage+len("…") ||
		!strings.HasSuffix(r.Message, "…") || !utf8.ValidString(r.Message) {
		t.Errorf("%d bytes: %+v", len(r.Message), r)
	}
	for _, err := range []error{errors.New("bad connection"), &mysql.MySQLError{Number: 1047}} {
		if r := result(err, 0); r.Reason != agentapi.SQLNotServed || !isTransient(err) {
			t.Errorf("%+v", r)
		}
	}
}

// TestMayManage: one owner, what has no mark on request only, and nothing disclosed to a tenant.
func TestMayManage(t *testing.T) {
	for name, tc := range map[string]struct {
		owner  string
		by     agentapi.SQLOwner
		exists bool
		mark   bool
		reason string
	}{
		"its own":      {"team/app", agentapi.SQLOwner{Owner: "team/app"}, true, false, ""},
		"new":          {"", agentapi.SQLOwner{Owner: "team/app"}, false, true, ""},
		"made by hand": {"", agentapi.SQLOwner{Owner: "team/app"}, true, false, agentapi.SQLExists},
		"adopted":      {"", agentapi.SQLOwner{Owner: "team/app", Adopt: true}, true, true, ""},
		"another's": {"data/app", agentapi.SQLOwner{Owner: "team/app", Adopt: true}, true, false,
			agentapi.SQLOwned},
		"that of one who is gone": {"data/app", agentapi.SQLOwner{Owner: "team/app", Adopt: true, Instead: "data/app"}, true,
			true, ""},
		"another tenant's": {"data/app", agentapi.SQLOwner{Owner: "team/app", Tenant: true}, true, false,
			agentapi.SQLOwned},
		"its own, made again":  {"team/app#1", agentapi.SQLOwner{Owner: "team/app#2"}, true, true, ""},
		"of a restored backup": {"team/app", agentapi.SQLOwner{Owner: "team/app#2", Tenant: true}, true, true, ""},
		"one that was made again": {"data/app#2", agentapi.SQLOwner{Owner: "team/app#1", Adopt: true, Instead: "data/app#1"},
			true, false, agentapi.SQLOwned},
		"a name that begins so": {"team/app2#1", agentapi.SQLOwner{Owner: "team/app#1"}, true, false, agentapi.SQLOwned},
		"a namespace like it": {"team-b/app", agentapi.SQLOwner{Owner: "team/app", Tenant: true}, true, false,
			agentapi.SQLOwned},
	} {
		mark, err := mayManage(tc.owner, tc.by, tc.exists)
		r := result(err, 0)
		if mark != tc.mark || r.Reason != tc.reason || tc.by.Tenant && strings.Contains(r.Owner+r.Message, tc.owner) {
			t.Errorf("%s: %t, %+v", name, mark, r)
		}
	}
}
