package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/image"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	// upgradeTime bounds mariadb-upgrade, which looks at every table once, and into none.
	upgradeTime = 2 * time.Hour
	// upgradeAgain is the pause after an attempt that failed.
	upgradeAgain = time.Minute
)

// upgradeState is how far mariadb-upgrade has got.
type upgradeState struct {
	shown   *agentapi.Upgrade
	failure *agentapi.Failure
	busy    bool
	retryAt time.Time
}

// checkUpgrade lets mariadb-upgrade run on a member that serves with system tables of another series. It says
// SET SQL_LOG_BIN=0, WSREP_ON=OFF by itself, so that nothing of it is replicated: each member does it
// for itself, in its turn, and those that are not upgraded yet see nothing. A second run is harmless.
func (a *agent) checkUpgrade() {
	u := &a.upgrade
	if u.busy || !Serves(a.status) || !a.run.served || a.run.stopping {
		return
	}
	if galera.SameSeries(a.versions.Tables, a.image.ServerVersion) {
		if u.failure != nil { // meanwhile the data were replaced
			*u = upgradeState{}
		}
		return
	}
	if time.Now().Before(u.retryAt) {
		return
	}
	u.busy = true
	u.shown = &agentapi.Upgrade{From: a.versions.Tables, To: a.image.ServerVersion, State: agentapi.UpgradeRunning, StartedAt: time.Now()}
	a.Logger.Info("mariadb-upgrade begins", "from", u.shown.From, "to", u.shown.To)
	proc, done := a.proc, made(a.image.ServerVersion)
	ctx, cancel := a.workerContext(upgradeTime)
	go func() {
		defer cancel()
		err := a.upgradeTables(ctx)
		if err == nil {
			err = a.markers.SetVersions(done)
		}
		a.post(func() { a.onUpgraded(proc, err) })
	}()
}

func (a *agent) onUpgraded(proc *server.Process, err error) {
	u, now := &a.upgrade, time.Now()
	u.busy, u.shown.EndedAt = false, &now
	if err == nil {
		u.shown.State, u.failure = agentapi.UpgradeDone, nil
		a.versions = made(u.shown.To)
		a.Logger.Info("mariadb-upgrade has ended", "to", u.shown.To, "took", now.Sub(u.shown.StartedAt).Round(time.Millisecond).String())
		return
	}
	u.shown.State = agentapi.UpgradeFailed
	if a.proc != proc || a.run.stopping {
		return // the server has gone; the next one does it
	}
	u.retryAt = now.Add(upgradeAgain)
	u.failure = &agentapi.Failure{Reason: agentapi.FailureUpgrade, At: now,
		Message: fmt.Sprintf("mariadb-upgrade to %s failed, and is tried again: %v", u.shown.To, err)}
	a.Logger.Error("mariadb-upgrade failed", "error", err)
}

// upgradeTables runs mariadb-upgrade over the socket, as the account that needs no password.
func (a *agent) upgradeTables(ctx context.Context) error {
	tool := image.First("mariadb-upgrade", "mysql_upgrade")
	if tool == "" {
		return fmt.Errorf("the image has no mariadb-upgrade")
	}
	options := fmt.Sprintf("[client]\nsocket=%s\nuser=%s\nskip-ssl\n", a.Places.Socket(), a.user)
	if err := datadir.WriteFile(a.Places.UpgradeCnf(), []byte(options), 0o600); err != nil {
		return err
	}
	exit, err := server.Run(ctx, &a.table, server.Command{
		Path: tool, Args: []string{"--defaults-file=" + a.Places.UpgradeCnf(), "--skip-write-binlog"}, Env: server.Env(a.Places), Dir: a.Places.Tmp,
	})
	if err != nil {
		return err
	}
	if exit.Code != 0 {
		return fmt.Errorf("%s: %s", exit.String(), lastLines(exit.Lines, 3))
	}
	return nil
}

func lastLines(lines []string, n int) string {
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
