package main

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"
)

func (c *cluster) open(clients int) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName = user, user, "tcp", c.outside[0]+":3306", "bench"
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(clients)
	return db, nil
}

// write lets clients write small transactions for a time, and returns how many of them were committed in a second.
func write(ctx context.Context, db *sql.DB, clients int, d time.Duration) (float64, error) {
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for i := range clients {
		group.Go(func() error {
			for time.Since(start) < d {
				if _, err := db.ExecContext(ctx, "INSERT INTO small (k, payload) VALUES (?, ?)", i,
					strings.Repeat("x", 100)); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(done.Load()) / time.Since(start).Seconds(), err
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}
