package agent

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// state is what only the loop touches.
type state struct {
	job      lifecycle.Job
	draining bool
	exited   bool
	// drainContext ends when draining begins.
	drainContext context.Context
	endWork      context.CancelFunc

	waited bool // the first examination of this run of the agent is over

	// ended is the last run of mariadbd, when it ended without leaving its component.
	ended  *agentapi.Ended
	forget forgetting
	// downSince is when the last run that did not end in good order ended, or the agent started: with it, its
	// predecessor's server may have ended.
	downSince time.Time

	// Orders.
	markers   datadir.Markers
	heldSince time.Time // when the last Stop began
	restart   bool      // a Restart waits for mariadbd to go down
	sticky    *agentapi.Failure

	// The running server.
	proc     *server.Process
	run      running
	status   *agentapi.Server
	view     wsrep.View
	service  wsrep.Service
	missed   int // statuses in a row that could not be read
	position galera.Position
	restarts int
	failure  *agentapi.Failure
	failures int // failed attempts in a row
	retryAt  time.Time
	// quietUntil is when the donor of a transfer that was cut off is sure to have given up; nothing
	// shortens it.
	quietUntil time.Time
	join       *agentapi.Join
	// failedDonor is the donor of the last attempt, when that failed in a full transfer.
	failedDonor string
	own         ownData
	primary     string           // the member clients are sent to, as the operator says; "" while not known
	versions    datadir.Versions // of the data, as far as known
	watchUntil  time.Time        // the others are looked at often until then

	peers     map[string]agentapi.PeerView
	peersFrom time.Time // what was asked before does not count
	verdict   lifecycle.JoinVerdict
}

// running is what is known of one run of mariadbd.
type running struct {
	kind      agentapi.OrderKind // Initialise, Bootstrap, or "" for a join
	order     string             // id of the order that started it
	formed    string             // UUID a bootstrap goes on with
	config    config.Run
	certs     certs.Run
	from      galera.Position  // before a join
	epoch     int64            // of an initialisation
	note      *datadir.Joining // the join's note, nil when it is over
	served    bool             // was Synced once
	stopping  bool
	stopAt    time.Time // when patience with a stop ends
	patience  time.Duration
	condemned bool
	// lining says that the first line is on its way into the book, lined that it is there; noting and born the same of the removal of an
	// initialisation's note, completing of that of a join's.
	lining, lined, noting, born, completing bool
	hang                                    hanging
	follow                                  following
	notes                                   int // of the transfer scripts, read so far
	// nowhereSince is when the run began to lead nowhere; givenUp says that it was ended for it.
	nowhereSince time.Time
	givenUp      bool
}

// situation gathers what Next decides from.
func (a *agent) situation() lifecycle.Situation {
	content := a.orders.Content()
	s := lifecycle.Situation{
		Job: a.job, Alive: a.proc != nil, Stopping: a.run.stopping, Answers: a.status != nil,
		Draining: a.draining, Held: content.Held, Restart: a.restart, Condemned: a.run.condemned,
		Hibernated: a.config.Node != nil && a.config.Node.Hibernated, Blind: a.blind(), Unusable: a.unusable(), Examined: a.exam.Done,
		Trouble: a.exam.Trouble, Checking: a.config.Node == nil && a.config.Checking,
		Sticky: a.sticky, RetryIn: max(0, time.Until(a.retryAt), time.Until(a.quietUntil)), ExamineIn: max(0, time.Until(a.exam.RetryAt)),
	}
	if a.orders.Current != nil && orders.Forms(a.orders.Current.Kind) {
		s.Form = a.orders.Current.Kind
	}
	a.verdict = lifecycle.JudgeJoin(a.joiner(content.Lineage), a.peers)
	s.Join = a.verdict
	s.Join = lifecycle.JudgeVersions(a.build(), s.Join, a.peers)
	if s.Join.Join && a.config.Node != nil {
		s.Join = a.transferPossible(s.Join)
	}
	if s.Join.Join && a.proc == nil && a.config.Node != nil {
		s.Join = a.awaitDonor(s.Join)
	}
	return s
}

// transferPossible turns the verdict into a failure when no state transfer could succeed.
func (a *agent) transferPossible(v lifecycle.JoinVerdict) lifecycle.JoinVerdict {
	if len(a.image.Missing) > 0 {
		return lifecycle.Refused(agentapi.FailureToolMissing, "the image lacks %s, which a state transfer needs", strings.Join(a.image.Missing, ", "))
	}
	if why := servercnf.CertificateProblem(*a.config.Node, a.certs.Installed().Pair.Leaf); why != "" {
		return lifecycle.Refused(agentapi.FailureCertificate, "%s", why)
	}
	return v
}

// blind says why not even the position can be found out.
func (a *agent) blind() *agentapi.Failure {
	return cmp.Or(a.image.Problem(), a.config.Missing())
}

// unusable says why nothing can be started.
func (a *agent) unusable() *agentapi.Failure {
	if f := a.blind(); f != nil {
		return f
	}
	if f := a.orders.Unusable(a.Name); f != nil {
		return f
	}
	if a.image.Provider == "" {
		return &agentapi.Failure{Reason: agentapi.FailureNoProvider, Message: "the image has no Galera provider (libgalera_smm.so)"}
	}
	if why := a.certs.Missing(); why != "" && servercnf.NeedsPair(a.config.Node.TLS) {
		return &agentapi.Failure{Reason: agentapi.FailureCertificate, Message: why}
	}
	return nil
}
