// Package agent composes the agent, and runs its loop: every package below has one subject.
package agent

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/accounts"
	"github.com/galera-operator/galera-operator/internal/agent/backup"
	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/follow"
	"github.com/galera-operator/galera-operator/internal/agent/join"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agent/scan"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/eventloop"

	"github.com/galera-operator/galera-operator/internal/agent/handover"
	"github.com/galera-operator/galera-operator/internal/mariadbd"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"

	"github.com/galera-operator/galera-operator/internal/agent/metrics"

	"github.com/galera-operator/galera-operator/internal/agent/orders"

	"github.com/galera-operator/galera-operator/internal/datadir"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/platform"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Options are what an agent is started with.
type Options struct {
	// Name, Namespace and Address are the pod's.
	Name, Namespace, Address string
	Places                   platform.Places
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
	if err := platform.AdoptOrphans(); err != nil {
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
		running := process.ServerOf(before.Components[runningName])
		if err := a.guard.Inherit(before.Components[leaseName], running); err != nil {
			return nil, err
		}
		a.reports.Continue(before.Report)
		a.role.primary, a.role.proxied = before.Primary, before.Report.Proxied
		knowMembers(a)
	}
	go a.guard.Run(ctx) // what follows may wait for the volume
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
		a.follow.TakenOver()
	}
	a.startWatchers(ctx)
	return a, nil
}

// knowMembers lets a successor answer the other members while it reads its files, as its predecessor did: the answer of
// a member of a Primary component keeps others from being bootstrapped.
func knowMembers(a *agent) {
	var c agentapi.NodeConfig
	data, err := os.ReadFile(filepath.Join(a.Places.Config, agentapi.ConfigKey))
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err == nil && c.CheckNamespace(a.Namespace) == nil {
		a.group.SetMembers(c.Identity(), c.Members)
	}
}

// agent is the composition. Its components belong to the event loop, except for what is documented as safe for
// concurrent use.
type agent struct {
	Options
	user string

	queue   *eventloop.Queue
	table   platform.ProcessTable
	reports *api.ReportStore
	conn    *wsrep.Conn
	poll    wsrep.Poll
	vitals  api.Vitals
	latency platform.LatencyMeter
	exited  bool
	role    primaryRole

	// What the member has.
	image  mariadbd.Image
	volume datadir.Volume
	config config.Manager
	certs  certs.Reloader
	gcache join.GCache
	exam   process.Examiner
	// The peers, and what is sent to the group.
	group     api.Peers
	evictions wsrep.Evictions
	evicted   wsrep.Forgetting
	distance  wsrep.WindowTuner
	// What runs, and what is to run.
	orders   orders.Store
	commands Executor
	run      process.Supervisor
	start    Starter
	joiner   join.JoinerTracker
	logged   ownLog
	donor    join.DonorTracker
	serving  *process.Maintainer
	follow   *follow.Follower
	guard    *follow.Guard
	prove    certs.ProofMonitor
	backup   *backup.Streamer
	scan     scan.Monitor

	sockets  platform.SocketSet
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
	a.build(platform.StreamSilence, platform.StreamAnswers)
	return a, nil
}

