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
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"runtime"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/accounts"
	"github.com/galera-operator/galera-operator/internal/agent/backup"
	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/distance"
	"github.com/galera-operator/galera-operator/internal/agent/donor"
	"github.com/galera-operator/galera-operator/internal/agent/eventloop"
	"github.com/galera-operator/galera-operator/internal/agent/examine"
	"github.com/galera-operator/galera-operator/internal/agent/gcache"
	"github.com/galera-operator/galera-operator/internal/agent/handover"
	"github.com/galera-operator/galera-operator/internal/agent/image"
	"github.com/galera-operator/galera-operator/internal/agent/joiner"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/mariadbd"
	"github.com/galera-operator/galera-operator/internal/agent/metrics"
	"github.com/galera-operator/galera-operator/internal/agent/metrics/mysqld"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agent/orders/commands"
	"github.com/galera-operator/galera-operator/internal/agent/orders/ordering"
	"github.com/galera-operator/galera-operator/internal/agent/running"
	"github.com/galera-operator/galera-operator/internal/agent/serving"
	"github.com/galera-operator/galera-operator/internal/agent/starting"
	"github.com/galera-operator/galera-operator/internal/agent/volume"

	"github.com/galera-operator/galera-operator/internal/agent/notify"
	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agent/platform/latency"
	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agent/platform/procs"
	"github.com/galera-operator/galera-operator/internal/agent/platform/sockets"
	"github.com/galera-operator/galera-operator/internal/agent/platform/watch"
	"github.com/galera-operator/galera-operator/internal/agent/prove"
	"github.com/galera-operator/galera-operator/internal/agent/report"
	"github.com/galera-operator/galera-operator/internal/agent/sst/streams"
	"github.com/galera-operator/galera-operator/internal/agent/web"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Options are what an agent is started with.
type Options struct {
	// Name, Namespace and Address are the pod's.
	Name, Namespace, Address string
	Places                   paths.Places
	// Version is that of the build, Digest the SHA-256 of the program in hexadecimal.
	Version, Digest string
	Logger          *slog.Logger
	// Output gets mariadbd's log lines.
	Output func(line string)
	// LogFormat takes the format the operator has published; nil ignores it.
	LogFormat func(format string)
}

// defaultUser is the account name when the operating system knows none for our user id.
const defaultUser = "mysql"

// Run runs the agent until a signal ends it, mariadbd included. One that was started by another agent continues with
// its mariadbd, or goes back to it.
func Run(ctx context.Context, o Options) error {
	before, err := handover.Taken()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := start(ctx, o, before)
	if err != nil {
		if before == nil {
			return err
		}
		return errors.Join(err, handover.Return(*before, err))
	}
	defer a.conn.Close()
	return a.loop(ctx)
}

// start starts everything but the loop; before is the state of the agent before, nil when there was none.
func start(ctx context.Context, o Options, before *handover.State) (*agent, error) {
	if o.Name == "" || o.Namespace == "" || o.Address == "" {
		return nil, fmt.Errorf("%s, %s and %s must be set", agentapi.EnvPodName, agentapi.EnvPodNamespace, agentapi.EnvPodIP)
	}
	if err := os.MkdirAll(o.Places.Run, 0o750); err != nil {
		return nil, err
	}
	if err := procs.AdoptOrphans(); err != nil {
		o.Logger.Warn("cannot adopt orphans", "error", err)
	}
	a, err := newAgent(o)
	if err != nil {
		return nil, err
	}
	a.certs.Adopt()
	if before != nil {
		if err := a.handover.Sockets(before); err != nil {
			return nil, err
		}
		a.reports.Continue(before.Report)
		a.role.primary = before.Primary
	}
	if err := a.serve(ctx); err != nil {
		return nil, err
	}
	a.openVolume(a.initState)
	a.image.ReadVersions(ctx)
	if before != nil {
		if err := a.handover.Load(before); err != nil {
			return nil, err
		}
	}
	a.onFiles()
	if a.run.Proc != nil {
		a.onLaunched(a.run.Proc)
		a.serving.TakenOver()
	}
	a.startWatchers(ctx)
	return a, nil
}

// agent is the composition. Its components belong to the event loop, except for what is documented as safe for
// concurrent use.
type agent struct {
	Options
	user string

	queue   *eventloop.Queue
	table   procs.ProcessTable
	reports *report.ReportStore
	conn    *wsrep.Conn
	poll    wsrep.Poll
	vitals  web.Vitals
	latency latency.LatencyMeter
	exited  bool
	role    primaryRole

	// What the member has.
	image  image.Image
	volume volume.Volume
	config config.Manager
	certs  certs.Reloader
	gcache gcache.GCache
	exam   examine.Examiner
	// The peers, and what is sent to the group.
	group     peers.Peers
	evictions wsrep.Evictions
	evicted   wsrep.Forgetting
	distance  distance.WindowTuner
	// What runs, and what is to run.
	orders   ordering.Store
	commands commands.Executor
	run      running.Supervisor
	start    starting.Starter
	joiner   joiner.JoinerTracker
	donor    donor.DonorTracker
	serving  serving.Maintainer
	prove    prove.ProofMonitor
	backup   *backup.Streamer

	sockets  sockets.SocketSet
	handover handover.Replacer
}

