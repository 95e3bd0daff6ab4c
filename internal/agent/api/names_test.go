package api

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestNames: a lookup that takes longer than an answer of a member finds it, and one that fails later takes nothing
// away.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, broken := 2*time.Second, error(nil)
		n := newNames()
		n.lookup = func(ctx context.Context, _ string) ([]string, error) {
			select {
			case <-time.After(slow):
				return []string{"10.0.0.1"}, broken
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		find := func(what string, within time.Duration, want error) {
			t.Helper()
			began := time.Now()
			got, err := n.find(t.Context(), "shop-0.shop-nodes.prod.svc")
			if took := time.Since(began); took > within {
				t.Errorf("%s: took %s", what, took)
			}
			if !errors.Is(err, want) || want == nil && !slices.Equal(got, []string{"10.0.0.1"}) {
				t.Errorf("%s: %v, %v", what, got, err)
			}
		}
		broken = errors.New("refused")
		find("it fails at first", slow, broken)
		broken = nil
		find("it takes longer than a member's answer", slow, nil)
		find("it is fresh", 0, nil)
		slow = time.Hour
		time.Sleep(lookupTTL)
		find("a later one hangs", lookupPatience, nil)
		time.Sleep(lookupTimeout)
		find("and failed", lookupPatience, nil)
		time.Sleep(lookupTimeout)
		synctest.Wait()
	})
}
