//go:build integration

package tables

import (
	"errors"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/external"
)

// TestLargeRow: a row for which there is no memory, or that the cluster does not take, is refused with the name that
// the backup has its table under, and with the setting that allows it.
func TestLargeRow(t *testing.T) {
	t.Parallel()
	source, to := servers(t)
	execute(t, source, "CREATE DATABASE shop", "CREATE TABLE shop.pictures (id INT PRIMARY KEY, b LONGBLOB)",
		"INSERT INTO shop.pictures VALUES (1, REPEAT('x', 10000000))")
	s := Selection{Database: "shop", Table: "pictures", Into: "shop", As: "before"}
	if _, err := to.Begin(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	taken := mustTake(t, source, s, Round("1", 0))
	round := 0
	for says, limit := range map[string]int64{
		"has values of 9 MiB, and the memory of this Job is enough for 1 MiB: with 1 connection ": 64 << 20,
		"the 16 MiB that the cluster accepts (raise max_allowed_packet in spec.mariadb.config":    1 << 30,
	} {
		o := external.Options{Memory: external.Memory{Limit: limit, Shared: true, FromSource: true, Pool: 32 << 20}}
		_, err := to.Load(t.Context(), source, taken, o)
		if !errors.Is(err, external.ErrTooLarge) || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), " the table shop.pictures ") {
			t.Errorf("%v", err)
		}
		round++
		if err := taken.Again(t.Context(), source, through, Round("1", round)); err != nil {
			t.Fatal(err)
		}
	}
}
