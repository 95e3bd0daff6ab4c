//go:build integration

package accounts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestRootAccessOnAServer: root's accounts follow the desired state, there and back, and a second pass finds nothing to
// do.
func TestRootAccessOnAServer(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		root := Root{DB: s.root}
		hash := agentapi.NativeHash("word")
		accounts := func() (out []string) {
			rows, err := root.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for host, r := range rows {
				if host != everyHost && !strings.HasPrefix(host, "10.") {
					continue // those of the installation
				}
				switch {
				case r.locked && r.noRight:
					host += " locked"
				case !r.locked && r.allRights && slices.Equal(r.Accepts, []string{hash}):
					host += " all"
				}
				out = append(out, host)
			}
			slices.Sort(out)
			return out
		}
		for _, step := range []struct {
			desired DesiredRoot
			want    []string
		}{
			{DesiredRoot{}, []string{"% all"}},
			{DesiredRoot{Hosts: []string{"10.1.%", "10.2.0.0/255.255.0.0"}},
				[]string{"% locked", "10.1.% all", "10.2.0.0/255.255.0.0 all"}},
			{DesiredRoot{Disabled: true}, []string{"% locked"}},
			{DesiredRoot{Hosts: []string{"10.1.%"}}, []string{"% locked", "10.1.% all"}},
			{DesiredRoot{}, []string{"% all"}},
		} {
			step.desired.Hash = hash
			if _, err := root.Keep(t.Context(), step.desired); err != nil {
				t.Fatalf("%+v: %v", step.desired, err)
			}
			if got := accounts(); !slices.Equal(got, step.want) {
				t.Errorf("%+v: %v, want %v", step.desired, got, step.want)
			}
			have, err := root.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if do, _ := step.desired.statements(have); len(do) > 0 {
				t.Errorf("%+v leaves %q to do", step.desired, do)
			}
		}
		endsBetweenStatements(t, root)
	})
}

// endsBetweenStatements has an agent end after each statement of a new password and the end of a choice of hosts. The
// next one, with another password, leaves root@'%' alone, which was locked until it was open on purpose.
func endsBetweenStatements(t *testing.T, root Root) {
	t.Helper()
	for end := 0; ; end++ {
		hash := func(of string) string { return agentapi.NativeHash(fmt.Sprint(of, end)) }
		if _, err := root.Keep(t.Context(), DesiredRoot{Hash: hash("a"), Hosts: []string{"10.1.%"}}); err != nil {
			t.Fatal(err)
		}
		have, err := root.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		do, _ := DesiredRoot{Hash: hash("b")}.statements(have)
		open := false
		for _, statement := range do[:min(end, len(do))] {
			open = open || strings.HasSuffix(statement, "root@'%' ACCOUNT UNLOCK")
			if _, err := root.DB.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if have, err = root.read(t.Context()); err != nil || have[everyHost].locked == open {
			t.Errorf("after %q root@'%%' is locked: %t, %v", do[:min(end, len(do))], have[everyHost].locked, err)
		}
		if _, err := root.Keep(t.Context(), DesiredRoot{Hash: hash("c")}); err != nil {
			t.Fatal(err)
		}
		have, err = root.read(t.Context())
		if _, left := have["10.1.%"]; left || err != nil || !slices.Equal(have[everyHost].Accepts, []string{hash("c")}) {
			t.Errorf("ended after %d of %q: %v, %v", end, do, have, err)
		}
		if end > len(do) {
			return
		}
	}
}