// build gives every component its dependencies. silence and answers observe the connections of transfers.
func (a *agent) build(silence func(uint16) (time.Duration, bool), answers func(net.IP, uint16) (platform.StreamAnswer,
	bool)) {
	o, conn, loop := a.Options, a.conn, a.queue.Loop(a.Logger)
	a.volume.Open(o.Places, a.queue.Post, datadir.NewVolumeWatch(
		func() error { return datadir.TouchVolume(o.Places.State) }, time.Now))
	a.gcache = join.NewGCache(o.Places, &a.volume, o.Logger)
	a.image = mariadbd.NewImage(loop, &a.table)
	a.reports = newReports(o, &a.image)
	a.poll = wsrep.NewPoll(conn.Status, func(s wsrep.Status) bool { return lifecycle.Serves(&s.Server) })
	a.evicted = wsrep.NewForgetting(loop, conn.ForgetEvicted)
	a.evictions = wsrep.Evictions{Logger: o.Logger, Status: conn.Status, EvictServer: conn.Evict,
		Settling: func() { a.queue.Post(a.evicted.Begin) }}
	a.distance = wsrep.NewWindowTuner(loop, conn, func() (time.Duration, bool) { return platform.RoundTrip(wsrep.Port) })
	a.prove.Open(a.queue.Post)
	a.scan.Open(o.Places, a.queue.Post)
	a.group.Open(o.Name, credentials(a), func(asked time.Time, views map[string]agentapi.PeerView) {
		a.queue.Post(func() { a.onPeers(asked, views) })
	})
	member := config.Member{Name: o.Name, Namespace: o.Namespace, Address: o.Address, User: a.user}
	a.certs.Open(loop, o.Places, conn, a.updateSubject)
	a.config = config.NewManager(loop, o.Places, member, &a.image, &a.table, conn,
		config.Events{Taken: a.onConfig, Applied: a.updateSubject})
	a.orders = orders.NewStore(loop, &a.volume)
	a.run = process.NewSupervisor(loop, o.Name, o.Places.LastRun(), &a.table, conn, &a.volume, &a.group,
		process.SupervisorEvents{Changed: a.updateSubject, Line: a.serverLine})
	a.logged = newOwnLog(a, loop)
	a.exam = process.NewExaminer(loop, o.Places, o.Address, &a.image, &a.table, &a.volume, &a.run.Attempts,
		func() orders.Content { return a.orders.Content() },
		func() error { return a.orders.Damaged() }, func() map[string]string { return a.config.KeysForStart() },
		a.config.Blame)
	a.joiner = join.NewJoinerTracker(loop, o.Places, o.Address, silence, join.Dependencies{
		Run: &a.run, Group: &a.group, Volume: &a.volume, Config: &a.config, Image: &a.image, Exam: &a.exam},
		join.Events{Judge: a.judgeServer, Copied: forgetFormerData(a), Unproved: func() error {
			return backup.ForgetMarks(a.Places.Data)
		}})
	a.donor = join.NewDonorTracker(loop, o.Places, &a.run, &a.config, answers)
	a.start = NewStarter(loop, o.Places, member, StarterDependencies{
		Run: &a.run, Join: &a.joiner, Donor: &a.donor, Config: &a.config, Image: &a.image, Exam: &a.exam, Orders: &a.orders,
		Cache: &a.gcache, Certs: &a.certs, Group: &a.group, Volume: &a.volume, Table: &a.table, Overwrite: a.scan.Overwrite,
	}, StarterEvents{Launched: a.onLaunched, Line: a.serverLine, Install: o.Output})
	a.commands = NewExecutor(loop, ExecutorDependencies{
		Orders: &a.orders, Run: &a.run, Start: &a.start, Exam: &a.exam, Group: &a.group, Image: &a.image, Config: &a.config},
		conn.RebuildQuorum)
	own := &accounts.Own{DB: conn.DB(), User: a.user}
	a.serving = process.NewMaintainer(loop, o.Places.State,
		accounts.NewRootKeeper(loop, o.Places, accounts.Root{DB: conn.DB()}.Keep),
		mariadbd.NewUpgrade(loop, o.Places, &a.table, a.user),
		mariadbd.NewZones(loop, o.Places, &a.table, a.user, conn.Zones), mariadbd.NewAria(loop, o.Places, conn.Rebuild),
		process.MaintainerDependencies{Run: &a.run, Config: &a.config, Certs: &a.certs, Exam: &a.exam, Image: &a.image,
			Orders: &a.orders, Volume: &a.volume},
		process.MaintainerEvents{KeepOwn: own.Keep, ForgetOwn: own.Forget, Scheduling: scheduling(a), Blocked: conn.Blocked,
			Judge: a.judgeServer, Refuses: func() bool { return a.follow.Refuses() }})
	a.guard = follow.NewGuard(a.Logger, platform.SinceBoot, a.reports.Get().Boot)
	a.follow = follow.New(loop, o.Places, o.Name, wsrep.Channel{Conn: conn}, following(a))
	a.backup = backup.New(loop, o.Places, &a.table, &a.image, &a.run, a.user,
		func() galera.Line { return a.orders.Content().Lineage.Line }, func() (keys backup.Keys, err error) {
			keys.Fingerprints, keys.Algorithm, err = a.config.ServerKeys()
			return keys, err
		}, func(ctx context.Context) (map[string]string, error) { return backup.Created(ctx, conn.DB()) })
	a.handover = handover.New(loop, handedOver(a))
}

// credentials returns what the other members are asked with.
func credentials(a *agent) func() api.Credentials {
	return func() api.Credentials {
		id := a.certs.Identity()
		return api.Credentials{Pair: id.Pair, CAs: id.CAs}
	}
}

// forgetFormerData returns what removes all that is known of data which an SST has replaced.
func forgetFormerData(a *agent) func() error {
	return func() error {
		return errors.Join(a.scan.Forget(), a.logged.forget(), backup.ForgetMarks(a.Places.Data))
	}
}

