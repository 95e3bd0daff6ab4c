package agent

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/accounts"
	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/join"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// overwriteTimeout bounds how long a start waits for pages in clear to be overwritten: some hundred GiB. The next start
// continues.
const overwriteTimeout = time.Hour

// StarterDependencies are the components that a start uses.
type StarterDependencies struct {
	Run    *process.Supervisor
	Join   *join.JoinerTracker
	Donor  *join.DonorTracker
	Config *config.Manager
	Image  *mariadbd.Image
	Exam   *process.Examiner
	Orders *orders.Store
	Cache  *join.GCache
	Certs  *certs.Reloader
	Group  *api.Peers
	Volume *datadir.Volume
	Table  *platform.ProcessTable
	// Overwrite overwrites the pages in clear that the last server left unused. That one was stopped in order.
	Overwrite func(ctx context.Context) (pages int, err error)
}

// Starter starts mariadbd: to join a component, to bootstrap one from the present data, or to initialise a database.
// It reports what prevents a start. Not safe for concurrent use; event loop only.
type Starter struct {
	StarterDependencies

	job     lifecycle.Job
	loop    eventloop.Loop
	places  platform.Places
	member  config.Member
	markers datadir.Markers
	events  StarterEvents
}

// StarterEvents are callbacks into the event loop.
type StarterEvents struct {
	// Launched is called when a server has been started.
	Launched func(*mariadbd.Process)
	// Line gets the lines mariadbd prints, Install those of the tools that make the first database. Safe for concurrent
	// use.
	Line, Install func(line string)
}

// NewStarter returns the Starter of a member.
func NewStarter(loop eventloop.Loop, places platform.Places, member config.Member, deps StarterDependencies,
	events StarterEvents) Starter {
	return Starter{StarterDependencies: deps, loop: loop, places: places, member: member,
		markers: datadir.Markers{Dir: places.State}, events: events}
}

// Job is what the worker of a start, or of the examination, does at present.
func (r *Starter) Job() lifecycle.Job {
	if r.job != lifecycle.JobNone {
		return r.job
	}
	return r.Exam.Job()
}

// Starts reports whether there is a server, or whether one is about to be started.
func (r *Starter) Starts() bool { return r.Run.Proc != nil || r.job != lifecycle.JobNone }

// made are the versions of a database made by a server.
func made(version string) datadir.Versions { return datadir.Versions{Used: version, Tables: version} }

// used are the versions of the data here from the moment the image's server is started on them.
func (r *Starter) used() datadir.Versions {
	r.Exam.Versions.Used = r.Image.ServerVersion
	return r.Exam.Versions
}

// pluginArgs load the plugin by which the agent finds the connection that holds a lock, if the image has it. They are
// no settings: a server that runs without it goes on until it is restarted for another reason.
func pluginArgs(have func(name string) bool) []string {
	if !have(wsrep.LockPlugin) {
		return nil
	}
	return []string{"--plugin-load-add=" + wsrep.LockPlugin}
}

// launch prepares the data directory and starts mariadbd.
func (r *Starter) launch(run process.Run, prepare func() error, args []string) {
	r.job = lifecycle.JobLaunch
	run.Config = r.Config.ForStart()
	run.Certs = certs.Run{Provider: r.Config.Output.ProviderTLS(), Clients: r.Config.Output.ClientTLS(),
		Pair: r.Certs.Installed()}
	p := r.places
	command := mariadbd.Command{Path: r.Image.Mariadbd, Env: mariadbd.Env(p), Dir: p.Data, Log: r.events.Line}
	user, inMemory, keys := r.member.User, cacheInMemory(r.Config.Node), r.Config.KeysForStart()
	serverArgs, cacheArgs, wait := mariadbd.Args(p), r.Cache.Args(r.cacheRequest()), r.Volume.After()
	inOrder := r.Run.EndedInOrder
	go func() {
		wait()
		if inOrder {
			overwrite(r.loop, r.Overwrite)
		}
		command.Args = slices.Concat(serverArgs, cacheArgs(), []string{"--init-file=" + p.InitFile()},
			pluginArgs(mariadbd.HavePlugin), args)
		proc, err := mariadbd.Launch(r.Table, p, command, func() error {
			if err := os.WriteFile(p.InitFile(), []byte(accounts.InitFile(user)), 0o600); err != nil {
				return err
			}
			if inMemory {
				if err := datadir.RemoveCache(p.Data); err != nil {
					return err
				}
			}
			if err := r.markers.ExpectKeys(keys); err != nil {
				return err
			}
			if !run.Config.Output.WritesBinlog {
				if err := r.markers.ClearLoggedSince(); err != nil {
					return err
				}
			}
			return prepare()
		})
		r.loop.Post(func() { r.onLaunched(run, proc, err) })
	}()
}

// overwrite overwrites what is left in clear on the volume though no server uses it any more. What it cannot overwrite
// keeps no server from starting: it is named while that runs.
func overwrite(loop eventloop.Loop, do func(ctx context.Context) (pages int, err error)) {
	ctx, cancel := loop.Work(overwriteTimeout)
	defer cancel()
	began := time.Now()
	pages, err := do(ctx)
	if pages > 0 {
		loop.Logger.Info("overwrote pages in clear that InnoDB does not use", "pages", pages, "took",
			time.Since(began).Round(time.Millisecond).String())
	}
	if err != nil {
		loop.Logger.Error("pages in clear that InnoDB does not use could not be overwritten", "error", err)
	}
}

func (r *Starter) onLaunched(run process.Run, proc *mariadbd.Process, err error) {
	r.job = lifecycle.JobNone
	if err != nil {
		r.Run.Fail(notStarted(err))
		r.endRun(run, err.Error())
		return
	}
	r.Run.Began(run, proc)
	r.Donor.Began()
	r.Config.Started(proc.PID, run.Config)
	r.Certs.Started(proc.PID, run.Certs)
	r.Exam.Done = false // mariadbd may change what the examination found
	r.Group.Set(api.PaceJoining)
	r.events.Launched(proc)
}

// notStarted is why mariadbd was not started. The markers, written first, need free space on the volume.
func notStarted(err error) *agentapi.Failure {
	f := &agentapi.Failure{Reason: agentapi.FailureStart, Message: "mariadbd could not be started: " + err.Error(),
		At: time.Now()}
	if errors.Is(err, syscall.ENOSPC) {
		f.Reason = agentapi.FailureDiskFull
	}
	return f
}

// endRun ends the order a run was for.
func (r *Starter) endRun(run process.Run, why string) {
	if r.Orders.Current != nil && r.Orders.Current.ID == run.Order {
		r.Orders.Finish(run.Order, agentapi.OrderFailed, why)
	}
	if run.Kind != "" {
		r.Exam.Done = false
	}
}

// Busy implements handover.Part.
func (r *Starter) Busy() string {
	if r.job != lifecycle.JobNone {
		return "mariadbd is being started"
	}
	return ""
}
