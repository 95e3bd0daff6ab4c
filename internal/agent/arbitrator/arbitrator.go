// Package arbitrator is PID 1 of the arbitrator's pod. It runs garbd, Galera's member without data, with the
// encryption and the certificates that are published for the nodes; it reports whether they count it, and
// proves what is encrypted.
//
// One goroutine, the loop, owns all state. After every event it puts the facts into a Situation, asks
// Next what follows, does that, and publishes a Report.
package arbitrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/handover"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// Options are what an arbitrator is started with.
type Options struct {
	// Name, Namespace and Address are the pod's.
	Name, Namespace, Address string
	Places                   platform.Places
	// Version is of the build, Digest the SHA-256 of this program in hexadecimal.
	Version, Digest string
	Logger          *slog.Logger
	// Output gets garbd's log lines.
	Output func(line string)
	// LogFormat takes the format the operator has published; nil ignores it.
	LogFormat func(format string)
}

const (
	// paceFast is how often members are asked while garbd is not counted.
	paceFast = 500 * time.Millisecond
	paceIdle = 2 * time.Second
	// stopTimeout is what garbd is given to leave its group; it needs a tenth of a second.
	stopTimeout = 10 * time.Second
	// restartPause follows a garbd that ended by itself.
	restartPause = 2 * time.Second
)

// arbitrator holds what workers and the loop share.
type arbitrator struct {
	Options
	table   platform.ProcessTable
	asker   *api.Asker
	prover  *certs.Prover
	reports *api.ReportStore
	events  chan func()
	subject atomic.Pointer[certs.ProofSubject]
	ident   atomic.Pointer[api.ControlIdentity]
	beat    atomic.Int64
	pace    atomic.Int64
	sockets platform.SocketSet

	handover handover.Replacer
	state
}

// state belongs to the loop.
type state struct {
	garbd, version string
	cpuFlags       []string
	config         *agentapi.NodeConfig
	configProblem  string
	wanted         config.Arbitrator
	published      certs.Bundle
	installed      certs.Bundle
	views          map[string]agentapi.PeerView
	proved         certs.ProofResult
	draining       bool
	primary        string // the member clients are sent to

	// The running garbd: what it is called and what it was started with.
	proc     *mariadbd.Process
	process  string
	run      config.Arbitrator
	pair     certs.Bundle
	ordered  bool
	stopping time.Time
	stopWhy  string
	counted  bool
	since    time.Time // when it was counted last, or started

	restarts int
	failures int
	retryAt  time.Time
	failure  *agentapi.Failure
}

// Run runs the arbitrator until a signal ends it, garbd included. One that was started by another agent continues with
// its garbd, or goes back to it.
func Run(ctx context.Context, o Options) error {
	before, err := handover.Taken()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := begin(ctx, o, before)
	if err != nil {
		if before == nil {
			return err
		}
		return errors.Join(err, handover.Return(*before, err))
	}
	a.loop(ctx)
	return nil
}

// begin starts everything but the loop; before is the state of the agent before, nil when there was none.
func begin(ctx context.Context, o Options, before *handover.State) (*arbitrator, error) {
	if o.Name == "" || o.Namespace == "" || o.Address == "" {
		return nil, fmt.Errorf("%s, %s and %s must be set", agentapi.EnvPodName, agentapi.EnvPodNamespace, agentapi.EnvPodIP)
	}
	if err := platform.AdoptOrphans(); err != nil {
		o.Logger.Warn("cannot adopt orphans", "error", err)
	}
	a := newArbitrator(ctx, o)
	if before != nil {
		if err := a.handover.Sockets(before); err != nil {
			return nil, err
		}
		a.reports.Continue(before.Report)
		a.primary = before.Primary
	}
	if err := a.serve(ctx); err != nil {
		return nil, err
	}
	if before != nil {
		if err := a.handover.Load(before); err != nil {
			return nil, err
		}
	}
	a.readFiles()
	go platform.WatchDirs(ctx, []string{o.Places.Config, o.Places.TLS}, func() { a.post(a.readFiles) })
	go a.askPeers(ctx)
	go a.prover.Run(ctx)
	return a, nil
}

