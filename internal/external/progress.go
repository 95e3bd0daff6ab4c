package external

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// Progress of a copy.
type Progress struct {
	Tables int
	// ExpectedRows is the source's estimate.
	Rows, ExpectedRows int64
	// Bytes are those of the values in the rows.
	Bytes int64
	// Compared is how many tables have been compared with the source.
	Compared int
}

// Describe names what is done after a time, and how long the rest takes at that rate. It is pure.
func (p Progress) Describe(took time.Duration) string {
	if p.Compared > 0 {
		return fmt.Sprintf("copied %s; compared %d of %s", galera.Count(p.Rows, "row"), p.Compared,
			galera.Count(p.Tables, "table"))
	}
	out := fmt.Sprintf("copied %d of about %s", p.Rows, galera.Count(p.ExpectedRows, "row"))
	rest := p.Rest(took)
	if rest == 0 {
		return out
	}
	return out + fmt.Sprintf(" (%d %%), at this rate the rest takes %s; all tables are compared then",
		100*p.Rows/p.ExpectedRows, rest.Round(max(time.Second, took/100).Truncate(time.Second)))
}

// Rest is how long the other rows take at the rate of those that have taken a time, 0 while that is not known. It is
// pure.
func (p Progress) Rest(took time.Duration) time.Duration {
	if p.Compared > 0 || p.Rows <= 0 || p.Rows >= p.ExpectedRows {
		return 0
	}
	return time.Duration(float64(took) / float64(p.Rows) * float64(p.ExpectedRows-p.Rows))
}