// newReports returns the report of an agent that knows nothing of its server yet.
func newReports(o Options, image *mariadbd.Image) *api.ReportStore {
	return api.NewReportStore(agentapi.Report{Name: o.Name, Cluster: agentapi.Identity{Namespace: o.Namespace},
		AgentVersion: o.Version, AgentDigest: o.Digest, AgentArch: runtime.GOARCH, Image: image.ImageReport,
		Boot: bootID(), Phase: galera.PhaseExamining})
}

// Names of components that a successor needs first.
const (
	runningName = "running"
	leaseName   = "lease"
)

// handedOver are the components that the successor of an agent takes over.
func handedOver(a *agent) handover.Components {
	return handover.Components{
		Parts: []handover.Part{&a.start, &a.orders, &a.commands, a.serving, a.follow, &a.volume, &a.evicted, a.backup},
		Keepers: []handover.Named{{Name: "examine", Keeper: &a.exam}, {Name: "config", Keeper: &a.config},
			{Name: "certs", Keeper: &a.certs},
			{Name: "joiner", Keeper: &a.joiner}, {Name: "donor", Keeper: &a.donor}, {Name: "prove", Keeper: &a.prove},
			{Name: runningName, Keeper: &a.run}, {Name: leaseName, Keeper: a.guard}},
		Sockets: &a.sockets, Table: &a.table, Report: a.reports.Get, Primary: func() string { return a.role.primary },
	}
}

// scheduling returns what the server's events are read, run and changed by.
func scheduling(a *agent) process.Scheduling {
	scheduler := wsrep.Scheduler{Conn: a.conn}
	return process.Scheduling{Group: &a.group,
		Asked: func(run bool) bool {
			if a.config.Node != nil {
				run = a.config.Node.RunEvents
			}
			return run && a.role.primary == a.Name && !a.queue.Draining() && !a.follow.Ended()
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
	probe := api.ProbeHandler{
		Reports:    a.reports,
		Alive:      a.vitals.Alive,
		DonorReady: a.vitals.DonorReady,
		Metrics:    metrics.NewHandler(metrics.NewCollector(metrics.NodeFamilies(), a.facts), metrics.NewServer(a.conn.DB())),
	}
	if err := api.Serve(ctx, &a.sockets, agentapi.ProbePort, probe.Handler(), nil, a.Logger); err != nil {
		return err
	}
	keeper := &accounts.Keeper{Logger: a.Logger, DB: a.conn.DB(), Status: a.conn.Status}
	control := api.ControlHandler{Users: keeper.Users, Databases: keeper.Database,
		Reports: a.reports, Order: a.commands.Take, Primary: func(p agentapi.Primary) {
			a.queue.Post(func() { a.role.setPrimary(a.Name, p, time.Now()) })
		}, Evict: a.evictions.Evict, Replace: a.handover.Take, AdmitBackup: a.backup.Admit,
		Align: (&wsrep.Numbers{Conn: a.conn}).Align,
		ChangeEvents: func(changes []agentapi.EventChange) {
			a.queue.Post(func() { a.serving.ChangeEvents(changes) })
		}}
	identity := func() api.ControlIdentity { return api.ControlIdentity(a.certs.Identity()) }
	if err := api.Serve(ctx, &a.sockets, agentapi.ControlPort, control.Handler(), api.TLSConfig(identity),
		a.Logger); err != nil {
		return err
	}
	p := api.PeerHandler{Reports: a.reports, Identity: identity, Members: a.group.Members,
		Renew: a.guard.Renew}
	if err := api.Serve(ctx, &a.sockets, agentapi.PeerPort, p.Handler(), p.TLSConfig(), a.Logger); err != nil {
		return err
	}
	given := a.backup.TLSConfig(func() *tls.Certificate { return a.certs.Identity().Pair })
	// Not handed over: an agent is not replaced during a backup, and a successor that does not know a socket would keep it
	// open.
	if err := api.Serve(ctx, &platform.SocketSet{}, agentapi.BackupPort, a.backup.Handler(), given, a.Logger); err != nil {
		return err
	}
	return wsrep.ListenForNotifications(ctx, &a.sockets, a.Places.NotifySocket(), func(e wsrep.Notification) {
		a.queue.Post(func() { a.onNotify(e) })
	})
}

// startWatchers starts everything that feeds the loop.
func (a *agent) startWatchers(ctx context.Context) {
	dirs := []string{a.Places.Config, a.Places.TLS, a.Places.Root, a.Places.Keys}
	go platform.WatchDirs(ctx, dirs, func() { a.queue.Post(a.onFiles) })
	go a.group.Run(ctx)
	go a.prove.Run(ctx)
	go a.scan.Run(ctx)
	go a.volume.Run(ctx)
	go a.latency.Run(ctx)
}
