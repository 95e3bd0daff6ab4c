//go:build integration

package agent_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/external"
)

// TestFollowBack: after a cutover the old server follows the cluster with the statements that kubectl galera cutover
// --back prints, through whichever node, and has every row when it takes over again.
func TestFollowBack(t *testing.T) {
	for name, of := range map[string]struct{ source, nodes string }{"10.11 and 11.8": {oldImage, image},
		"11.8": {image, image}, "10.11": {oldImage, oldImage}} {
		t.Run(name, func(t *testing.T) {
			if of.source == of.nodes && os.Getenv("GALERA_SLOW") == "" {
				t.Skip("GALERA_SLOW is not set")
			}
			t.Parallel()
			s := toFollow(t, 2, of.nodes)
			s.certificates = filepath.Join(s.world.dir, "certificates")
			check(t, os.MkdirAll(s.certificates, 0o755))
			check(t, os.WriteFile(filepath.Join(s.certificates, "ca.crt"), s.world.root.pem, 0o644))
			s.followsBack(of.source)
		})
	}
}

func (s *following) followsBack(source string) {
	w := s.world
	s.startSource(source)
	w.publishConfig(func(c *agentapi.NodeConfig) { c.Settings["sync_binlog"] = "1" })
	s.form()
	s.primary(0)
	s.runsOn(0)
	s.stopWriting()
	s.socket(0, "CREATE DATABASE earlier; CREATE USER checker IDENTIFIED BY 'c'; GRANT ALL ON *.* TO checker")
	s.mustSource("SET GLOBAL read_only = 1")
	nodes := map[string]*sql.DB{}
	for _, n := range w.nodes {
		db, err := external.Server{Host: n.ip, Port: 3306, User: "checker", Password: "c", CA: w.root.pem}.Open()
		check(s.T, err)
		s.Cleanup(func() { _ = db.Close() })
		nodes[n.name] = db
	}
	b := external.Back{Host: w.nodes[0].name, Port: 3306, User: "back", CA: "/certificates/ca.crt",
		GTID: s.mustSource(sourcePosition)}
	var err error
	b.Own, err = external.OwnPosition(s.Context(), nodes)
	check(s.T, err)
	s.Logf("the source is at %s, and the cluster's own transactions at %s", b.GTID, b.Own)
	w.publishConfig(func(c *agentapi.NodeConfig) { c.Follow.Until = b.GTID })
	for _, n := range w.nodes {
		n.until("accepting writes", 90*time.Second, func(r agentapi.Report) bool {
			return r.Following != nil && r.Following.Reached && !r.Following.ReadOnly
		})
	}
	s.socket(0, "CREATE USER back IDENTIFIED BY 'b' REQUIRE SSL; GRANT REPLICATION SLAVE ON *.* TO back; "+
		"INSERT INTO shop.t VALUES (-20, 'before it follows')")

	s.Cleanup(func() {
		if s.Failed() {
			out, _ := s.onSource("SHOW SLAVE STATUS\\G")
			s.Log(out)
		}
	})
	for _, statement := range b.Statements() {
		s.mustSource(strings.Replace(statement, "'PASSWORD'", "'b'", 1))
	}
	s.sameOnSource(0)
	s.socket(0, "CREATE TABLE shop.later (id INT PRIMARY KEY); INSERT INTO shop.later VALUES (1)")
	s.socket(1, "INSERT INTO shop.t VALUES (-21, 'on another node'); INSERT INTO shop.later VALUES (2)")
	s.sameOnSource(1)
	s.awaitSource("SELECT COUNT(*) FROM shop.later", "2")
	for query, want := range map[string]string{
		"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'earlier'": "0",
		"SELECT COUNT(*) FROM mysql.global_priv WHERE user IN ('back', 'checker')":       "0",
		"SELECT @@read_only": "1",
	} {
		if got := s.mustSource(query); got != want {
			s.Errorf("%s: %s", query, got)
		}
	}

	// The next node has a binary log of its own, and that of one that was started again lacks the source's transactions.
	w.nodes[0].stop(true)
	s.through(1, -22)
	w.nodes[0].start()
	w.nodes[0].until("Synced", 2*time.Minute, synced(2))
	s.through(0, -23)
	for name, db := range nodes {
		if lacks, err := b.Held(s.Context(), db); err != nil || lacks != "" {
			s.Errorf("%s: %q, %v", name, lacks, err)
		}
	}
	s.purged(0)
	if lacks, err := b.Held(s.Context(), nodes[w.nodes[0].name]); err != nil || lacks == "" {
		s.Errorf("its binary log was removed: %q, %v", lacks, err)
	}
	s.mustSource("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF; INSERT INTO shop.t VALUES (-30, 'back again')")
}

// purged removes all of a node's binary log but the last file.
func (s *following) purged(i int) {
	s.Helper()
	s.mustSource("STOP SLAVE") // it may read the last file but one still
	s.socket(i, "FLUSH BINARY LOGS")
	file, _, _ := strings.Cut(s.socket(i, "SHOW MASTER STATUS"), "\t")
	s.socket(i, "PURGE BINARY LOGS TO '"+file+"'")
}

// through: the old server follows another node, and gets what is written there.
func (s *following) through(i, id int) {
	s.Helper()
	s.mustSource("STOP SLAVE; CHANGE MASTER TO MASTER_HOST = '" + s.world.nodes[i].name + "'; START SLAVE")
	s.socket(i, fmt.Sprintf("INSERT INTO shop.t VALUES (%d, 'by way of another node')", id))
	s.sameOnSource(i)
}

// sameOnSource waits until the old server has a node's rows.
func (s *following) sameOnSource(i int) {
	s.Helper()
	s.awaitSource(sourceRows, s.socket(i, sourceRows))
}
