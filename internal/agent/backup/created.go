package backup

import (
	"context"
	"database/sql"
	"time"
)

// createdTime is how long a backup waits for that.
const createdTime = 10 * time.Second

// Created asks a server for the settings that its data directory keeps from its creation (mycnf.Created).
// mariadb-backup notes only those of InnoDB.
func Created(ctx context.Context, db *sql.DB) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, createdTime)
	defer cancel()
	var names, page, files string
	err := db.QueryRowContext(ctx, "SELECT @@lower_case_table_names, @@innodb_page_size, @@innodb_data_file_path").
		Scan(&names, &page, &files)
	if err != nil {
		return nil, err
	}
	return map[string]string{"lower_case_table_names": names, "innodb_page_size": page,
		"innodb_data_file_path": files}, nil
}
