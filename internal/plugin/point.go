package plugin

import (
	"errors"
	"fmt"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// pointFlags are where a restore ends: at most one of them is set.
type pointFlags struct {
	time, gtid string
	latest     bool
}

// point is what the flags ask for, nil for the backup as it is. It is pure.
func (f pointFlags) point(now time.Time) (*v1alpha1.RestorePoint, error) {
	switch {
	case f == pointFlags{}:
		return nil, nil
	case f.time != "" && f.gtid == "" && !f.latest:
		at, err := pointTime(f.time, now)
		return &v1alpha1.RestorePoint{Time: at.Format(time.RFC3339Nano)}, err
	case f.gtid != "" && f.time == "" && !f.latest:
		if g, err := binlog.Parse(f.gtid); err != nil || g.Seq == 0 {
			return nil,
				fmt.Errorf(
					"--gtid %s: write one transaction as DOMAIN-SERVER-NUMBER, for instance 0-1-4711. Of a position take the one of "+
						"the cluster's domain (SELECT @@wsrep_gtid_domain_id)", f.gtid)
		}
		return &v1alpha1.RestorePoint{GTID: f.gtid}, nil
	case f.latest && f.time == "" && f.gtid == "":
		return &v1alpha1.RestorePoint{Latest: true}, nil
	}
	return nil, errors.New("name one point to restore: --time, --gtid or --latest")
}

// pointTime reads a time with its offset.
func pointTime(text string, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return at,
			fmt.Errorf("--time %s: write it with its offset from UTC, as 2026-11-24T12:30:00Z or 2026-11-24T13:30:00+01:00",
				text)
	case at.Nanosecond()%1000 != 0:
		return at, fmt.Errorf("--time %s: write up to six digits after the second", text)
	case at.After(now):
		return at,
			fmt.Errorf("--time %s is later than now, %s. Check the offset from UTC; --latest restores all that was archived",
				text, now.UTC().Format(time.RFC3339))
	}
	return at.UTC(), nil
}
