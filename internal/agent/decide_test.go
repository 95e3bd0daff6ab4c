package agent

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	uuidA = "90e0b86f-e577-11f1-b9b1-fa90d5744545"
	uuidB = "11111111-2222-3333-4444-555555555555"
)

func at(seqno int64) galera.Position { return galera.Position{UUID: uuidA, Seqno: seqno} }

func primary(name string, edit func(*agentapi.PeerView)) map[string]agentapi.PeerView {
	p := agentapi.PeerView{Name: name, Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: uuidA, Position: at(100)}
	if edit != nil {
		edit(&p)
	}
	return map[string]agentapi.PeerView{name: p}
}

func TestJudgeJoin(t *testing.T) {
	present := Joiner{Data: galera.DataPresent, Position: at(50)}
	with := func(peers ...map[string]agentapi.PeerView) map[string]agentapi.PeerView {
		all := map[string]agentapi.PeerView{}
		for _, m := range peers {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	line := galera.FirstLine(galera.Line{Epoch: 7, Start: at(40)})
	later := line.Then(galera.Line{Epoch: 9, Start: at(60)})
	onLine := func(p *agentapi.PeerView) { p.Lineage = line }
	for name, c := range map[string]struct {
		self  Joiner
		peers map[string]agentapi.PeerView
		join  bool
		fails string
	}{
		"present":                         {present, primary("a", nil), true, ""},
		"empty":                           {Joiner{Data: galera.DataEmpty}, primary("a", nil), true, ""},
		"incomplete":                      {Joiner{Data: galera.DataIncomplete}, primary("a", nil), true, ""},
		"nobody":                          {present, nil, false, ""},
		"nobody Primary":                  {present, primary("a", func(p *agentapi.PeerView) { p.Component = galera.ComponentNonPrimary }), false, ""},
		"Primary of nothing":              {present, primary("a", func(p *agentapi.PeerView) { p.ClusterUUID = galera.ZeroUUID }), false, ""},
		"Primary, no uuid":                {present, primary("a", func(p *agentapi.PeerView) { p.ClusterUUID = "" }), false, ""},
		"only draining":                   {present, primary("a", func(p *agentapi.PeerView) { p.Draining = true }), false, ""},
		"only joining":                    {present, primary("a", func(p *agentapi.PeerView) { p.State = galera.NodeJoining }), false, ""},
		"a donor will do":                 {present, primary("a", func(p *agentapi.PeerView) { p.State = galera.NodeDonor }), true, ""},
		"one draining of two":             {present, with(primary("a", func(p *agentapi.PeerView) { p.Draining = true }), primary("b", nil)), true, ""},
		"foreign":                         {present, primary("a", func(p *agentapi.PeerView) { p.ClusterUUID = uuidB }), false, agentapi.FailureForeignUUID},
		"foreign, draining":               {present, primary("a", func(p *agentapi.PeerView) { p.ClusterUUID, p.Draining = uuidB, true }), false, agentapi.FailureForeignUUID},
		"two histories":                   {Joiner{Data: galera.DataEmpty}, with(primary("a", nil), primary("b", func(p *agentapi.PeerView) { p.ClusterUUID = uuidB })), false, agentapi.FailureForeignUUID},
		"unknown position":                {Joiner{Data: galera.DataPresent}, primary("a", nil), false, agentapi.FailureRecovery},
		"expelled":                        {Joiner{Data: galera.DataPresent, Expelled: at(50)}, primary("a", nil), true, ""},
		"expelled, foreign":               {Joiner{Data: galera.DataPresent, Expelled: galera.Position{UUID: uuidB, Seqno: 1}}, primary("a", nil), false, agentapi.FailureForeignUUID},
		"beyond a later line's start":     {present, primary("a", onLine), false, agentapi.FailureDiverged},
		"expelled, beyond it":             {Joiner{Data: galera.DataPresent, Expelled: at(50)}, primary("a", onLine), false, agentapi.FailureDiverged},
		"one member knows the line":       {present, with(primary("a", nil), primary("b", onLine)), false, agentapi.FailureDiverged},
		"at its start":                    {Joiner{Data: galera.DataPresent, Position: at(40)}, primary("a", onLine), true, ""},
		"before its start":                {Joiner{Data: galera.DataPresent, Position: at(39)}, primary("a", onLine), true, ""},
		"on the line already":             {Joiner{Data: galera.DataPresent, Position: at(50), Lineage: line}, primary("a", onLine), true, ""},
		"from an earlier line, too late":  {Joiner{Data: galera.DataPresent, Position: at(50), Lineage: galera.FirstLine(galera.Line{Epoch: 6, Start: at(10)})}, primary("a", onLine), false, agentapi.FailureDiverged},
		"beyond an earlier line's start":  {Joiner{Data: galera.DataPresent, Position: at(50), Lineage: galera.FirstLine(galera.Line{Epoch: 6, Start: at(10)})}, primary("a", func(p *agentapi.PeerView) { p.Lineage = later }), false, agentapi.FailureDiverged},
		"on a line that was given up":     {Joiner{Data: galera.DataPresent, Position: at(50), Lineage: line.Then(galera.Line{Epoch: 8, Start: at(49)})}, primary("a", func(p *agentapi.PeerView) { p.Lineage = later }), false, agentapi.FailureDiverged},
		"on one nobody wrote to":          {Joiner{Data: galera.DataPresent, Position: at(50), Lineage: line.Then(galera.Line{Epoch: 8, Start: at(50)})}, primary("a", func(p *agentapi.PeerView) { p.Lineage = later }), true, ""},
		"incomplete data have no history": {Joiner{Data: galera.DataIncomplete, Position: at(50)}, primary("a", onLine), true, ""},
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
	if v := JudgeJoin(Joiner{Data: galera.DataEmpty}, with(primary("a", nil), primary("b", onLine))); !v.Line.Equal(line) {
		t.Errorf("the latest line is the one that is joined: %+v", v.Line)
	}
}

func TestNext(t *testing.T) {
	ready := Situation{Examined: true, Join: JoinVerdict{Join: true}}
	failure := &agentapi.Failure{Reason: "x"}
	for name, c := range map[string]struct {
		edit  func(*Situation)
		act   Act
		phase galera.Phase
	}{
		"joins":                         {func(*Situation) {}, ActJoin, galera.PhaseStarting},
		"nobody to join":                {func(s *Situation) { s.Join = JoinVerdict{Wait: "w"} }, ActNone, galera.PhaseWaiting},
		"not yet again":                 {func(s *Situation) { s.RetryIn = 1 }, ActNone, galera.PhaseWaiting},
		"looks first":                   {func(s *Situation) { s.Examined = false }, ActExamine, galera.PhaseExamining},
		"looks again later":             {func(s *Situation) { s.Examined, s.ExamineIn = false, 1 }, ActNone, galera.PhaseFailed},
		"looks though a join must wait": {func(s *Situation) { s.Examined, s.RetryIn = false, 1 }, ActExamine, galera.PhaseExamining},
		"held":                          {func(s *Situation) { s.Held = true }, ActNone, galera.PhaseStopped},
		"held, not looked yet":          {func(s *Situation) { s.Held, s.Examined = true, false }, ActExamine, galera.PhaseExamining},
		"held, the look failed":         {func(s *Situation) { s.Held, s.Examined, s.Trouble, s.ExamineIn = true, false, failure, 1 }, ActNone, galera.PhaseStopped},
		"held, looks again":             {func(s *Situation) { s.Held, s.Examined, s.Trouble = true, false, failure }, ActExamine, galera.PhaseExamining},
		"held, the look goes on":        {func(s *Situation) { s.Held, s.Examined, s.Trouble, s.Job = true, false, failure, JobExamine }, ActNone, galera.PhaseExamining},
		"held, blind":                   {func(s *Situation) { s.Held, s.Blind, s.Unusable, s.Examined = true, failure, failure, false }, ActNone, galera.PhaseStopped},
		"held, unusable":                {func(s *Situation) { s.Held, s.Unusable = true, failure }, ActNone, galera.PhaseStopped},
		"held, unusable, not looked":    {func(s *Situation) { s.Held, s.Unusable, s.Examined = true, failure, false }, ActExamine, galera.PhaseExamining},
		"to form, unusable":             {func(s *Situation) { s.Held, s.Unusable, s.Form = true, failure, agentapi.OrderBootstrap }, ActNone, galera.PhaseFailed},
		"settings are looked at":        {func(s *Situation) { s.Checking, s.Blind, s.Examined = true, failure, false }, ActNone, galera.PhaseExamining},
		"hibernated":                    {func(s *Situation) { s.Hibernated = true }, ActNone, galera.PhaseWaiting},
		"hibernated, bootstrap":         {func(s *Situation) { s.Hibernated, s.Form = true, agentapi.OrderBootstrap }, ActBootstrap, galera.PhaseStarting},
		"initialise":                    {func(s *Situation) { s.Form = agentapi.OrderInitialise }, ActInitialise, galera.PhaseInitialising},
		"foreign data":                  {func(s *Situation) { s.Join = JoinVerdict{Failure: failure} }, ActNone, galera.PhaseFailed},
		"sticky failure":                {func(s *Situation) { s.Sticky = failure }, ActNone, galera.PhaseFailed},
		"blind":                         {func(s *Situation) { s.Blind, s.Unusable, s.Examined = failure, failure, false }, ActNone, galera.PhaseFailed},
		"looks though it cannot start":  {func(s *Situation) { s.Unusable, s.Examined = failure, false }, ActExamine, galera.PhaseExamining},
		"unusable":                      {func(s *Situation) { s.Unusable, s.Form = failure, agentapi.OrderBootstrap }, ActNone, galera.PhaseFailed},
		"draining, down":                {func(s *Situation) { s.Draining, s.Form = true, agentapi.OrderBootstrap }, ActExit, galera.PhaseStopped},
		"draining, unusable":            {func(s *Situation) { s.Draining, s.Unusable = true, failure }, ActExit, galera.PhaseStopped},
		"a job goes on":                 {func(s *Situation) { s.Job = JobLaunch }, ActNone, galera.PhaseStarting},
		"a job goes on while draining":  {func(s *Situation) { s.Job, s.Draining = JobInitialise, true }, ActNone, galera.PhaseInitialising},
		"starting":                      {func(s *Situation) { s.Alive = true }, ActNone, galera.PhaseStarting},
		"running":                       {func(s *Situation) { s.Alive, s.Answers = true, true }, ActNone, galera.PhaseRunning},
		"running, draining":             {func(s *Situation) { s.Alive, s.Answers, s.Draining = true, true, true }, ActStop, galera.PhaseStopping},
		"running, held":                 {func(s *Situation) { s.Alive, s.Held = true, true }, ActStop, galera.PhaseStopping},
		"running, to be restarted":      {func(s *Situation) { s.Alive, s.Restart = true, true }, ActStop, galera.PhaseStopping},
		"running, condemned":            {func(s *Situation) { s.Alive, s.Condemned = true, true }, ActStop, galera.PhaseStopping},
		"stopping once is enough":       {func(s *Situation) { s.Alive, s.Stopping, s.Draining = true, true, true }, ActNone, galera.PhaseStopping},
		"hibernation stops nobody":      {func(s *Situation) { s.Alive, s.Answers, s.Hibernated = true, true, true }, ActNone, galera.PhaseRunning},
	} {
		s := ready
		c.edit(&s)
		step := Next(s)
		if step.Act != c.act || step.Phase != c.phase {
			t.Errorf("%s: %q in %s, want %q in %s", name, step.Act, step.Phase, c.act, c.phase)
		}
		if s.Held && step.Phase == galera.PhaseStopped && (s.Trouble != nil || s.Unusable != nil) && step.Failure != failure {
			t.Errorf("%s: does not say why it could not be started", name)
		}
		if step.Phase == galera.PhaseWaiting && step.Waiting == "" {
			t.Errorf("%s: waits and does not say for what", name)
		}
	}
}

// TestNeverStartsByItselfToForm walks through every combination: only an order forms a component.
func TestNeverStartsByItselfToForm(t *testing.T) {
	for bits := range 1 << 9 {
		on := func(i int) bool { return bits&(1<<i) != 0 }
		s := Situation{Alive: on(0), Stopping: on(1), Answers: on(2), Draining: on(3), Held: on(4), Restart: on(5), Hibernated: on(6), Examined: on(7)}
		if on(8) {
			s.Join.Join = true
		}
		if step := Next(s); step.Act == ActBootstrap || step.Act == ActInitialise {
			t.Fatalf("%+v: %s", s, step.Act)
		} else if step.Act == ActJoin && (!s.Join.Join || s.Alive || s.Draining || s.Held || s.Hibernated || !s.Examined) {
			t.Fatalf("%+v: joins", s)
		}
	}
}

func TestCondemn(t *testing.T) {
	up := agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true, ClusterUUID: uuidA}
	for name, c := range map[string]struct {
		edit   func(*agentapi.Server)
		formed string
		want   string
	}{
		"joined":               {func(*agentapi.Server) {}, "", ""},
		"bootstrapped":         {func(*agentapi.Server) {}, uuidA, ""},
		"bootstrapped anew":    {func(*agentapi.Server) {}, uuidB, agentapi.FailureForeignUUID},
		"zero":                 {func(s *agentapi.Server) { s.ClusterUUID = galera.ZeroUUID }, "", agentapi.FailureZeroUUID},
		"zero, after an order": {func(s *agentapi.Server) { s.ClusterUUID = galera.ZeroUUID }, uuidA, agentapi.FailureZeroUUID},
		"zero, still joining": {func(s *agentapi.Server) {
			s.ClusterUUID, s.State, s.Ready = galera.ZeroUUID, galera.NodeJoining, false
		}, "", ""},
		"zero, no quorum":    {func(s *agentapi.Server) { s.ClusterUUID, s.Component = galera.ZeroUUID, galera.ComponentNonPrimary }, "", ""},
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
	for state, want := range map[galera.NodeState][2]bool{
		galera.NodeSynced: {true, true}, galera.NodeDonor: {true, false}, galera.NodeJoined: {true, false},
		galera.NodeJoining: {false, false}, galera.NodeUnknown: {false, false},
	} {
		s := &agentapi.Server{Component: galera.ComponentPrimary, State: state, Ready: true, ClusterUUID: uuidA}
		if HasState(s) != want[0] || Serves(s) != want[1] {
			t.Errorf("%q: %v %v", state, HasState(s), Serves(s))
		}
		s.ClusterUUID = galera.ZeroUUID
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

func TestJoinKind(t *testing.T) {
	for name, c := range map[string]struct {
		transfer bool
		from, to galera.Position
		want     string
	}{
		"transfer":       {true, galera.Position{}, at(5), "SST"},
		"other history":  {false, galera.Position{UUID: uuidB, Seqno: 5}, at(5), "SST"},
		"missed some":    {false, at(3), at(5), "IST"},
		"missed nothing": {false, at(5), at(5), "None"},
	} {
		if got := joinKind(c.transfer, c.from, c.to); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestDonorAmong(t *testing.T) {
	donor := func(p *agentapi.PeerView) { p.State = galera.NodeDonor }
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
