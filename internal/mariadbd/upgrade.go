package mariadbd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	// upgradeTimeout bounds mariadb-upgrade, which checks every table once, and reads none.
	upgradeTimeout = 2 * time.Hour
	// upgradeRetryInterval is the pause after an attempt that failed.
	upgradeRetryInterval = time.Minute
)

// Upgrade lets mariadb-upgrade run on a member that serves with system tables of another series. Not safe for
// concurrent use; event loop only.
//
// mariadb-upgrade runs SET SQL_LOG_BIN=0, WSREP_ON=OFF by itself, so that nothing of it is replicated: each member does
// it for itself, in its turn, and those that are not upgraded yet see nothing. A second run is harmless.
type Upgrade struct {
	loop   eventloop.Loop
	places platform.Places
	table  *platform.ProcessTable
	user   string

	shown   *agentapi.Upgrade
	failure *agentapi.Failure
	busy    bool
	retryAt time.Time
}

// NewUpgrade returns an Upgrade that has not run. user is the account on the socket that needs no password.
func NewUpgrade(loop eventloop.Loop, places platform.Places, table *platform.ProcessTable, user string) Upgrade {
	return Upgrade{loop: loop, places: places, table: table, user: user}
}

// Upgrading is what there may be to do for a server that serves.
type Upgrading struct {
	// From is the version of the system tables, To that of the
	From, To string
	// Record notes on the volume that the tables are of To; a worker calls it. Done notifies the loop.
	Record func() error
	Done   func()
	// Running reports whether the server is still the same, and not stopping.
	Running func() bool
}

// Check begins an upgrade where the system tables are of another series than the
func (u *Upgrade) Check(up Upgrading) {
	if u.busy {
		return
	}
	if galera.SameSeries(up.From, up.To) {
		if u.failure != nil { // meanwhile the data were replaced
			u.shown, u.failure, u.retryAt = nil, nil, time.Time{}
		}
		return
	}
	if time.Now().Before(u.retryAt) {
		return
	}
	u.busy = true
	u.shown = &agentapi.Upgrade{From: up.From, To: up.To, State: agentapi.UpgradeRunning, StartedAt: time.Now()}
	u.loop.Logger.Info("mariadb-upgrade begins", "from", u.shown.From, "to", u.shown.To)
	ctx, cancel := u.loop.Work(upgradeTimeout)
	go func() {
		defer cancel()
		err := u.tables(ctx)
		if err == nil {
			err = up.Record()
		}
		u.loop.Post(func() { u.onEnded(up, err) })
	}()
}

func (u *Upgrade) onEnded(up Upgrading, err error) {
	now := time.Now()
	u.busy, u.shown.EndedAt = false, &now
	if err == nil {
		u.shown.State, u.failure = agentapi.UpgradeDone, nil
		up.Done()
		u.loop.Logger.Info("mariadb-upgrade has ended", "to", u.shown.To, "took",
			now.Sub(u.shown.StartedAt).Round(time.Millisecond).String())
		return
	}
	u.shown.State = agentapi.UpgradeFailed
	if !up.Running() {
		return // the server has gone; the next one does it
	}
	u.retryAt = now.Add(upgradeRetryInterval)
	u.failure = &agentapi.Failure{Reason: agentapi.FailureUpgrade, At: now,
		Message: fmt.Sprintf("mariadb-upgrade to %s failed, and is tried again: %v", u.shown.To, err)}
	u.loop.Logger.Error("mariadb-upgrade failed", "error", err)
}

// Failure is why the last upgrade failed, nil when it did not.
func (u *Upgrade) Failure() *agentapi.Failure { return u.failure }

// Report adds the last upgrade.
func (u *Upgrade) Report(r *agentapi.Report) {
	if u.shown != nil {
		shown := *u.shown
		r.Upgrade = &shown
	}
}

// tables runs mariadb-upgrade.
func (u *Upgrade) tables(ctx context.Context) error {
	tool := First("mariadb-upgrade", "mysql_upgrade")
	if tool == "" {
		return fmt.Errorf("the image has no mariadb-upgrade")
	}
	return runClient(ctx, u.table, u.places, u.user, Command{Path: tool, Args: []string{"--skip-write-binlog"}})
}

// runClient runs a client program over the socket, as the account that needs no password.
func runClient(ctx context.Context, table *platform.ProcessTable, places platform.Places, user string,
	c Command) error {
	options := fmt.Sprintf("[client]\nsocket=%s\nuser=%s\nskip-ssl\n", places.Socket(), user)
	if err := datadir.WriteFile(places.UpgradeCnf(), []byte(options), 0o600); err != nil {
		return err
	}
	c.Args = append([]string{"--defaults-file=" + places.UpgradeCnf()}, c.Args...)
	c.Env, c.Dir = Env(places), places.Tmp
	exit, err := Run(ctx, table, c)
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

// Busy returns which upgrade is in progress, "" when none is.
func (u *Upgrade) Busy() string {
	if u.busy {
		return "mariadb-upgrade is in progress"
	}
	return ""
}
