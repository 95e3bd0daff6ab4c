package process

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// data determines what the data directory holds. It changes nothing that could be data. served reports whether the
// member may have been in a component; keys are those that a server is started with.
func (r *Examiner) data(ctx context.Context, served bool, keys map[string]string) (Found, error) {
	p := r.places
	if err := os.RemoveAll(p.InitDir()); err != nil {
		return Found{}, err
	}
	note, err := r.markers.Joining()
	if err != nil {
		return Found{}, err
	}
	contents, err := datadir.Inspect(p.Data)
	if err != nil {
		return Found{}, err
	}
	found := Found{Data: datadir.Classify(contents, note)}
	found.SSTInterrupted = note != nil && note.SST && (note.Address == "" || note.Address == r.address)
	if found.Data != galera.DataPresent {
		return found, nil
	}
	if found.Versions, err = r.markers.Versions(p.Data); err != nil {
		return found, err
	}
	if galera.Older(r.image.ServerVersion, found.Versions.Used) {
		return newerData(found, p.Data, note), nil
	}
	if err := datadir.CheckKeys(p.Data, r.markers, keys); err != nil {
		return found, err
	}
	found, err = r.findPosition(ctx, found, note, served)
	if err != nil && ctx.Err() == nil && !served && r.markers.Initialising() {
		r.loop.Logger.Warn("the first database cannot be used, and has never been in a component", "error", err)
		return r.discardUninitialised()
	}
	found.Marked = found.Marked || note != nil && note.Marked
	return found, err
}

// newerData determines where data of a later series stand without starting mariadbd on them: by grastate.dat after a
// clean stop, else by the joining marker's start position.
func newerData(found Found, dir string, note *datadir.Joining) Found {
	found.Newer = found.Versions.Used
	if grastate, err := datadir.ReadGrastate(dir); err == nil && grastate.Position.Known() {
		found.Position, found.SafeToBootstrap = grastate.Position, grastate.SafeToBootstrap
	} else if note != nil {
		found.Position = note.From
	}
	return found
}

// findPosition trusts grastate.dat when it names a position, and asks InnoDB otherwise.
func (r *Examiner) findPosition(ctx context.Context, found Found, note *datadir.Joining, served bool) (Found, error) {
	grastate, grastateErr := datadir.ReadGrastate(r.places.Data)
	if grastateErr == nil {
		found.SafeToBootstrap = grastate.SafeToBootstrap
		if grastate.Position.Known() {
			found.Position = grastate.Position
			return found, nil
		}
	}
	started := time.Now()
	recovered, err := mariadbd.Recover(ctx, r.table, mariadbd.Command{
		Path: r.image.Mariadbd, Args: mariadbd.Args(r.places), Env: mariadbd.Env(r.places), Dir: r.places.Data,
	})
	if err != nil {
		return found, err
	}
	pos := recovered.Position
	found.StartPosition = recovered.Start
	r.loop.Logger.Info("position recovered", "position", pos.String(), "took", time.Since(started).Round(time.Millisecond).
		String())
	if !pos.Known() && !served && r.markers.Initialising() {
		return r.discardUninitialised()
	}
	marked := ""
	if grastateErr == nil {
		marked = grastate.Position.UUID
	}
	found = judgeRecovered(found, pos, marked, note)
	if r.markers.VotedOut() {
		found.Marked, found.VotedOut = true, true
		found.Trouble = &agentapi.Failure{Reason: agentapi.FailureInconsistent,
			Message: fmt.Sprintf(
				"this node was voted out: the group found its data, at %s, inconsistent; an SST will replace them", pos)}
	}
	return found, nil
}

// judgeRecovered judges a recovered position against the UUID in grastate.dat, which is
// "" when there is no such file, and the note of an unfinished join.
//
// Galera writes the zero UUID there while a statement runs that changes tables (the server may then hold a part of it),
// when it asks for a state transfer, and for good when the group has voted the server out. A joiner that has received
// nothing and applied nothing holds what it held before.
func judgeRecovered(found Found, pos galera.Position, marked string, note *datadir.Joining) Found {
	switch {
	case !pos.Known():
		found.Trouble = &agentapi.Failure{Reason: agentapi.FailureRecovery,
			Message: "the data directory holds a database without a Galera position; the operator did not create it, and a " +
				"join would replace it by SST"}
	case marked == galera.ZeroUUID:
		found.Position = pos
		found.Marked = note == nil || note.SST || note.From != pos
	case marked != "" && marked != pos.UUID:
		found.Trouble = &agentapi.Failure{Reason: agentapi.FailureRecovery,
			Message: fmt.Sprintf("grastate.dat names the history %s, the database %s", marked, pos.UUID)}
	default:
		found.Position = pos
	}
	return found
}

// discardUninitialised removes a database that an Initialise order made and that never was in a component: its
// initialisation was interrupted, or no server starts on it. It holds no write-set: the line of history is recorded
// before root's password is set, and before a report names the component, so that no client had an account.
func (r *Examiner) discardUninitialised() (Found, error) {
	r.loop.Logger.Warn("removing a database whose initialisation did not end: it holds no write-set")
	if err := os.RemoveAll(r.places.Data); err != nil {
		return Found{}, err
	}
	if err := datadir.SyncDir(r.places.Volume); err != nil {
		return Found{}, err
	}
	return Found{Data: galera.DataEmpty}, r.markers.ClearInitialising()
}
