// Package metrics serves what an agent knows to Prometheus. There is one file for what each component of the agent
// reports, with the metrics it is exported as. A fact that is not known has no series.
//
// A Server exports a database's status and variables under the names of Prometheus' mysqld_exporter, so that
// dashboards and alerts made for it work. What else the exporter can read (digests, statistics of tables and indexes)
// is left to it: docs/metrics.md.
package metrics
