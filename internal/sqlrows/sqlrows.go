// Package sqlrows reads the answers of MariaDB servers: row by row, as values, or as text.
package sqlrows

import (
	"context"
	"database/sql"
	"errors"

	"github.com/go-sql-driver/mysql"
)

// Querier is a pool of connections, or one of them.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each calls take for each row of an answer. An error of take ends it.
func Each(ctx context.Context, q Querier, query string, args []any, take func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Collect returns what scan makes of each row of an answer.
func Collect[T any](ctx context.Context, q Querier, scan func(*sql.Rows) (T, error), query string, args ...any) (
	out []T, err error) {
	err = Each(ctx, q, query, args, func(rows *sql.Rows) error {
		one, err := scan(rows)
		out = append(out, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Texts returns the rows of an answer as text. What is NULL is empty.
func Texts(ctx context.Context, q Querier, query string, args ...any) ([][]string, error) {
	return collectTexts(ctx, q, func(_ []string, values []sql.NullString) []string {
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = v.String
		}
		return texts
	}, query, args)
}

// Named returns the rows of an answer as text by the names of their columns. What is NULL is left out.
func Named(ctx context.Context, q Querier, query string, args ...any) ([]map[string]string, error) {
	return collectTexts(ctx, q, func(names []string, values []sql.NullString) map[string]string {
		texts := make(map[string]string, len(values))
		for i, v := range values {
			if v.Valid {
				texts[names[i]] = v.String
			}
		}
		return texts
	}, query, args)
}

func collectTexts[T any](ctx context.Context, q Querier, row func(names []string, values []sql.NullString) T,
	query string, args []any) (out []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		out = append(out, row(names, values))
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

// ErrorNumber returns the number of a server's error, 0 for other errors.
func ErrorNumber(err error) uint16 {
	var answer *mysql.MySQLError
	if errors.As(err, &answer) {
		return answer.Number
	}
	return 0
}
