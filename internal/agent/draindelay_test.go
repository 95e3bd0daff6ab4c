//go:build integration

package agent_test

import (
	"context"
	"database/sql"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// rootPassword: the password before is accepted until the overlap ends.
func (s *scenario) rootPassword() {
	const next, overlap = "another one", 6 * time.Second
	n := s.node(1)
	publish := func(word, overlap string) {
		for _, n := range s.world.nodes {
			n.mount("root", map[string][]byte{agentapi.RootPasswordKey: []byte(word), agentapi.RootOverlapKey: []byte(overlap)})
		}
	}
	until := func(what string, ok func() bool) {
		s.Helper()
		for deadline := time.Now().Add(90 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				s.Fatal(what)
			}
		}
	}
	refused := func(password string) bool {
		var answer *mysql.MySQLError
		return errors.As(n.login(password), &answer) && answer.Number == 1045
	}
	published := time.Now() // the password changes after that, whenever it is seen
	publish(next, overlap.String())
	until("the new password is not accepted", func() bool {
		if refused(rootPassword) && time.Since(published) < overlap {
			s.Fatal("the old password is refused before the new one is accepted")
		}
		return n.login(next) == nil
	})
	until("the old password is accepted for ever", func() bool { return refused(rootPassword) })
	if took := time.Since(published); took < overlap {
		s.Errorf("the old password was refused after %s", took)
	}
	check(s.T, n.login(next))
	publish(rootPassword, "0s")
	until("the first password is not accepted again", func() bool { return n.login(rootPassword) == nil })
	if n.login(next) == nil {
		s.Error("an overlap that is not wanted")
	}
}

// TestDrainDelay is not parallel to others: it is about seconds.
func TestDrainDelay(t *testing.T) {
	s := &scenario{T: t, world: newWorld(t, 2, nil)}
	s.wait()
	s.form()
	s.drainDelay()
}

// drainDelay: the pod of the primary terminates. It serves on until its role has moved, ends idle connections, and lets
// transactions end: one that was there before, and one that begins meanwhile.
func (s *scenario) drainDelay() {
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	report := func(primary string) {
		for _, n := range s.world.nodes {
			check(s.T, s.world.client.ReportPrimary(ctx, n.ip, agentapi.Primary{Name: primary}))
		}
	}
	n, other := s.node(1), s.node(0)
	do := func(c *sql.Conn, statement string) {
		s.Helper()
		if _, err := c.ExecContext(ctx, statement); err != nil {
			s.Fatalf("%s: %v", statement, err)
		}
	}
	report(n.name)
	writer, idle, late := n.session(), n.session(), n.session()
	do(writer, "CREATE TABLE app.farewell (id INT PRIMARY KEY)")
	do(writer, "BEGIN")
	do(writer, "INSERT INTO app.farewell VALUES (1)")

	s.world.run(exec.Command("docker", "kill", "-s", "TERM", n.container()))
	n.until("terminating, and serving", 60*time.Second, func(r agentapi.Report) bool {
		return r.Draining && r.Phase == galera.PhaseRunning && strings.Contains(r.Waiting, "new clients")
	})
	if code := n.probe(agentapi.PathReady); code == 200 {
		s.Error("it is ready for more")
	}
	do(n.session(), "INSERT INTO app.farewell VALUES (2)")
	asleep := make(chan error, 1)
	go func() {
		// until others have been sent away; between two statements of its own it would be idle, and be ended with them
		_, err := late.ExecContext(ctx, "DO SLEEP(1.8); BEGIN; INSERT INTO app.farewell VALUES (5)")
		asleep <- err
	}()
	report(other.name)
	for deadline := time.Now().Add(60 * time.Second); ; { // between login and statement a connection is idle, too
		_, err := n.session().ExecContext(ctx, "REPLACE INTO app.farewell VALUES (3)")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			s.Fatal(err)
		}
	}
	for deadline := time.Now().Add(60 * time.Second); idle.PingContext(ctx) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatal("an idle connection is not ended")
		}
	}
	do(writer, "INSERT INTO app.farewell VALUES (4)")
	do(writer, "COMMIT")
	check(s.T, <-asleep)
	time.Sleep(300 * time.Millisecond) // as an application that thinks
	do(late, "COMMIT")
	s.Logf("ended %s after that", n.stop(true).Round(time.Millisecond))
	if got := other.mustSQL("SELECT GROUP_CONCAT(id ORDER BY id) FROM app.farewell"); got != "1,2,3,4,5" {
		s.Errorf("rows %s", got)
	}
	n.start()
	s.all(60 * time.Second)
}
