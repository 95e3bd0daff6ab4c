package users

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRotationsAreNotNoticed: with passwords changed by request and by a person, the operator killed between any two
// steps and Secrets deleted, the password in the binding Secret, and the one that was there until an overlap ago,
// always open the account; and at rest the account accepts one.
func TestRotationsAreNotNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const overlap = time.Hour
		var (
			secret          *Passwords
			account         []string
			binding, before string
			changed         time.Time
			token           string
			given           string
			made, byHand    int
			now             = time.Unix(1e9, 0)
			fresh           = func() (string, error) { made++; return fmt.Sprint("made", made), nil }
			mayUseBefore    = func() bool { return before != "" && now.Before(changed.Add(overlap)) }
			ask             = func() Asked {
				return Asked{Have: secret, Published: binding, Given: given, Token: token, Fresh: fresh, Overlap: overlap, Now: now}
			}
			pass             func(most int) bool
			accepted         = func(p string) bool { return slices.Contains(account, p) }
			checkEveryClient = func(when string) {
				if binding != "" && !accepted(binding) {
					t.Fatalf("%s: the published %s is not among %v", when, binding, account)
				}
				if mayUseBefore() && !accepted(before) {
					t.Fatalf("%s: %s was published until %s, it is %s, and not among %v", when, before, changed, now, account)
				}
				if len(account) > 2 {
					t.Fatalf("%s: %v", when, account)
				}
			}
		)
		// pass makes up to so many steps of a pass: the operator is killed after them. It reports whether nothing was left to
		// do.
		pass = func(most int) bool {
			r, err := Rotate(ask())
			if err != nil || most == 0 {
				return false
			}
			asked := given != "" && given != r.Password || given == "" && token != "" && token != r.Renewed
			if asked && r.Previous == "" && binding == r.Password && !r.Waiting {
				t.Fatalf("all is reported as done, though another password was asked for: %+v", r)
			}
			if r.Write {
				secret = &r.Passwords
				return false
			}
			if want := r.Accepted(binding); !slices.Equal(want, account) {
				if most == 1 {
					return false
				}
				account = want
				checkEveryClient("account")
			}
			if binding != r.Password {
				if most == 2 {
					return false
				}
				before, binding, changed = binding, r.Password, now
				checkEveryClient("binding")
				return false
			}
			return true
		}
		t.Repeat(map[string]func(*rapid.T){
			"pass":  func(t *rapid.T) { pass(rapid.IntRange(0, 3).Draw(t, "steps")) },
			"time":  func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute) },
			"renew": func(t *rapid.T) { token = fmt.Sprint(rapid.IntRange(1, 5).Draw(t, "token")) },
			"person": func(t *rapid.T) {
				byHand++
				given = fmt.Sprint("given", rapid.IntRange(max(1, byHand-2), byHand).Draw(t, "which"))
			},
			"own": func(*rapid.T) { given = "" },
			"":    func(*rapid.T) { checkEveryClient("at any time") },
		})
		for range 20 {
			pass(3)
			now = now.Add(30 * time.Minute)
			checkEveryClient("coming to rest")
		}
		if !pass(3) || len(account) != 1 || account[0] != binding || given != "" && binding != given {
			t.Fatalf("at rest: %v, published %s, given %s", account, binding, given)
		}
	})
}
