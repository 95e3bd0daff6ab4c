//go:build integration

package agent_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	zonesComment = "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql' AND " +
		"TABLE_NAME = 'time_zone_name'"
	zonesLeft = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'galera\\_operator\\_zones%'"
	// zonesTables are the engines of the tables, and a sum over every change of every zone.
	zonesTables = "SELECT COUNT(*), MIN(ENGINE), MAX(ENGINE) FROM information_schema.TABLES WHERE " +
		"TABLE_SCHEMA = 'mysql' AND TABLE_NAME LIKE 'time\\_zone%'; SELECT COUNT(*) FROM mysql.time_zone_name; " +
		"SELECT COUNT(*), BIT_XOR(CRC32(CONCAT_WS(' ', Name, Transition_time, `Offset`, Is_DST, Abbreviation))) " +
		"FROM mysql.time_zone_name n JOIN mysql.time_zone_transition USING (Time_zone_id) " +
		"JOIN mysql.time_zone_transition_type USING (Time_zone_id, Transition_type_id)"
)

// TestZones: the tables of time zones that are of earlier zones than the image's are filled again on all nodes, by one
// of them. No query finds a zone missing meanwhile.
func TestZones(t *testing.T) {
	t.Parallel()
	s := &scenario{T: t, world: newWorld(t, 2, nil)}
	s.wait()
	s.form()
	zones := "time zones of " + s.node(0).exec("sh", "-c", `sed -n '1s/^# version //p' /usr/share/zoneinfo/tzdata.zi`)
	filled := s.node(0).mustSQL(zonesTables)
	s.awaitSQL(1, zonesComment, zones)

	// As an image with earlier zones, and an attempt that was cut off, leave them.
	s.node(0).mustSQL("ALTER TABLE mysql.time_zone_name COMMENT = 'time zones of 2020a'; " +
		"CREATE DATABASE galera_operator_zones_1; CREATE TABLE galera_operator_zones_1.time_zone (id INT PRIMARY KEY)")
	for _, n := range s.world.nodes {
		n.mustSQL("SET SESSION wsrep_on = OFF; DELETE FROM mysql.time_zone_name WHERE Name = 'Europe/Vienna'")
	}
	for i, n := range s.world.nodes {
		stop := s.keepConverting(1 - i)
		o, result := n.send(agentapi.OrderRestart, s.epoch, galera.Position{}, s.uuid)
		if result.State != agentapi.OrderAccepted {
			s.Fatalf("%+v", result)
		}
		n.until("restarted", time.Minute, done(o.ID))
		s.all(time.Minute)
		stop()
	}
	for i := range s.world.nodes {
		s.awaitSQL(i, zonesComment, zones)
		s.awaitSQL(i, zonesLeft, "0")
		if got := s.node(i).mustSQL(zonesTables); got != filled {
			s.Errorf("%s has\n%s\nwant\n%s", s.node(i).name, got, filled)
		}
		if got := s.node(i).mustSQL("SELECT CONVERT_TZ('2026-07-01 12:00', 'UTC', 'Europe/Vienna')"); got !=
			"2026-07-01 14:00:00" {
			s.Errorf("%s: %s in Vienna", s.node(i).name, got)
		}
	}
	s.intact()
}

// keepConverting looks for a zone on a node until it is stopped.
func (s *scenario) keepConverting(i int) (stop func()) {
	conn, done := s.node(i).session(), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			found := 0
			err := conn.QueryRowContext(context.Background(),
				"SELECT COUNT(*) FROM mysql.time_zone_name WHERE Name = 'Asia/Tokyo'").Scan(&found)
			var aborted *mysql.MySQLError
			if errors.As(err, &aborted) && aborted.Number == 1213 {
				continue // the statement that swaps the tables aborts a reader of them on another node, as all DDL does
			}
			if err != nil || found != 1 {
				s.Errorf("%s: %d zones, %v", s.node(i).name, found, err)
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}
