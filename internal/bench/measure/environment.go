package measure

import (
	"context"
	"database/sql"
	"strings"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/usage"
)

// environment notes where this was measured; what cannot be found out stays empty.
func (r *runner) environment(ctx context.Context) {
	e := &r.out.Environment
	p := usage.Host()
	e.Machine = result.Machine{Kernel: usage.Kernel(), CPU: p.Model, CPUs: p.Count, CPUFlags: strings.Join(p.Flags, " ")}
	if len(r.plan.Members) == 0 {
		return
	}
	samples := r.agents.samples(ctx)
	e.Members = map[string]result.Machine{}
	for name, s := range samples {
		if s != nil {
			e.Members[name] = machine(s)
		}
	}
	first := samples[r.plan.Members[0].Name]
	e.Galera, e.MariaDB = label(first, "provider"), label(first, "server")
	_ = r.withDB(r.plan.Members[0].Host, func(db *sql.DB) error { // unknown stays empty
		var name string
		return db.QueryRowContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name = 'version_ssl_library'").Scan(&name,
			&e.OpenSSL)
	})
}

// machine is what an agent says of its host.
func machine(s result.Sample) result.Machine {
	return result.Machine{Kernel: label(s, "release"), CPU: label(s, "model"), CPUs: int(s[result.MetricProcessors]),
		CPUFlags: label(s, "flags")}
}

// dataBytes is what the tables take on the first node's disk as the server estimates it, 0 when it cannot be reported.
// To see the sizes of files takes the right to see the queries of all users, which a benchmark has not.
func (r *target) dataBytes(ctx context.Context) (bytes int64) {
	_ = r.withDB(r.plan.Members[0].Host, func(db *sql.DB) error { // unknown is 0
		for _, name := range r.plan.Data.Names() {
			var one int64
			if err := db.QueryRowContext(ctx,
				"SELECT CAST(COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH + DATA_FREE), 0) AS SIGNED) FROM information_schema.TABLES "+
					"WHERE TABLE_SCHEMA = ?",
				name).Scan(&one); err != nil {
				return err
			}
			bytes += one
		}
		return nil
	})
	return bytes
}
