package loading

import (
	"fmt"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// firstMessage describes what is done first.
func firstMessage(r *v1alpha1.GaleraRestore) string {
	if from := r.Spec.From.External; from != nil {
		return "checking the server " + from.Host
	}
	return "looking for the backup"
}

// inspecting follows the Job that checks another server, again and again until nothing keeps its tables from being
// copied.
func inspecting(to *v1alpha1.GaleraRestoreStatus, f Facts) Decision {
	switch {
	case f.Job.Done && f.Job.Result.Error != "":
		return failed(to, f, f.Job.Result)
	case f.Job.Done && f.Job.Result.Source == nil:
		return failed(to, f, task.Result{Error: "the check of the server has reported nothing"})
	case f.Job.Done && unsuitable(f):
		return foundUnsuitable(to, f)
	case f.Job.Done:
		to.External = server(f.Restore, *f.Job.Result.Source)
		if p := noRoom(f, to.External.Bytes); p.Reason != "" { // asked again with each pass, about what was checked
			set(to, f, p.Reason, p.Message, stalls(p.Reason))
			return Decision{RequeueAfter: PollInterval}
		}
		to.Phase = v1alpha1.RestoreLoading
		beginLoad(to, f)
		set(to, f, v1alpha1.ReasonAccessPreparing, "making an account for "+describe(f.Restore), false)
		return Decision{RequeueAfter: time.Second}
	}
	return waiting(to, f, Decision{Find: true, RequeueAfter: PollInterval})
}

// unsuitable reports whether a Job has found what keeps tables of another server from being copied.
func unsuitable(f Facts) bool {
	return f.Job.Result.Source != nil && len(f.Job.Result.Source.Findings) > 0
}

// foundUnsuitable reports the findings until the next check, which begins after a pause: a person corrects them. They
// use up none of the attempts.
func foundUnsuitable(to *v1alpha1.GaleraRestoreStatus, f Facts) Decision {
	to.External = server(f.Restore, *f.Job.Result.Source)
	to.Outages++
	begin(to, f)
	set(to, f, v1alpha1.ReasonSourceUnsuitable, restoration.Unsuitable(to.External.Findings), true)
	return Decision{RequeueAfter: time.Second}
}

func server(r *v1alpha1.GaleraRestore, is task.Source) *v1alpha1.RestoredServer {
	return &v1alpha1.RestoredServer{Version: is.Version, GTID: is.GTID, Bytes: is.Bytes,
		Tables: int32(min(is.Tables, 1<<30)), Plaintext: r.Spec.From.External.TLS == nil, //nolint:gosec // bounded
		LockedMilliseconds: is.LockedMilliseconds, Findings: restoration.Findings(is.Findings)}
}

// atWork describes what the Job that loads does.
func atWork(to *v1alpha1.GaleraRestoreStatus, r *v1alpha1.GaleraRestore) string {
	if from := r.Spec.From.External; from != nil {
		return fmt.Sprintf("copying %s from %s", describe(r), from.Host)
	}
	return fmt.Sprintf("restoring the backup %s%s on a temporary volume, and loading %s", to.ID, upTo(to.Replay),
		describe(r))
}

// progress is what is reported of how far the copy of another server is: nothing while no Job copies, and what was
// known before while it does not answer.
func progress(to *v1alpha1.GaleraRestoreStatus, f Facts) *v1alpha1.CopyProgress {
	if f.Restore.Spec.From.External == nil || to.Phase != v1alpha1.RestoreLoading || !f.Job.Exists || f.Job.Done ||
		f.Job.Foreign {
		return nil
	}
	return restoration.CopyProgress(to.Progress, f.Copied, f.Now)
}

// asIn describes what the tables were compared with.
func asIn(to *v1alpha1.GaleraRestoreStatus, r *v1alpha1.GaleraRestore) string {
	from := r.Spec.From.External
	if from == nil {
		return "in the backup " + to.ID + upTo(to.Replay)
	}
	out := "on " + from.Host
	if to.External.GTID != "" {
		out += " at " + to.External.GTID
	}
	if to.External.Plaintext {
		out += ", by a connection in clear text"
	}
	return out
}

// completeExternal reports what was copied of another server. An attempt that finds all loaded knows little of it.
func completeExternal(to *v1alpha1.GaleraRestoreStatus, f Facts, l task.Loaded) {
	if f.Restore.Spec.From.External == nil {
		return
	}
	if is := f.Job.Result.Source; is != nil {
		to.External = server(f.Restore, *is)
	}
	if to.External == nil {
		to.External = server(f.Restore, task.Source{})
	}
	to.External.GTID = l.GTID
}
