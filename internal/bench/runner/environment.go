package runner

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/usage"
)

// environment notes where this was measured; what cannot be found out stays empty.
func (r *runner) environment(ctx context.Context) {
	e := &r.out.Environment
	e.Kernel = usage.Kernel()
	p := usage.Host()
	e.CPU, e.CPUFlags = fmt.Sprintf("%s, %d CPUs", p.Model, p.Count), strings.Join(p.Flags, " ")
	if len(r.plan.Members) == 0 {
		return
	}
	s := r.agents.sample(ctx, r.plan.Members[0])
	e.Galera, e.MariaDB = label(s, "provider"), label(s, "server")
	if flags := label(s, "flags"); flags != "" {
		e.CPUFlags = flags
	}
	_ = r.withDB(r.plan.Members[0].Host, func(db *sql.DB) error { // unknown stays empty
		var name string
		return db.QueryRowContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name = 'version_ssl_library'").Scan(&name, &e.OpenSSL)
	})
}

// dataBytes is what the tables take on the first node's disk, 0 when it cannot be told.
func (r *runner) dataBytes(ctx context.Context) (bytes int64) {
	_ = r.withDB(r.plan.Members[0].Host, func(db *sql.DB) error { // unknown is 0
		return db.QueryRowContext(ctx, "SELECT COALESCE(SUM(FILE_SIZE), 0) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE ?",
			strings.ReplaceAll(r.plan.Data.Database, "_", `\_`)+"/%").Scan(&bytes)
	})
	return bytes
}

// quantiles of latencies, which are sorted, in milliseconds.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*p/100))]
}