func newArbitrator(ctx context.Context, o Options) *arbitrator {
	if o.LogFormat == nil {
		o.LogFormat = func(string) {}
	}
	a := &arbitrator{Options: o, events: make(chan func(), 64)}
	a.asker = api.NewAsker(func() api.Credentials {
		id := a.ident.Load()
		return api.Credentials{Pair: id.Pair, CAs: id.CAs}
	})
	a.garbd, a.cpuFlags = mariadbd.FindProgram("garbd"), mariadbd.CPUFlags()
	a.reports = api.NewReportStore(agentapi.Report{Name: o.Name, Cluster: agentapi.Identity{Namespace: o.Namespace},
		AgentVersion: o.Version, AgentDigest: o.Digest, AgentArch: runtime.GOARCH, Phase: galera.PhaseWaiting,
		Boot: fmt.Sprintf("%x-%d", time.Now().UnixNano(), os.Getpid())})
	a.subject.Store(&certs.ProofSubject{})
	a.ident.Store(&api.ControlIdentity{})
	a.pace.Store(int64(paceFast))
	a.prover = certs.NewProver(func() certs.ProofSubject { return *a.subject.Load() }, func(r certs.ProofResult) {
		a.post(func() { a.proved = r })
	})
	a.version = garbdVersion(ctx, &a.table, a.garbd)
	a.adoptInstalled()
	a.handover = handover.New(eventloop.Loop{Post: a.post, Draining: func() bool { return a.draining }, Logger: o.Logger},
		handover.Components{
			Keepers: []handover.Named{{Name: "garbd", Keeper: keeper{a}}},
			Sockets: &a.sockets, Table: &a.table, Report: a.reports.Get, Primary: func() string { return a.primary },
		})
	return a
}

func (a *arbitrator) post(event func()) { a.events <- event }

// loop turns until the pod's end has been prepared.
func (a *arbitrator) loop(ctx context.Context) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a broken log pipe must not end it
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for !a.step() {
		select {
		case event := <-a.events:
			event()
		case <-signals:
			a.draining = true
		case <-ctx.Done():
			a.draining = true
			ctx = context.Background()
		case <-ticker.C:
			a.table.Reap()
		}
		a.beat.Store(time.Now().UnixNano())
	}
}

// step takes the next step, and reports whether it was the last.
func (a *arbitrator) step() (done bool) {
	a.observe()
	step := Next(a.situation())
	switch step.Act {
	case Start:
		a.start()
	case Stop:
		a.stop(step.Why)
	case Exit:
		done = true
	}
	a.publish(step)
	return done
}

// observe brings up to date whether the members count garbd.
func (a *arbitrator) observe() {
	a.counted = a.proc != nil && Counted(a.views, a.process)
	pace := paceFast
	if a.counted {
		a.since, a.failures, a.failure, pace = time.Now(), 0, nil, paceIdle
	}
	a.pace.Store(int64(pace))
}

func (a *arbitrator) situation() Situation {
	s := Situation{
		Missing: a.garbd == "", Draining: a.draining, Pause: time.Now().Before(a.retryAt),
		Running: a.proc != nil, Ordered: a.ordered, Stale: a.stale(), Counted: a.counted, Uncounted: time.Since(a.since),
		Reloading: time.Now().Before(a.subject.Load().NotBefore),
	}
	switch {
	case a.config == nil:
		s.Waiting = "waiting for the configuration"
		return s
	case config.NeedsGroupPair(a.config.TLS) && a.installed.ID == "":
		s.Waiting = "waiting for a certificate"
	}
	s.Peers = summarise(a.config.Members, a.views)
	return s
}

// stale reports whether the running garbd would be started otherwise now.
func (a *arbitrator) stale() bool {
	return a.proc != nil && (a.run.Hash != a.wanted.Hash || usesTLS(a.run) && a.pair.ID != a.installed.ID)
}

func usesTLS(s config.Arbitrator) bool {
	return s.Socket == galera.SocketStrict || s.Socket == galera.SocketDynamic
}

// askPeers asks the members over and over.
func (a *arbitrator) askPeers(ctx context.Context) {
	for ctx.Err() == nil {
		if s := a.subject.Load(); len(s.Peers) > 0 {
			views := a.asker.Ask(ctx, s.Cluster, s.Peers, "")
			a.post(func() { a.views = views })
		}
		wait := time.NewTimer(time.Duration(a.pace.Load()))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}

// garbdVersion reads "INFO: 26.4.23.r…", or 4.23 of Debian, as the provider's own version is written.
func garbdVersion(ctx context.Context, table *platform.ProcessTable, path string) string {
	if path == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	exit, err := mariadbd.Run(ctx, table, mariadbd.Command{Path: path, Args: []string{"--version"}, Env: os.Environ()})
	if err != nil {
		return ""
	}
	_, version, _ := strings.Cut(strings.Join(exit.Lines, " "), "INFO: ")
	version, _, _ = strings.Cut(version, ".r")
	return strings.TrimSpace(version)
}

// configFile is where garbd reads its settings.
func (a *arbitrator) configFile() string { return filepath.Join(a.Places.Run, "garbd.cnf") }
