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
	err := refused(&mysql.MySQLError{Number: 1290, Message: "running with --strict-password-validation near '*AB'"}, []string{"*AB"})
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
	wish := RootWish{Hash: "new", Before: "old", Overlap: hour}
	native := func(accepts ...string) login { return login{Plugin: nativePassword, Accepts: accepts} }
	for name, tc := range map[string]struct {
		wish  RootWish
		have  login
		age   time.Duration
		want  []string
		again time.Duration
	}{
		"there is no root yet":               {wish, login{}, 0, []string{"new"}, 0},
		"all is as it should be":             {wish, native("new"), hour, []string{"new"}, 0},
		"a new password":                     {wish, native("old"), 9 * hour, []string{"new", "old"}, hour},
		"within the overlap":                 {wish, native("new", "old"), hour / 4, []string{"new", "old"}, 3 * hour / 4},
		"at its end":                         {wish, native("new", "old"), hour, []string{"new"}, 0},
		"changed by hand":                    {wish, native("theirs"), hour, []string{"new"}, 0},
		"the one before is not known":        {RootWish{Hash: "new", Overlap: hour}, native("old"), hour, []string{"new"}, 0},
		"no overlap":                         {RootWish{Hash: "new", Before: "old"}, native("old"), hour, []string{"new"}, 0},
		"the overlap is cut short":           {RootWish{Hash: "new"}, native("new", "old"), time.Minute, []string{"new"}, 0},
		"changed again within the overlap":   {RootWish{Hash: "newer", Before: "new", Overlap: hour}, native("new", "old"), time.Minute, []string{"newer", "new"}, hour},
		"back to the one before":             {RootWish{Hash: "old", Before: "new", Overlap: hour}, native("new", "old"), time.Minute, []string{"old", "new"}, hour},
		"another plugin, and the same words": {wish, login{Plugin: "ed25519", Accepts: []string{"new"}}, hour, []string{"new"}, 0},
	} {
		got, again := tc.wish.accepts(tc.have, tc.age)
		if !slices.Equal(got, tc.want) || again != tc.again {
			t.Errorf("%s: %v for %s, want %v for %s", name, got, again, tc.want, tc.again)
		}
	}
}
