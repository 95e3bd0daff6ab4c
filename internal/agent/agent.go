// Package agent is PID 1 of a database pod. It starts, stops and watches mariadbd, knows where the
// member's data stand in the cluster's history, carries out the operator's orders, loads
// certificates, and proves what is encrypted.
//
// One goroutine, the loop, owns all state. Everything slow is done by workers, which hand their
// results back to the loop as events. After every event the loop puts the facts into a
// Situation, asks Next what follows from them, does that one thing, and publishes a Report.
package agent

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/examine"
	"github.com/galera-operator/galera-operator/internal/agent/gcache"
	"github.com/galera-operator/galera-operator/internal/agent/image"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/ordering"
	"github.com/galera-operator/galera-operator/internal/agent/room"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/volume"

	"github.com/galera-operator/galera-operator/internal/agent/notify"
	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agent/place"
	"github.com/galera-operator/galera-operator/internal/agent/procs"
	"github.com/galera-operator/galera-operator/internal/agent/prove"
	"github.com/galera-operator/galera-operator/internal/agent/report"
	"github.com/galera-operator/galera-operator/internal/agent/streams"
	"github.com/galera-operator/galera-operator/internal/agent/watch"
	"github.com/galera-operator/galera-operator/internal/agent/web"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Options are what an agent is started with.
type Options struct {
	// Name and Address are the pod's.
	Name, Address string
	Places        place.Places
	Version       string
	Logger        *slog.Logger
	// Output gets mariadbd's log lines.
	Output func(line string)
}

// defaultUser is the account name when the operating system knows none for our user id.
const defaultUser = "mysql"

// Run runs the agent until a signal ends it, mariadbd included.
func Run(ctx context.Context, o Options) error {
	if o.Name == "" || o.Address == "" {
		return fmt.Errorf("%s and %s must be set", agentapi.EnvPodName, agentapi.EnvPodIP)
	}
	if err := os.MkdirAll(o.Places.Run, 0o750); err != nil {
		return err
	}
	if err := procs.Adopt(); err != nil {
		o.Logger.Warn("cannot adopt orphans", "error", err)
	}
	a, err := newAgent(o)
	if err != nil {
		return err
	}
	defer a.conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := a.serve(ctx); err != nil {
		return err
	}
	if err := a.openVolume(); err != nil {
		return err
	}
	a.image.Look(ctx)
	a.startWatchers(ctx)
	return a.loop(ctx)
}

// agent is the composition. Its rooms and its state are the loop's, except for what a room says is safe for concurrent use;
// what workers share with the loop besides is safe for it.
type agent struct {
	Options
	user  string
	image image.Image // the loop's

	table   procs.Table
	reports *report.Store
	conn    *wsrep.Conn
	// evictions are asked for on the control port, beside the loop.
	evictions evictions
	silence   func(port uint16) (time.Duration, bool)
	answers   func(host net.IP, port uint16) (streams.Answer, bool)
	events    chan func()
	poll      wsrep.Poll
	vitals    web.Vitals
	volume    volume.Volume
	gcache    gcache.Cache // the loop's
	certs     certs.Room
	config    config.Room
	exam      examine.Room
	orders    ordering.Room
	prove     prove.Room
	asking    peers.Asking
	root      server.Root
	upgrade   server.Upgrade

	state
}

func newAgent(o Options) (*agent, error) {
	a := &agent{Options: o, user: osUser(), silence: streams.Silence, answers: streams.Answers, events: make(chan func(), 64)}
	a.volume.Open(o.Places, a.post, volume.NewWatch(func() error { return volume.Touch(o.Places.State) }, time.Now))
	a.gcache = gcache.New(o.Places, &a.volume, o.Logger)
	a.downSince = time.Now()
	loop := room.Loop{Post: a.post, Work: a.workerContext, Logger: o.Logger}
	a.image = image.New(loop, &a.table)
	conn, err := wsrep.Open(o.Places.Socket(), a.user)
	if err != nil {
		return nil, err
	}
	a.conn = conn
	a.poll = wsrep.NewPoll(conn.Status, func(s wsrep.Status) bool { return lifecycle.Serves(&s.Server) })
	a.evictions = evictions{logger: o.Logger, status: conn.Status, tell: conn.Evict,
		settling: func() { a.post(func() { a.forget.since = time.Now() }) }}
	a.reports = report.New(agentapi.Report{Name: o.Name, AgentVersion: o.Version, Image: a.image.ImageReport,
		Boot: bootID(), Phase: galera.PhaseExamining})
	a.certs.Open(loop, o.Places, conn, a.updateSubject)
	a.exam = examine.New(loop, o.Places, o.Address, &a.image, &a.table, &a.volume)
	a.orders = ordering.New(loop, &a.volume)
	a.prove.Open(a.post)
	a.asking.Open(o.Name, func() []agentapi.Peer { return a.prove.Subject().Peers }, func(asked time.Time, views map[string]agentapi.PeerView) {
		a.post(func() { a.onPeers(asked, views) })
	})
	a.root = server.NewRoot(loop, o.Places, conn.EnsureRoot)
	a.upgrade = server.NewUpgrade(loop, o.Places, &a.table, a.user)
	a.config = config.New(loop, o.Places, config.Member{Name: o.Name, Address: o.Address, User: a.user}, &a.image, &a.table, conn,
		config.Events{Taken: a.configTaken, Applied: a.updateSubject})
	return a, nil
}

func osUser() string {
	u, err := user.LookupId(fmt.Sprint(os.Getuid()))
	if err != nil || u.Username == "" {
		return defaultUser
	}
	return u.Username
}

func bootID() string { return fmt.Sprintf("%x-%d", time.Now().UnixNano(), os.Getpid()) }

// serve opens the two ports and the notify socket.
func (a *agent) serve(ctx context.Context) error {
	a.vitals.Beat()
	probe := web.Probe{
		Reports:    a.reports,
		Alive:      a.vitals.Alive,
		DonorReady: a.vitals.DonorReady,
		Counters:   a.vitals.Counters,
		Free:       a.volume.Free,
	}
	if err := web.Serve(ctx, agentapi.ProbePort, probe.Handler(), nil, a.Logger); err != nil {
		return err
	}
	control := web.Control{Reports: a.reports, Order: a.takeOrder, Primary: func(name string) {
		a.post(func() { a.primary = name })
	}, Evict: a.evictions.evict,
		Accounts: wsrep.BenchAccounts{Logger: a.Logger, Status: a.conn.Status, Make: a.conn.MakeBenchAccount, Drop: a.conn.DropBenchAccount}.Keep}
	conf := web.TLSConfig(func() web.Identity { return web.Identity(a.certs.Identity()) })
	if err := web.Serve(ctx, agentapi.ControlPort, control.Handler(), conf, a.Logger); err != nil {
		return err
	}
	return notify.Listen(ctx, a.Places.NotifySocket(), func(e notify.Event) {
		a.post(func() { a.onNotify(e) })
	})
}

// startWatchers starts everything that feeds the loop.
func (a *agent) startWatchers(ctx context.Context) {
	go watch.Dirs(ctx, []string{a.Places.Config, a.Places.TLS, a.Places.Root}, func() { a.post(a.onFiles) })
	go a.asking.Run(ctx)
	go a.prove.Run(ctx)
	go a.volume.Run(ctx)
}
