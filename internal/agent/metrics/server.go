package metrics

import (
	"context"
	"database/sql"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// scrapeTimeout bounds what a scrape waits for the server: one that hangs is answered for with mysql_up 0.
const scrapeTimeout = 2 * time.Second

// The statements work on a non-Primary node where SELECT does not, and take no privilege.
const (
	showStatus    = "SHOW GLOBAL STATUS"
	showVariables = "SHOW GLOBAL VARIABLES"
)

// ServerQuery is to be read.
type ServerQuery struct{ Status, Variables bool }

// Server is the database that is asked. Safe for concurrent use.
type Server struct {
	db *sql.DB
	// turn is held by the scrape that asks: the agent's few connections are for other things, too.
	turn  chan struct{}
	descs descs
}

// NewServer returns the server behind a pool of connections.
func NewServer(db *sql.DB) *Server {
	return &Server{db: db, turn: make(chan struct{}, 1)}
}

var up = prometheus.NewDesc("mysql_up", "Whether the MySQL server is up.", nil, nil)

// Collector returns a collector of one kind of scrape.
func (s *Server) Collector(what ServerQuery) prometheus.Collector { return serverCollector{s, what} }

type serverCollector struct {
	server *Server
	what   ServerQuery
}

// Describe implements prometheus.Collector. Which metrics there are is known once the server has been asked.
func (c serverCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c serverCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	err := c.server.collect(ctx, c.what, ch)
	value := 1.0
	if err != nil {
		value = 0
	}
	ch <- prometheus.MustNewConstMetric(up, prometheus.GaugeValue, value)
}

// collect reads everything before it sends anything: half an answer would look like a server that has lost the rest.
func (s *Server) collect(ctx context.Context, what ServerQuery, ch chan<- prometheus.Metric) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	m := &sending{descs: &s.descs, seen: map[string]bool{}}
	if what.Status {
		if err := s.read(ctx, showStatus, m.status); err != nil {
			return err
		}
		m.statusText()
	}
	if what.Variables {
		if err := s.read(ctx, showVariables, m.variable); err != nil {
			return err
		}
		m.variableText()
	}
	for _, metric := range m.metrics {
		ch <- metric
	}
	return nil
}

// read hands every row to f. Its value is good until f returns.
func (s *Server) read(ctx context.Context, statement string, f func(name string, value []byte)) error {
	rows, err := s.db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var name string
	var value sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		f(name, value)
	}
	return rows.Err()
}
