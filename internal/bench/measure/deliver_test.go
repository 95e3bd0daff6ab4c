package measure

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestADayFitsIntoAConfigMap: its proof, run and verdict need space, too.
func TestADayFitsIntoAConfigMap(t *testing.T) {
	o := &result.OLTPResult{}
	for second := range 24 * 3600 {
		o.Series = append(o.Series, result.Point{Second: float64(second + 1), TPS: 12345.67 + float64(second), P95: 1234.56,
			Errors: 12.34, Reconnects: 1.23})
	}
	for i := range 1024 {
		o.Histogram = append(o.Histogram, result.Bucket{Value: 12345.678, Count: int64(1e9 + i)})
	}
	data, err := contents(result.Output{OLTP: o}, strings.Repeat("[ 1s ] thds: 8 tps: 1\n", 1e5)+"the end")
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, text := range data {
		all += len(text)
	}
	if all > 700<<10 || len(o.Series) < 3000 || !strings.HasSuffix(data[result.KeyLog], "the end") {
		t.Errorf("%d bytes, %d points", all, len(o.Series))
	}
}
