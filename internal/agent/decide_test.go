package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

const (
	uuidA = "90e0b86f-e577-11f1-b9b1-fa90d5744545"
	uuidB = "11111111-2222-3333-4444-555555555555"
)

func at(seqno int64) cluster.Position { return cluster.Position{UUID: uuidA, Seqno: seqno} }

func primary(name string, edit func(*agentapi.PeerView)) map[string]agentapi.PeerView {
	p := agentapi.PeerView{Name: name, Component: cluster.ComponentPrimary, State: cluster.NodeSynced, ClusterUUID: uuidA, Position: at(100)}
	if edit != nil {
		edit(&p)
	}
	return map[string]agentapi.PeerView{name: p}
}

func TestJudgeJoin(t *testing.T) {
	present := Joiner{Data: cluster.DataPresent, Position: at(50)}
	with := func(peers ...map[string]agentapi.PeerView) map[string]agentapi.PeerView {
		all := map[string]agentapi.PeerView{}
		for _, m := range peers {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	line := cluster.FirstLine(cluster.Line{Epoch: 7, Start: at(40)})
	later := line.Then(cluster.Line{Epoch: 9, Start: at(60)})
	onLine := func(p *agentapi.PeerView) { p.Lineage = line }
	for name, c := range map[string]struct {
		self  Joiner
		peers map[string]agentapi.PeerView
		join  bool
		fails string
	}{
		"present":                         {present, primary("a", nil), true, ""},
		"empty":                           {Joiner{Data: cluster.DataEmpty}, primary("a", nil), true, ""},
		"incomplete":                      {Joiner{Data: cluster.DataIncomplete}, primary("a", nil), true, ""},
		"nobody":                          {present, nil, false, ""},
		"nobody Primary":                  {present, primary("a", func(p *agentapi.PeerView) { p.Component = cluster.ComponentNonPrimary }), false, ""},
		"Primary of nothing":              {present, primary("a", func(p *agentapi.PeerView) { p.ClusterUUID = cluster.ZeroUUID }), false, ""},
		"Primary, no uuid":                {present, primary("a", func(p *agentapi.PeerView) { p.ClusterUUID = "" }), false, ""},
		"only draining":                   {present, primary("a", func(p *agentapi.PeerView) { p.Draining = true }), false, ""},
		"only joining":                    {present, primary("a", func(p *agentapi.PeerView) { p.State = cluster.NodeJoining }), false, ""},
		"a donor will do":                 {present, primary("a", func(p *agentapi.PeerView) { p.State = cluster.NodeDonor }), true, ""},
		"one draining of two":             {present, with(primary("a", func(p *agentapi.PeerView) { p.Draining = true }), primary("b", nil)), true, ""},
		"foreign":                         {present, primary("a", func(p *agentapi.PeerView) { p.ClusterUUID = uuidB }), false, agentapi.FailureForeignUUID},
		"foreign, draining":               {present, primary("a", func(p *agentapi.PeerView) { p.ClusterUUID, p.Draining = uuidB, true }), false, agentapi.FailureForeignUUID},
		"two histories":                   {Joiner{Data: cluster.DataEmpty}, with(primary("a", nil), primary("b", func(p *agentapi.PeerView) { p.ClusterUUID = uuidB })), false, agentapi.FailureForeignUUID},
		"unknown position":                {Joiner{Data: cluster.DataPresent}, primary("a", nil), false, agentapi.FailureRecovery},
		"expelled":                        {Joiner{Data: cluster.DataPresent, Expelled: at(50)}, primary("a", nil), true, ""},
		"expelled, foreign":               {Joiner{Data: cluster.DataPresent, Expelled: cluster.Position{UUID: uuidB, Seqno: 1}}, primary("a", nil), false, agentapi.FailureForeignUUID},
		"beyond a later line's start":     {present, primary("a", onLine), false, agentapi.FailureDiverged},
		"expelled, beyond it":             {Joiner{Data: cluster.DataPresent, Expelled: at(50)}, primary("a", onLine), false, agentapi.FailureDiverged},
		"one member knows the line":       {present, with(primary("a", nil), primary("b", onLine)), false, agentapi.FailureDiverged},
		"at its start":                    {Joiner{Data: cluster.DataPresent, Position: at(40)}, primary("a", onLine), true, ""},
		"before its start":                {Joiner{Data: cluster.DataPresent, Position: at(39)}, primary("a", onLine), true, ""},
		"on the line already":             {Joiner{Data: cluster.DataPresent, Position: at(50), Lineage: line}, primary("a", onLine), true, ""},
		"from an earlier line, too late":  {Joiner{Data: cluster.DataPresent, Position: at(50), Lineage: cluster.FirstLine(cluster.Line{Epoch: 6, Start: at(10)})}, primary("a", onLine), false, agentapi.FailureDiverged},
		"beyond an earlier line's start":  {Joiner{Data: cluster.DataPresent, Position: at(50), Lineage: cluster.FirstLine(cluster.Line{Epoch: 6, Start: at(10)})}, primary("a", func(p *agentapi.PeerView) { p.Lineage = later }), false, agentapi.FailureDiverged},
		"on a line that was given up":     {Joiner{Data: cluster.DataPresent, Position: at(50), Lineage: line.Then(cluster.Line{Epoch: 8, Start: at(49)})}, primary("a", func(p *agentapi.PeerView) { p.Lineage = later }), false, agentapi.FailureDiverged},
		"on one nobody wrote to":          {Joiner{Data: cluster.DataPresent, Position: at(50), Lineage: line.Then(cluster.Line{Epoch: 8, Start: at(50)})}, primary("a", func(p *agentapi.PeerView) { p.Lineage = later }), true, ""},
		"incomplete data have no history": {Joiner{Data: cluster.DataIncomplete, Position: at(50)}, primary("a", onLine), true, ""},
	} {
		v := JudgeJoin(c.self, c.peers)
		reason := ""
		if v.Failure != nil {
			reason = v.Failure.Reason
		}
		if v.Join != c.join || reason != c.fails || !v.Join && v.Failure == nil && v.Wait == "" {
			t.Errorf("%s: %+v (%s), want join %v, failure %q", name, v, reason, c.join, c.fails)
		}
	}
	if v := JudgeJoin(Joiner{Data: cluster.DataEmpty}, with(primary("a", nil), primary("b", onLine))); !v.Line.Equal(line) {
		t.Errorf("the latest line is the one that is joined: %+v", v.Line)
	}
}

func TestNext(t *testing.T) {
	ready := Situation{Examined: true, Join: JoinVerdict{Join: true}}
	failure := &agentapi.Failure{Reason: "x"}
	for name, c := range map[string]struct {
		edit  func(*Situation)
		act   Act
		phase cluster.Phase
	}{
		"joins":                         {func(*Situation) {}, ActJoin, cluster.PhaseStarting},
		"nobody to join":                {func(s *Situation) { s.Join = JoinVerdict{Wait: "w"} }, ActNone, cluster.PhaseWaiting},
		"not yet again":                 {func(s *Situation) { s.RetryIn = 1 }, ActNone, cluster.PhaseWaiting},
		"looks first":                   {func(s *Situation) { s.Examined = false }, ActExamine, cluster.PhaseExamining},
		"looks again later":             {func(s *Situation) { s.Examined, s.ExamineIn = false, 1 }, ActNone, cluster.PhaseFailed},
		"looks though a join must wait": {func(s *Situation) { s.Examined, s.RetryIn = false, 1 }, ActExamine, cluster.PhaseExamining},
		"held":                          {func(s *Situation) { s.Held = true }, ActNone, cluster.PhaseStopped},
		"held, not looked yet":          {func(s *Situation) { s.Held, s.Examined = true, false }, ActExamine, cluster.PhaseExamining},
		"held, the look failed":         {func(s *Situation) { s.Held, s.Examined, s.Trouble, s.ExamineIn = true, false, failure, 1 }, ActNone, cluster.PhaseStopped},
		"held, looks again":             {func(s *Situation) { s.Held, s.Examined, s.Trouble = true, false, failure }, ActExamine, cluster.PhaseExamining},
		"held, the look goes on":        {func(s *Situation) { s.Held, s.Examined, s.Trouble, s.Job = true, false, failure, JobExamine }, ActNone, cluster.PhaseExamining},
		"held, blind":                   {func(s *Situation) { s.Held, s.Blind, s.Unusable, s.Examined = true, failure, failure, false }, ActNone, cluster.PhaseStopped},
		"held, unusable":                {func(s *Situation) { s.Held, s.Unusable = true, failure }, ActNone, cluster.PhaseStopped},
		"held, unusable, not looked":    {func(s *Situation) { s.Held, s.Unusable, s.Examined = true, failure, false }, ActExamine, cluster.PhaseExamining},
		"to form, unusable":             {func(s *Situation) { s.Held, s.Unusable, s.Form = true, failure, agentapi.OrderBootstrap }, ActNone, cluster.PhaseFailed},
		"settings are looked at":        {func(s *Situation) { s.Checking, s.Blind, s.Examined = true, failure, false }, ActNone, cluster.PhaseExamining},
		"suspended":                     {func(s *Situation) { s.Suspended = true }, ActNone, cluster.PhaseWaiting},
		"suspended, bootstrap":          {func(s *Situation) { s.Suspended, s.Form = true, agentapi.OrderBootstrap }, ActBootstrap, cluster.PhaseStarting},
		"initialise":                    {func(s *Situation) { s.Form = agentapi.OrderInitialise }, ActInitialise, cluster.PhaseInitialising},
		"foreign data":                  {func(s *Situation) { s.Join = JoinVerdict{Failure: failure} }, ActNone, cluster.PhaseFailed},
		"sticky failure":                {func(s *Situation) { s.Sticky = failure }, ActNone, cluster.PhaseFailed},
		"blind":                         {func(s *Situation) { s.Blind, s.Unusable, s.Examined = failure, failure, false }, ActNone, cluster.PhaseFailed},
		"looks though it cannot start":  {func(s *Situation) { s.Unusable, s.Examined = failure, false }, ActExamine, cluster.PhaseExamining},
		"unusable":                      {func(s *Situation) { s.Unusable, s.Form = failure, agentapi.OrderBootstrap }, ActNone, cluster.PhaseFailed},
		"draining, down":                {func(s *Situation) { s.Draining, s.Form = true, agentapi.OrderBootstrap }, ActExit, cluster.PhaseStopped},
		"draining, unusable":            {func(s *Situation) { s.Draining, s.Unusable = true, failure }, ActExit, cluster.PhaseStopped},
		"a job goes on":                 {func(s *Situation) { s.Job = JobLaunch }, ActNone, cluster.PhaseStarting},
		"a job goes on while draining":  {func(s *Situation) { s.Job, s.Draining = JobInitialise, true }, ActNone, cluster.PhaseInitialising},
		"starting":                      {func(s *Situation) { s.Alive = true }, ActNone, cluster.PhaseStarting},
		"running":                       {func(s *Situation) { s.Alive, s.Answers = true, true }, ActNone, cluster.PhaseRunning},
		"running, draining":             {func(s *Situation) { s.Alive, s.Answers, s.Draining = true, true, true }, ActStop, cluster.PhaseStopping},
		"running, held":                 {func(s *Situation) { s.Alive, s.Held = true, true }, ActStop, cluster.PhaseStopping},
		"running, to be restarted":      {func(s *Situation) { s.Alive, s.Restart = true, true }, ActStop, cluster.PhaseStopping},
		"running, condemned":            {func(s *Situation) { s.Alive, s.Condemned = true, true }, ActStop, cluster.PhaseStopping},
		"stopping once is enough":       {func(s *Situation) { s.Alive, s.Stopping, s.Draining = true, true, true }, ActNone, cluster.PhaseStopping},
		"suspension stops nobody":       {func(s *Situation) { s.Alive, s.Answers, s.Suspended = true, true, true }, ActNone, cluster.PhaseRunning},
	} {
		s := ready
		c.edit(&s)
		step := Next(s)
		if step.Act != c.act || step.Phase != c.phase {
			t.Errorf("%s: %q in %s, want %q in %s", name, step.Act, step.Phase, c.act, c.phase)
		}
		if s.Held && step.Phase == cluster.PhaseStopped && (s.Trouble != nil || s.Unusable != nil) && step.Failure != failure {
			t.Errorf("%s: does not say why it could not be started", name)
		}
		if step.Phase == cluster.PhaseWaiting && step.Waiting == "" {
			t.Errorf("%s: waits and does not say for what", name)
		}
	}
}

// TestNeverStartsByItselfToForm walks through every combination: only an order forms a component.
func TestNeverStartsByItselfToForm(t *testing.T) {
	for bits := range 1 << 9 {
		on := func(i int) bool { return bits&(1<<i) != 0 }
		s := Situation{Alive: on(0), Stopping: on(1), Answers: on(2), Draining: on(3), Held: on(4), Restart: on(5), Suspended: on(6), Examined: on(7)}
		if on(8) {
			s.Join.Join = true
		}
		if step := Next(s); step.Act == ActBootstrap || step.Act == ActInitialise {
			t.Fatalf("%+v: %s", s, step.Act)
		} else if step.Act == ActJoin && (!s.Join.Join || s.Alive || s.Draining || s.Held || s.Suspended || !s.Examined) {
			t.Fatalf("%+v: joins", s)
		}
	}
}

func TestCondemn(t *testing.T) {
	up := agentapi.Server{Component: cluster.ComponentPrimary, State: cluster.NodeSynced, Ready: true, ClusterUUID: uuidA}
	for name, c := range map[string]struct {
		edit   func(*agentapi.Server)
		formed string
		want   string
	}{
		"joined":               {func(*agentapi.Server) {}, "", ""},
		"bootstrapped":         {func(*agentapi.Server) {}, uuidA, ""},
		"bootstrapped anew":    {func(*agentapi.Server) {}, uuidB, agentapi.FailureForeignUUID},
		"zero":                 {func(s *agentapi.Server) { s.ClusterUUID = cluster.ZeroUUID }, "", agentapi.FailureZeroUUID},
		"zero, after an order": {func(s *agentapi.Server) { s.ClusterUUID = cluster.ZeroUUID }, uuidA, agentapi.FailureZeroUUID},
		"zero, still joining": {func(s *agentapi.Server) {
			s.ClusterUUID, s.State, s.Ready = cluster.ZeroUUID, cluster.NodeJoining, false
		}, "", ""},
		"zero, no quorum":    {func(s *agentapi.Server) { s.ClusterUUID, s.Component = cluster.ZeroUUID, cluster.ComponentNonPrimary }, "", ""},
		"uuid not known yet": {func(s *agentapi.Server) { s.ClusterUUID = "" }, uuidA, ""},
	} {
		s := up
		c.edit(&s)
		got := ""
		if f := Condemn(&s, c.formed); f != nil {
			got = f.Reason
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if Condemn(nil, uuidA) != nil {
		t.Error("a server that does not answer was condemned")
	}
}

func TestHasStateAndServes(t *testing.T) {
	for state, want := range map[cluster.NodeState][2]bool{
		cluster.NodeSynced: {true, true}, cluster.NodeDonor: {true, false}, cluster.NodeJoined: {true, false},
		cluster.NodeJoining: {false, false}, cluster.NodeUnknown: {false, false},
	} {
		s := &agentapi.Server{Component: cluster.ComponentPrimary, State: state, Ready: true, ClusterUUID: uuidA}
		if HasState(s) != want[0] || Serves(s) != want[1] {
			t.Errorf("%q: %v %v", state, HasState(s), Serves(s))
		}
		s.ClusterUUID = cluster.ZeroUUID
		if HasState(s) || Serves(s) {
			t.Errorf("%q without a history", state)
		}
	}
	if HasState(nil) || Serves(nil) {
		t.Error("nil")
	}
}

func TestBackoff(t *testing.T) {
	last := time.Duration(0)
	for n := range 40 {
		d := Backoff(n)
		if d < last || d > backoffMost {
			t.Errorf("%d: %s after %s", n, d, last)
		}
		last = d
	}
	if Backoff(0) != 0 || Backoff(1) == 0 || last != backoffMost {
		t.Errorf("%s %s %s", Backoff(0), Backoff(1), last)
	}
}

func TestJudgeRecovered(t *testing.T) {
	for name, c := range map[string]struct {
		pos      cluster.Position
		marked   string
		want     cluster.Position
		expelled cluster.Position
		reason   string
	}{
		"crashed":             {at(9), uuidA, at(9), cluster.Position{}, ""},
		"no grastate":         {at(9), "", at(9), cluster.Position{}, ""},
		"marked by Galera":    {at(9), cluster.ZeroUUID, cluster.Position{}, at(9), agentapi.FailureInconsistent},
		"two histories":       {at(9), uuidB, cluster.Position{}, cluster.Position{}, agentapi.FailureRecovery},
		"no history":          {cluster.Position{UUID: cluster.ZeroUUID, Seqno: -1}, uuidA, cluster.Position{}, cluster.Position{}, agentapi.FailureRecovery},
		"no history at all":   {cluster.Position{UUID: cluster.ZeroUUID, Seqno: -1}, "", cluster.Position{}, cluster.Position{}, agentapi.FailureRecovery},
		"a history, no seqno": {at(-1), uuidA, cluster.Position{}, cluster.Position{}, agentapi.FailureRecovery},
	} {
		got := judgeRecovered(examination{data: cluster.DataPresent}, c.pos, c.marked)
		reason := ""
		if got.trouble != nil {
			reason = got.trouble.Reason
		}
		if got.position != c.want || got.expelled != c.expelled || reason != c.reason {
			t.Errorf("%s: %+v (%s)", name, got, reason)
		}
	}
}

func TestPositionArgs(t *testing.T) {
	for want, found := range map[string]examination{
		"":                                       {position: cluster.Position{}, start: "x"},
		"--wsrep-start-position=" + uuidA + ":9": {position: at(9)},
		"--wsrep-start-position=" + uuidA + ":9,0-1-2": {position: at(9), start: uuidA + ":9,0-1-2"},
	} {
		if got := strings.Join(positionArgs(found), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestJoinKind(t *testing.T) {
	for name, c := range map[string]struct {
		transfer bool
		from, to cluster.Position
		want     string
	}{
		"transfer":       {true, cluster.Position{}, at(5), "SST"},
		"other history":  {false, cluster.Position{UUID: uuidB, Seqno: 5}, at(5), "SST"},
		"missed some":    {false, at(3), at(5), "IST"},
		"missed nothing": {false, at(5), at(5), "None"},
	} {
		if got := joinKind(c.transfer, c.from, c.to); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestDonorAmong(t *testing.T) {
	donor := func(p *agentapi.PeerView) { p.State = cluster.NodeDonor }
	if got := donorAmong(primary("a", donor)); got != "a" {
		t.Errorf("%q", got)
	}
	two := primary("a", donor)
	two["b"] = primary("b", donor)["b"]
	if got := donorAmong(two); got != "" {
		t.Errorf("two donors, and %q was chosen", got)
	}
	if got := donorAmong(primary("a", nil)); got != "" {
		t.Errorf("%q", got)
	}
}

func TestParseVersion(t *testing.T) {
	for line, want := range map[string]string{
		"mariadbd  Ver 11.8.6-MariaDB-0+deb13u1 from Debian for debian-linux-gnu on x86_64 (x)":      "11.8.6-MariaDB",
		"mariadbd  Ver 10.11.19-MariaDB-ubu2204 for debian-linux-gnu on x86_64 (mariadb.org binary)": "10.11.19-MariaDB",
		"something else": "",
	} {
		if got := parseVersion(line); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
