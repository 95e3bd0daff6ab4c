package arbitrator

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// start starts a garbd under a name of its own.
func (a *arbitrator) start() {
	process := agentapi.ArbitratorName(strings.ToLower(rand.Text()[:10]))
	members := Group(a.config.Members, a.views, a.wanted.Socket, a.failures)
	proc, err := a.launch(process, members)
	if err != nil {
		a.failed("garbd could not be started: "+err.Error(), 0)
		return
	}
	a.Logger.Info("garbd started", "process", process, "sockets", a.wanted.Socket, "group",
		config.ClusterAddress(members))
	a.proc, a.process, a.run, a.pair = proc, process, a.wanted, certs.Bundle{}
	if usesTLS(a.run) {
		a.pair = a.installed
	}
	a.ordered, a.stopping, a.stopWhy, a.counted, a.since = false, time.Time{}, "", false, time.Now()
	a.proved = certs.ProofResult{}
	a.updateSubject()
	a.follow(proc)
}

// follow waits for the end of a garbd.
func (a *arbitrator) follow(proc *mariadbd.Process) {
	go func() {
		<-proc.Done()
		a.post(func() { a.onExit(proc) })
	}()
}

func (a *arbitrator) launch(process string, members []agentapi.Peer) (*mariadbd.Process, error) {
	for path, text := range map[string]string{
		a.Places.OpenSSLCnf(): a.wanted.OpenSSL,
		a.configFile():        a.wanted.File(a.config.Group(), process, a.primary, members),
	} {
		if err := datadir.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return mariadbd.Start(&a.table, mariadbd.Command{
		Path: a.garbd, Args: []string{"--cfg", a.configFile()}, Dir: a.Places.Run, Log: a.Output,
		Env: append(os.Environ(), "OPENSSL_CONF="+a.Places.OpenSSLCnf()),
	})
}

// stop asks garbd to leave its group, and ends it when it does not.
func (a *arbitrator) stop(why string) {
	switch {
	case a.stopping.IsZero():
		a.Logger.Info("garbd is stopped", "process", a.process, "why", why)
		a.stopping, a.stopWhy = time.Now(), why
		a.proc.Terminate()
	case time.Since(a.stopping) > stopTimeout:
		a.proc.Kill()
	}
}

// onExit notes the end of a garbd.
func (a *arbitrator) onExit(proc *mariadbd.Process) {
	if a.proc != proc {
		return
	}
	exit := proc.Exit()
	switch {
	case a.stopping.IsZero():
		a.restarts++
		a.failed(fmt.Sprintf("garbd ended by itself (%s)%s", exitMessage(exit), lastWords(exit.Lines)), exit.Code)
	case a.stopWhy == uncountedMessage:
		// One that was turned away keeps running, and its output is all there is to report.
		a.failed(fmt.Sprintf("garbd was stopped: %s%s", uncountedMessage, lastWords(exit.Lines)), exit.Code)
	}
	a.proc, a.process, a.counted = nil, "", false
	a.proved = certs.ProofResult{}
	a.updateSubject()
}

func (a *arbitrator) failed(message string, code int) {
	a.failures++
	a.retryAt = time.Now().Add(restartPause)
	a.failure = &agentapi.Failure{Reason: agentapi.FailureStart, Message: message, At: time.Now(), ExitCode: code}
	a.Logger.Warn(message)
}

func exitMessage(e mariadbd.Exit) string {
	if e.Signal != 0 {
		return e.Signal.String()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// lastWords are the last lines that report an error, after a colon.
func lastWords(lines []string) string {
	var out []string
	for _, l := range lines {
		if strings.Contains(l, "ERROR") || strings.Contains(l, "FATAL") || strings.Contains(l, "error") {
			out = append(out, strings.TrimSpace(l))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out[max(0, len(out)-3):], "; ")
}
