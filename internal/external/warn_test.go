package external

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWarn: what is copied and then does not work as on the source is named, with what to do, and is no finding.
func TestWarn(t *testing.T) {
	view := func(definer string) defined {
		return defined{Kind: "view", Database: "shop", Name: "v", Definer: definer}
	}
	event := func(status string) defined {
		return defined{Kind: "event", Database: "shop", Name: "e", Definer: "root@localhost", Status: status}
	}
	app, role := account{Name: "app", Host: "%"}, account{Name: "reader", Role: true}
	for name, tc := range map[string]struct {
		facts Facts
		want  []string
		says  string
	}{
		"nothing": {},
		"of every server": {facts: Facts{Defined: []defined{view("root@localhost"), view("root@%"),
			view("mysql@localhost"), view("mariadb.sys@localhost")}}},
		"copied": {facts: Facts{Defined: []defined{view("app@%")}, Accounts: []account{app}, All: []account{app}}},
		"a role": {facts: Facts{Defined: []defined{view("reader")}, Accounts: []account{role}, All: []account{role}}},
		"a role by its name": {facts: Facts{Defined: []defined{view("reader@%")}, Accounts: []account{role}},
			want: []string{DefinerMissing}, says: "reader@%"},
		"not copied": {facts: Facts{Defined: []defined{view("app@%")}, All: []account{app}}, want: []string{DefinerMissing},
			says: "app@% (view shop.v): the new cluster has no such account"},
		"of another host": {facts: Facts{Defined: []defined{view("app@localhost"), view("app@localhost")},
			Accounts: []account{app}, All: []account{app}}, want: []string{DefinerMissing},
			says: "app@localhost, which the source lacks, too (view shop.v and 1 other object)"},
		"root of another host": {facts: Facts{Defined: []defined{view("root@10.0.0.%")}}, want: []string{DefinerMissing}},
		"an event": {facts: Facts{Defined: []defined{event("ENABLED")}, Scheduler: true}, want: []string{EventsEnabled},
			says: "FollowPrimary, on its primary. The source goes on running them"},
		"an event that is followed": {facts: Facts{Defined: []defined{event("ENABLED")}, Scheduler: true, Follow: true},
			want: []string{EventsEnabled},
			says: "and not before it accepts writes (kubectl galera cutover). The source goes on"},
		"an event that runs nowhere yet": {facts: Facts{Defined: []defined{event("ENABLED")}}, want: []string{EventsEnabled},
			says: "event_scheduler is OFF"},
		"of a replica": {facts: Facts{Defined: []defined{event("SLAVESIDE_DISABLED")}, Scheduler: true},
			want: []string{EventsDoNotRun}, says: "shop.e: these events are disabled on replicas"},
		"a disabled event": {facts: Facts{Defined: []defined{event("DISABLED")}, Scheduler: true}},
		"tables alone":     {facts: Facts{Only: true, Defined: []defined{view("gone@%"), event("ENABLED")}}},
		"not to be listed": {facts: Facts{DefinedUnread: errors.New("failed to load routine"), Defined: []defined{
			event("ENABLED")}}, want: []string{DefinersHidden}, says: "failed to load routine"},
	} {
		found := Warn(tc.facts)
		var names []string
		text := ""
		for _, f := range found {
			names = append(names, f.Name)
			text += strings.Join(f.Objects, ", ") + ": " + f.Message
		}
		if !slices.Equal(names, tc.want) || !strings.Contains(text, tc.says) {
			t.Errorf("%s: %q %s", name, names, text)
		}
	}
	many := Facts{}
	for i := range 9 {
		many.Defined = append(many.Defined, view(fmt.Sprintf("a%d@%%", i)))
	}
	if f := Warn(many); len(f) != 1 || f[0].Count != 9 || len(f[0].Objects) != shownObjects {
		t.Errorf("%+v", f)
	}
}