func newAgent(o Options) (*agent, error) {
	if o.LogFormat == nil {
		o.LogFormat = func(string) {}
	}
	conn, err := wsrep.Open(o.Places.Socket(), osUser())
	if err != nil {
		return nil, err
	}
	a := &agent{Options: o, user: osUser(), queue: eventloop.NewQueue(), conn: conn}
	a.build(streams.StreamSilence, streams.StreamAnswers)
	return a, nil
}

// build gives every component its dependencies. silence and answers observe the connections of transfers.
func (a *agent) build(silence func(uint16) (time.Duration, bool), answers func(net.IP, uint16) (streams.StreamAnswer, bool)) {
	o, conn, loop := a.Options, a.conn, a.queue.Loop(a.Logger)
	a.volume.Open(o.Places, a.queue.Post, volume.NewVolumeWatch(func() error { return volume.TouchVolume(o.Places.State) }, time.Now))
	a.gcache = gcache.NewGCache(o.Places, &a.volume, o.Logger)
	a.image = image.NewImage(loop, &a.table)
	a.reports = report.NewReportStore(agentapi.Report{Name: o.Name, Cluster: agentapi.Identity{Namespace: o.Namespace},
		AgentVersion: o.Version,
		AgentDigest:  o.Digest, AgentArch: runtime.GOARCH, Image: a.image.ImageReport,
		Boot: bootID(), Phase: galera.PhaseExamining})
	a.poll = wsrep.NewPoll(conn.Status, func(s wsrep.Status) bool { return lifecycle.Serves(&s.Server) })
	a.evicted = wsrep.NewForgetting(loop, conn.ForgetEvicted)
	a.evictions = wsrep.Evictions{Logger: o.Logger, Status: conn.Status, EvictServer: conn.Evict,
		Settling: func() { a.queue.Post(a.evicted.Begin) }}
	a.distance = distance.NewWindowTuner(loop, conn, func() (time.Duration, bool) { return streams.RoundTrip(distance.Port) })
	a.prove.Open(a.queue.Post)
	credentials := func() peers.Credentials {
		id := a.certs.Identity()
		return peers.Credentials{Pair: id.Pair, CAs: id.CAs}
	}
	a.group.Open(o.Name, credentials, func(asked time.Time, views map[string]agentapi.PeerView) {
		a.queue.Post(func() { a.onPeers(asked, views) })
	})
	member := config.Member{Name: o.Name, Namespace: o.Namespace, Address: o.Address, User: a.user}
	a.certs.Open(loop, o.Places, conn, a.updateSubject)
	a.config = config.NewManager(loop, o.Places, member, &a.image, &a.table, conn,
		config.Events{Taken: a.onConfig, Applied: a.updateSubject})
	a.orders = ordering.NewStore(loop, &a.volume)
	a.run = running.NewSupervisor(loop, o.Name, o.Places.LastRun(), &a.table, conn, &a.volume, &a.group,
		running.SupervisorEvents{Changed: a.updateSubject, Line: a.serverLine})
	a.exam = examine.NewExaminer(loop, o.Places, o.Address, &a.image, &a.table, &a.volume, &a.run.Attempts,
		func() orders.Content { return a.orders.Content() },
		func() error { return a.orders.Damaged() }, a.config.Blame)
	a.joiner = joiner.NewJoinerTracker(loop, o.Places, o.Address, silence, joiner.Dependencies{
		Run: &a.run, Group: &a.group, Volume: &a.volume, Config: &a.config, Image: &a.image, Exam: &a.exam},
		joiner.Events{Judge: a.judgeServer})
	a.donor = donor.NewDonorTracker(loop, o.Places, &a.run, &a.config, answers)
	a.start = starting.NewStarter(loop, o.Places, member, starting.Dependencies{
		Run: &a.run, Join: &a.joiner, Donor: &a.donor, Config: &a.config, Image: &a.image, Exam: &a.exam, Orders: &a.orders,
		Cache: &a.gcache, Certs: &a.certs, Group: &a.group, Volume: &a.volume, Table: &a.table,
	}, starting.Events{Launched: a.onLaunched, Line: a.serverLine, Install: o.Output})
	a.commands = commands.NewExecutor(loop, commands.ExecutorDependencies{
		Orders: &a.orders, Run: &a.run, Start: &a.start, Exam: &a.exam, Group: &a.group, Image: &a.image, Config: &a.config},
		conn.RebuildQuorum)
	own := &accounts.Own{DB: conn.DB(), User: a.user}
	a.serving = serving.NewMaintainer(loop, o.Places.State, mariadbd.NewRootKeeper(loop, o.Places, accounts.Root{DB: conn.DB()}.Keep),
		mariadbd.NewUpgrade(loop, o.Places, &a.table, a.user),
		serving.MaintainerDependencies{Run: &a.run, Config: &a.config, Certs: &a.certs, Exam: &a.exam, Image: &a.image,
			Orders: &a.orders, Volume: &a.volume},
		serving.MaintainerEvents{KeepOwn: own.Keep, ForgetOwn: own.Forget, Scheduling: scheduling(a), Blocked: conn.Blocked,
			Judge: a.judgeServer})
	a.backup = backup.New(loop, o.Places, &a.table, &a.image, &a.run, a.user,
		func() galera.Line { return a.orders.Content().Lineage.Line })
	a.handover = handover.New(loop, handover.Components{
		Parts: []handover.Part{&a.start, &a.orders, &a.commands, &a.serving, &a.volume, &a.evicted, a.backup},
		Keepers: []handover.Named{{Name: "examine", Keeper: &a.exam}, {Name: "config", Keeper: &a.config},
			{Name: "certs", Keeper: &a.certs},
			{Name: "joiner", Keeper: &a.joiner}, {Name: "donor", Keeper: &a.donor}, {Name: "prove", Keeper: &a.prove},
			{Name: "running", Keeper: &a.run}},
		Sockets: &a.sockets, Table: &a.table, Report: a.reports.Get, Primary: func() string { return a.role.primary },
	})
}

