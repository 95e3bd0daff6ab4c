package lifecycle

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestNext(t *testing.T) {
	ready := Situation{Examined: true, Join: JoinDecision{Join: true}}
	failure := &agentapi.Failure{Reason: "x"}
	leaves := DrainDelay{Serves: true, Others: true, Draining: 1}
	for name, c := range map[string]struct {
		edit  func(*Situation)
		act   Act
		phase galera.Phase
	}{
		"joins": {func(*Situation) {}, ActJoin, galera.PhaseStarting},
		"no peer to join": {func(s *Situation) { s.Join = JoinDecision{Wait: "w"} }, ActNone,
			galera.PhaseWaiting},
		"not yet again": {func(s *Situation) { s.RetryIn = 1 }, ActNone, galera.PhaseWaiting},
		"looks first":   {func(s *Situation) { s.Examined = false }, ActExamine, galera.PhaseExamining},
		"checks again later": {func(s *Situation) { s.Examined, s.ExamineIn = false, 1 }, ActNone,
			galera.PhaseFailed},
		"looks though a join must wait": {func(s *Situation) { s.Examined, s.RetryIn = false, 1 }, ActExamine,
			galera.PhaseExamining},
		"held": {func(s *Situation) { s.Held = true }, ActNone, galera.PhaseStopped},
		"held, not looked yet": {func(s *Situation) { s.Held, s.Examined = true, false }, ActExamine,
			galera.PhaseExamining},
		"held, the check failed": {func(s *Situation) {
			s.Held, s.Examined, s.Trouble, s.ExamineIn = true, false,
				failure, 1
		}, ActNone, galera.PhaseStopped},
		"held, checks again": {func(s *Situation) { s.Held, s.Examined, s.Trouble = true, false, failure },
			ActExamine, galera.PhaseExamining},
		"held, the check goes on": {func(s *Situation) {
			s.Held, s.Examined, s.Trouble, s.Job = true, false, failure, JobExamine
		}, ActNone, galera.PhaseExamining},
		"held, position unavailable": {func(s *Situation) {
			s.Held, s.PositionUnavailable, s.StartUnavailable, s.Examined = true, failure, failure, false
		}, ActNone, galera.PhaseStopped},
		"held, unusable": {func(s *Situation) { s.Held, s.StartUnavailable = true, failure }, ActNone,
			galera.PhaseStopped},
		"held, unusable, not looked": {func(s *Situation) {
			s.Held, s.StartUnavailable, s.Examined = true, failure,
				false
		}, ActExamine, galera.PhaseExamining},
		"to form, unusable": {func(s *Situation) {
			s.Held, s.StartUnavailable, s.Form = true, failure,
				agentapi.OrderBootstrap
		}, ActNone, galera.PhaseFailed},
		"settings are checked": {func(s *Situation) {
			s.Checking, s.PositionUnavailable, s.Examined = true,
				failure, false
		}, ActNone, galera.PhaseExamining},
		"hibernated": {func(s *Situation) { s.Hibernated = true }, ActNone, galera.PhaseWaiting},
		"hibernated, bootstrap": {func(s *Situation) { s.Hibernated, s.Form = true, agentapi.OrderBootstrap },
			ActBootstrap, galera.PhaseStarting},
		"initialise": {func(s *Situation) { s.Form = agentapi.OrderInitialise }, ActInitialise,
			galera.PhaseInitialising},
		"bootstrap after crashes in a row": {func(s *Situation) { s.Form, s.CrashedIn = agentapi.OrderBootstrap, 1 }, ActNone,
			galera.PhaseWaiting},
		"bootstrap after a failed attempt": {func(s *Situation) { s.Form, s.RetryIn = agentapi.OrderBootstrap, 1 },
			ActBootstrap, galera.PhaseStarting},
		"initialise, but not yet again": {func(s *Situation) { s.Form, s.RetryIn = agentapi.OrderInitialise, 1 }, ActNone,
			galera.PhaseWaiting},
		"foreign data": {func(s *Situation) { s.Join = JoinDecision{Failure: failure} }, ActNone,
			galera.PhaseFailed},
		"sticky failure": {func(s *Situation) { s.NeedsOrder = failure }, ActNone, galera.PhaseFailed},
		"position unavailable": {func(s *Situation) {
			s.PositionUnavailable, s.StartUnavailable,
				s.Examined = failure, failure, false
		}, ActNone, galera.PhaseFailed},
		"looks though it cannot start": {func(s *Situation) { s.StartUnavailable, s.Examined = failure, false },
			ActExamine, galera.PhaseExamining},
		"unusable": {func(s *Situation) {
			s.StartUnavailable, s.Form = failure,
				agentapi.OrderBootstrap
		}, ActNone, galera.PhaseFailed},
		"draining, down": {func(s *Situation) { s.Draining, s.Form = true, agentapi.OrderBootstrap },
			ActExit, galera.PhaseStopped},
		"draining, unusable": {func(s *Situation) { s.Draining, s.StartUnavailable = true, failure }, ActExit,
			galera.PhaseStopped},
		"a job goes on": {func(s *Situation) { s.Job = JobLaunch }, ActNone, galera.PhaseStarting},
		"a job goes on while draining": {func(s *Situation) { s.Job, s.Draining = JobInitialise, true }, ActNone,
			galera.PhaseInitialising},
		"starting": {func(s *Situation) { s.Alive = true }, ActNone, galera.PhaseStarting},
		"running": {func(s *Situation) { s.Alive, s.Answers = true, true }, ActNone,
			galera.PhaseRunning},
		"does not answer any more": {func(s *Situation) { s.Alive, s.Silent = true, true }, ActNone,
			galera.PhaseStarting},
		"running, draining": {func(s *Situation) { s.Alive, s.Answers, s.Draining = true, true, true },
			ActStop, galera.PhaseStopping},
		"running, held": {func(s *Situation) { s.Alive, s.Held = true, true }, ActStop,
			galera.PhaseStopping},
		"running, to be restarted": {func(s *Situation) { s.Alive, s.Restart = true, true }, ActStop,
			galera.PhaseStopping},
		"running, a danger to the data": {func(s *Situation) { s.Alive, s.MustTerminate = true, true }, ActStop,
			galera.PhaseStopping},
		"clients follow first": {func(s *Situation) {
			s.Alive, s.Answers, s.Draining, s.DrainDelay = true, true,
				true, leaves
		}, ActNone, galera.PhaseRunning},
		"it does not answer": {func(s *Situation) { s.Alive, s.Draining, s.DrainDelay = true, true, leaves },
			ActStop, galera.PhaseStopping},
		"a danger to the data waits for none": {func(s *Situation) {
			s.Alive, s.Answers, s.Draining, s.MustTerminate, s.DrainDelay = true, true, true, true, leaves
		}, ActStop, galera.PhaseStopping},
		"stopping once is enough": {func(s *Situation) { s.Alive, s.Stopping, s.Draining = true, true, true }, ActNone,
			galera.PhaseStopping},
		"hibernation stops no server": {func(s *Situation) { s.Alive, s.Answers, s.Hibernated = true, true, true }, ActNone,
			galera.PhaseRunning},
	} {
		s := ready
		c.edit(&s)
		step := Next(s)
		if step.Act != c.act || step.Phase != c.phase {
			t.Errorf("%s: %q in %s, want %q in %s", name, step.Act, step.Phase, c.act, c.phase)
		}
		if s.Held && step.Phase == galera.PhaseStopped && (s.Trouble != nil || s.StartUnavailable != nil) &&
			step.Failure != failure {
			t.Errorf("%s: does not report why it could not be started", name)
		}
		if (step.Phase == galera.PhaseWaiting || s.Silent) && step.Waiting == "" {
			t.Errorf("%s: waits and does not report for what", name)
		}
	}
}

// TestNeverStartsByItselfToForm walks through every combination: only an order forms a component.
func TestNeverStartsByItselfToForm(t *testing.T) {
	for bits := range 1 << 9 {
		on := func(i int) bool { return bits&(1<<i) != 0 }
		s := Situation{Alive: on(0), Stopping: on(1), Answers: on(2), Draining: on(3), Held: on(4), Restart: on(5),
			Hibernated: on(6), Examined: on(7)}
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
