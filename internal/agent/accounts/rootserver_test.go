//go:build integration

package accounts

import (
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
	})
}