// scheduling returns what the server's events are read, run and changed by.
func scheduling(a *agent) serving.Scheduling {
	scheduler := wsrep.Scheduler{Conn: a.conn}
	return serving.Scheduling{Group: &a.group,
		Asked: func() bool {
			return a.config.Node != nil && a.config.Node.RunEvents && a.role.primary == a.Name && !a.queue.Draining()
		},
		Published: func() string { return a.reports.Get().Scheduler },
		Read:      scheduler.Read, Open: scheduler.Open, Close: scheduler.Close, Change: scheduler.Change,
	}
}

func osUser() string {
	u, err := user.LookupId(fmt.Sprint(os.Getuid()))
	if err != nil || u.Username == "" {
		return defaultUser
	}
	return u.Username
}

func bootID() string { return fmt.Sprintf("%x-%d", time.Now().UnixNano(), os.Getpid()) }

// serve opens the ports and the notify socket.
func (a *agent) serve(ctx context.Context) error {
	a.vitals.Beat()
	probe := web.ProbeHandler{
		Reports:    a.reports,
		Alive:      a.vitals.Alive,
		DonorReady: a.vitals.DonorReady,
		Metrics:    metrics.NewHandler(metrics.NewCollector(metrics.NodeFamilies(), a.facts), mysqld.NewServer(a.conn.DB())),
	}
	if err := web.Serve(ctx, &a.sockets, agentapi.ProbePort, probe.Handler(), nil, a.Logger); err != nil {
		return err
	}
	keeper := &accounts.Keeper{Logger: a.Logger, DB: a.conn.DB(), Status: a.conn.Status}
	control := web.ControlHandler{Users: keeper.Users, Databases: keeper.Database,
		Reports: a.reports, Order: a.commands.Take, Primary: func(name string) {
			a.queue.Post(func() { a.role.setPrimary(a.Name, name, time.Now()) })
		}, Evict: a.evictions.Evict, Replace: a.handover.Take, AdmitBackup: a.backup.Admit,
		ChangeEvents: func(changes []agentapi.EventChange) {
			a.queue.Post(func() { a.serving.ChangeEvents(changes) })
		},
		Accounts: wsrep.BenchAccounts{Logger: a.Logger, Status: a.conn.Status, Make: a.conn.MakeBenchAccount,
			Drop: a.conn.DropBenchAccount}.Keep}
	identity := func() web.ControlIdentity { return web.ControlIdentity(a.certs.Identity()) }
	if err := web.Serve(ctx, &a.sockets, agentapi.ControlPort, control.Handler(), web.TLSConfig(identity),
		a.Logger); err != nil {
		return err
	}
	p := web.PeerHandler{Reports: a.reports, Identity: identity, Members: a.group.Members}
	if err := web.Serve(ctx, &a.sockets, agentapi.PeerPort, p.Handler(), p.TLSConfig(), a.Logger); err != nil {
		return err
	}
	given := a.backup.TLSConfig(func() *tls.Certificate { return a.certs.Identity().Pair })
	// Not handed over: an agent is not replaced during a backup, and a successor that does not know a socket would keep it
	// open.
	if err := web.Serve(ctx, &sockets.SocketSet{}, agentapi.BackupPort, a.backup.Handler(), given, a.Logger); err != nil {
		return err
	}
	return notify.ListenForNotifications(ctx, &a.sockets, a.Places.NotifySocket(), func(e notify.Notification) {
		a.queue.Post(func() { a.onNotify(e) })
	})
}

// startWatchers starts everything that feeds the loop.
func (a *agent) startWatchers(ctx context.Context) {
	go watch.WatchDirs(ctx, []string{a.Places.Config, a.Places.TLS, a.Places.Root}, func() { a.queue.Post(a.onFiles) })
	go a.group.Run(ctx)
	go a.prove.Run(ctx)
	go a.volume.Run(ctx)
	go a.latency.Run(ctx)
}
