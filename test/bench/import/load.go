package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/test/harness"
)

// load is processor time: of the whole machine, and of the source's server.
type load struct{ machine, source time.Duration }

// loadNow reads the processor time since the machine, and the source, have started.
func (w *world) loadNow(ctx context.Context) (l load, err error) {
	text, err := harness.Docker(ctx, "inspect", "--format", "{{.State.Pid}}", w.source)
	if err != nil {
		return l, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return l, err
	}
	if l.machine, err = harness.MachineTime(); err != nil {
		return l, err
	}
	l.source, err = harness.ProcessorTime(pid)
	return l, err
}

func (l load) minus(other load) load {
	return load{machine: l.machine - other.machine, source: l.source - other.source}
}

// measured runs a turn, and reads how much processor time it took.
func (w *world) measured(ctx context.Context, copied func(context.Context) (turn, error)) (turn, error) {
	before, err := w.loadNow(ctx)
	if err != nil {
		return turn{}, err
	}
	took, err := copied(ctx)
	if err != nil {
		return took, err
	}
	after, err := w.loadNow(ctx)
	took.load = after.minus(before)
	return took, err
}
