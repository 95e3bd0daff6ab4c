package external

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// HostNotOneServer is the finding about a host whose connections do not all lead to the same server.
const HostNotOneServer = "HostNotOneServer"

// whichServer is the expression that tells servers apart, also those that are copies of one another: their names, their
// data, and when they were started.
const whichServer = "CONCAT(COALESCE(@@hostname, '?'), ':', @@port, ' (server_id ', @@server_id, ', ', @@datadir, " +
	"', started at ', FROM_UNIXTIME(UNIX_TIMESTAMP() - (SELECT CAST(variable_value AS SIGNED) FROM " +
	"information_schema.GLOBAL_STATUS WHERE variable_name = 'UPTIME')), ')')"

// serverOf is the server that a connection leads to.
func serverOf(ctx context.Context, c *sql.Conn) (server string, err error) {
	err = c.QueryRowContext(ctx, "SELECT "+whichServer).Scan(&server)
	return server, err
}

// serversOf are the servers that some connections lead to. A name of several servers shows itself by that in most
// cases; the copy makes sure of it for each of its connections.
func serversOf(ctx context.Context, source *sql.DB, connections int) (servers []string, err error) {
	for range connections {
		c, err := source.Conn(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = c.Close() }() // at the end, so that each of them is another one
		server, err := serverOf(ctx, c)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(servers, server) {
			servers = append(servers, server)
		}
	}
	slices.Sort(servers)
	return servers, nil
}

// of returns an error unless a connection leads to the server that the snapshot is of.
func (s *snapshot) of(ctx context.Context, c *sql.Conn) error {
	server, err := serverOf(ctx, c)
	if err == nil && server != s.server {
		err = fmt.Errorf("its host leads to several servers, whose data need not be the same (%s; %s): name one of them",
			s.server, server)
	}
	return err
}
