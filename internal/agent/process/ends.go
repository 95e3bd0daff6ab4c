package process

import (
	"log/slog"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// CountEnd counts how a run ended; donor is that of the join it was in, "" when none is known.
func (r *Supervisor) CountEnd(run Run, exit mariadbd.Exit, orderly bool, donor string) {
	switch {
	case run.MustTerminate, run.GivenUp: // counted when that was decided
	case orderly:
		r.Attempts.Stop()
	case run.Served:
		f := crash(exit)
		f.Reason, f.Message = agentapi.FailureStart, "mariadbd ended while it served: "+f.Message
		r.Attempts.Restarts++
		r.Attempts.Crash(f, time.Now())
		r.loop.Logger.Error("mariadbd crashed", "message", f.Message)
	default:
		r.Attempts.Restarts++
		if f := brokenTransfer(run, exit, donor); f != nil {
			r.failTransfer(f, donor)
		} else {
			r.Fail(crash(exit))
			if mariadbd.Passes(exit) && r.Attempts.Failed == 1 {
				r.Attempts.Failure = nil // nothing to report: the next attempt begins at once
			}
		}
	}
	if run.Note != nil && run.Note.SST {
		r.Attempts.RecordInterruptedSST(time.Now())
	}
}

// crash describes the end of a server that was not stopped.
func crash(exit mariadbd.Exit) *agentapi.Failure {
	return &agentapi.Failure{Reason: mariadbd.Classify(exit.Lines), ExitCode: exit.Code, At: time.Now(),
		Message: exit.String()}
}

// brokenTransfer describes the failed state transfer that ended a joiner, nil when there was none. A joiner that was
// killed is no evidence about its transfer.
func brokenTransfer(run Run, exit mariadbd.Exit, donor string) *agentapi.Failure {
	if run.Note == nil || exit.Signal == syscall.SIGKILL || !run.Note.SST && !mariadbd.TransferBroke(exit) {
		return nil
	}
	f := crash(exit)
	f.Reason, f.Message = mariadbd.TransferFailure(exit)
	kind := agentapi.JoinIST
	if run.Note.SST {
		kind = agentapi.JoinSST
	}
	if donor != "" {
		f.Message = kind + " from " + donor + " failed: " + f.Message
	}
	return f
}

// Fail counts a failed attempt.
func (r *Supervisor) Fail(f *agentapi.Failure) {
	r.Attempts.Fail(f, time.Now())
	logDown(r.loop.Logger, f)
}

func (r *Supervisor) failTransfer(f *agentapi.Failure, donor string) {
	r.Attempts.FailTransfer(f, donor, time.Now())
	logDown(r.loop.Logger, f)
}

func logDown(logger *slog.Logger, f *agentapi.Failure) {
	logger.Error("mariadbd is down", "reason", f.Reason, "message", f.Message)
}
