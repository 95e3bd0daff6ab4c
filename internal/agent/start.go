package agent

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

const installTimeout = 10 * time.Minute

// ToJoin starts mariadbd to join the component of the decision.
func (r *Starter) ToJoin(v lifecycle.JoinDecision) {
	found := &r.Exam.Found
	found.NeedsSST = v.SST
	note := r.Join.Prepare()
	run := process.Run{From: note.From, Note: &note}
	incomplete := note.SST && found.Data != galera.DataEmpty
	if found.Newer != "" {
		r.loop.Logger.Warn("the data were used by a later MariaDB: an SST will replace them", "version", found.Newer)
		found.Position = galera.Position{}
	}
	used := r.used()
	r.loop.Logger.Info("joining", "from", found.Position.String(), "data", found.Data, "sst", note.SST || note.Marked)
	args := slices.Concat(found.Args(true), r.donorArgs(), r.addressArgs(), r.methodArgs())
	start := func() {
		// JudgeJoin found no write-set here that the component lacks, so the data belong to its lines of history
		// from now on, even if the agent does not see the join end.
		r.Orders.SetLineage(v.Line, func(error) {})
		r.launch(run, func() error {
			// The marker comes first: what Clean removes may be the only other trace of an SST.
			if err := r.markers.SetJoining(note); err != nil {
				return err
			}
			switch {
			case note.Marked:
				if err := datadir.ForgetSeqno(r.places.Data); err != nil {
					return err
				}
			case !note.SST:
				if err := r.markers.SetVersions(used); err != nil {
					return err
				}
			}
			return datadir.Clean(r.places.Data, incomplete)
		}, args)
	}
	if !note.Marked {
		start()
		return
	}
	// Data that need an SST must not get the component's lines before the marker records it.
	r.job = lifecycle.JobLaunch
	r.Volume.Do(func() error { return r.markers.SetJoining(note) }, func(err error) {
		r.job = lifecycle.JobNone
		switch {
		case err != nil:
			r.onLaunched(run, nil, err)
		case r.loop.Draining():
			r.Exam.Done = false
		default:
			start()
		}
	})
}

// Bootstrap starts the present database as a new component. The order is on the volume already.
func (r *Starter) Bootstrap() {
	order := *r.Orders.Current
	pos := order.Position
	run := process.Run{Kind: agentapi.OrderBootstrap, Order: order.ID, Formed: pos.UUID, From: pos}
	r.Join.Clear()
	if r.Exam.Found.Position != pos || r.Exam.Found.Data != galera.DataPresent || r.Exam.Found.Newer != "" ||
		r.Exam.Found.VotedOut {
		// orders.Judge has checked that; a bootstrap at any other position would lose acknowledged writes.
		r.endRun(run, "the member cannot be bootstrapped at the order's position any more")
		return
	}
	if why := r.OtherPrimary(); why != "" {
		r.endRun(run, why)
		return
	}
	r.loop.Logger.Info("bootstrapping", "order", order.ID, "position", pos.String())
	r.job = lifecycle.JobLaunch // the line is on the disk before anything is started
	line := order.Line(pos)
	line.Copied = r.Exam.Found.Marked
	r.Orders.Record(r.Orders.BeginLine(line), func(err error) {
		r.job = lifecycle.JobNone
		switch why := r.OtherPrimary(); {
		case err != nil:
			r.endRun(run, orders.Unwritten(err).Error())
		case r.Orders.Current == nil || r.Orders.Current.ID != run.Order || r.Orders.OutOfDate():
			r.Exam.Done = false
		case why != "" || r.loop.Draining():
			r.endRun(run, cmp.Or(why, "the pod is terminating"))
		default:
			r.launchBootstrap(run, pos)
		}
	})
}

// OtherPrimary returns which other member is Primary, so that no second component may be formed; "" when none is.
func (r *Starter) OtherPrimary() string {
	if others := lifecycle.PrimaryPeers(r.Group.Views); len(others) > 0 {
		return others[0].Name + " has become Primary meanwhile"
	}
	return ""
}

// launchBootstrap starts mariadbd as a component of its own.
func (r *Starter) launchBootstrap(run process.Run, pos galera.Position) {
	used, judged := r.used(), r.Orders.JudgedAt
	r.launch(run, func() error {
		if err := r.markers.SetVersions(used); err != nil {
			return err
		}
		if err := datadir.Clean(r.places.Data, false); err != nil {
			return err
		}
		if err := r.markers.ClearJoining(); err != nil {
			return err
		}
		if err := r.markers.ClearInitialising(); err != nil { // the data may hold writes from now on
			return err
		}
		if time.Since(judged) > 2*orders.JudgementTTL { // a frozen volume; the order was recorded in time
			return errors.New("the data volume took too long: another member may have been made Primary since")
		}
		return datadir.PermitBootstrap(r.places.Data, pos)
	}, append(r.Exam.Found.Args(false), "--wsrep-new-cluster"))
}

// Initialise makes a new database and starts it as the first component.
func (r *Starter) Initialise() {
	r.job = lifecycle.JobInitialise
	order := *r.Orders.Current
	r.Join.Clear()
	r.loop.Logger.Info("initialising", "order", order.ID)
	ctx, cancel := r.loop.Work(installTimeout)
	started, wait, version := time.Now(), r.Volume.After(), r.Image.ServerVersion
	maker := mariadbd.Maker{Table: r.Table, Places: r.places, Server: r.Image.Mariadbd, User: r.member.User,
		Version: version,
		Settings: slices.Concat(mycnf.AtCreation(r.Config.Node.Settings),
			config.AtRestOptions(r.places, r.Config.Node.AtRest)), Log: r.events.Install}
	go func() {
		defer cancel()
		wait()
		err := maker.Make(ctx)
		asked := time.Now()
		views := r.Group.AskOnce(ctx)
		r.loop.Post(func() {
			r.job = lifecycle.JobNone
			if err != nil {
				r.initialiseFailed(order.ID, err)
				return
			}
			r.loop.Logger.Info("database made", "took", time.Since(started).Round(time.Millisecond).String())
			r.Group.Decide(asked, views)
			if why := orders.NotAlone(slices.Collect(maps.Values(views))); why != "" {
				r.initialiseFailed(order.ID, errors.New(why))
				return
			}
			r.launchInitialised(order)
		})
	}()
}

// launchInitialised starts mariadbd on a database that was made for an order.
func (r *Starter) launchInitialised(order agentapi.Order) {
	if r.Orders.Current == nil || r.Orders.Current.ID != order.ID {
		r.Exam.Done = false // the order was superseded: what was made has no history and goes
		return
	}
	r.Exam.Found = process.Found{Data: galera.DataPresent}
	r.Exam.Versions = made(r.Image.ServerVersion)
	run := process.Run{Kind: agentapi.OrderInitialise, Order: order.ID, Line: order.Line(galera.Position{})}
	r.launch(run, func() error { return datadir.Clean(r.places.Data, false) }, []string{"--wsrep-new-cluster"})
}

func (r *Starter) initialiseFailed(id string, err error) {
	r.Exam.Done = false
	f := &agentapi.Failure{Reason: agentapi.FailureInitialisation, Message: err.Error(), At: time.Now()}
	if strings.Contains(strings.ToLower(err.Error()), "no space left") {
		f.Reason = agentapi.FailureDiskFull
	}
	r.Run.Fail(f)
	r.Orders.Finish(id, agentapi.OrderFailed, err.Error())
}
