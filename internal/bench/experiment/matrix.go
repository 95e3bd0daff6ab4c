package experiment

import (
	"fmt"
	"strings"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// Cell is one workload with one choice of everything it sweeps over.
type Cell struct {
	Workload *v1alpha1.BenchmarkWorkload
	Kind     string
	// Variant names the choice, "" when the workload sweeps over nothing.
	Variant string

	Threads int
	// Of a connect workload:
	TLSVersion string
	Resumption bool
	Latency    time.Duration
	// SSHCipher is "" where there is no tunnel.
	SSHCipher string
	// KeyExchange is the only one the client offers, "" for its own choice.
	KeyExchange string
	// Operation is what a load is disturbed by, "" for nothing.
	Operation string
	// Size of the answers of a resultSize workload, in bytes.
	Size int
	// Of a stateTransfer workload.
	Method   string
	Parallel int
	// Of a stateTransfer or a cipher workload.
	WithoutAccelerator bool
	// Cipher of a cipher workload.
	Cipher string
}

// Run is one measurement to be made.
type Run struct {
	// Index from 1, in order.
	Index int
	// Round from 1.
	Round int
	Arm   *v1alpha1.BenchmarkArm
	Cell  Cell
}

// WithoutAccelerator reports whether the CPU's AES instructions are hidden from the nodes, and from the load generator.
func (r Run) WithoutAccelerator() bool {
	return r.Cell.WithoutAccelerator || r.Arm != nil && r.Arm.CPUAcceleration == v1alpha1.AccelerationOff
}

// Name returns the run in words.
func (r Run) Name() string {
	name := fmt.Sprintf("%s on %s", r.Cell.Workload.Name, r.Arm.Name)
	if r.Cell.Variant != "" {
		name += " (" + r.Cell.Variant + ")"
	}
	return name
}

// Wire returns the run as it is recorded.
func (r Run) Wire(attempt int) result.Run {
	return result.Run{Index: r.Index, Attempt: attempt, Round: r.Round, Arm: r.Arm.Name,
		Workload: r.Cell.Workload.Name, Variant: r.Cell.Variant, Kind: r.Cell.Kind}
}

// Baseline returns the arm the others are compared with: the first one.
func Baseline(s *v1alpha1.GaleraBenchmarkSpec) string {
	if len(s.Arms) == 0 {
		return ""
	}
	return s.Arms[0].Name
}

// Arms returns the names of all arms, the baseline first.
func Arms(s *v1alpha1.GaleraBenchmarkSpec) (names []string) {
	for _, a := range s.Arms {
		names = append(names, a.Name)
	}
	return names
}

// Cells returns everything that is run against one arm, in the order of the spec.
func Cells(s *v1alpha1.GaleraBenchmarkSpec) (out []Cell) {
	for i := range s.Workloads {
		out = append(out, cellsOf(&s.Workloads[i])...)
	}
	return out
}

func cellsOf(w *v1alpha1.BenchmarkWorkload) []Cell {
	switch {
	case w.OLTP != nil:
		return sweep(Cell{Workload: w, Kind: result.KindOLTP}, threads(w.OLTP.Threads))
	case w.Connect != nil:
		return connect(w)
	case w.ResultSize != nil:
		return sweep(Cell{Workload: w, Kind: result.KindResultSize},
			over("size", w.ResultSize.Sizes, func(c *Cell, size int32) { c.Size = int(size) }), threads(w.ResultSize.Threads))
	case w.Operation != nil:
		return sweep(Cell{Workload: w, Kind: result.KindOperation, Threads: int(w.Operation.Threads)},
			over("operation", w.Operation.Operations, func(c *Cell, name string) { c.Operation = name }))
	case w.StateTransfer != nil:
		return transfer(w)
	case w.Cipher != nil:
		return accelerated(w.Cipher.CPUAcceleration, sweep(Cell{Workload: w, Kind: result.KindCipher},
			over("cipher", w.Cipher.Ciphers, func(c *Cell, name string) { c.Cipher = name })))
	}
	return nil
}

// axis is a list that a workload sweeps over: it turns a cell into those of all its values.
type axis func(Cell) []Cell

// over is the axis of a list. A list of one needs no name in the variant, and of an empty one nothing is set.
func over[T any](key string, values []T, set func(c *Cell, value T)) axis {
	return func(base Cell) (out []Cell) {
		if len(values) == 0 {
			return []Cell{base}
		}
		for _, v := range values {
			c := base
			if set(&c, v); len(values) > 1 {
				c.Variant = strings.TrimPrefix(fmt.Sprintf("%s,%s=%v", c.Variant, key, v), ",")
			}
			out = append(out, c)
		}
		return out
	}
}

// sweep returns a cell for every choice; the last axis changes most often.
func sweep(base Cell, axes ...axis) []Cell {
	all := []Cell{base}
	for _, a := range axes {
		var next []Cell
		for _, c := range all {
			next = append(next, a(c)...)
		}
		all = next
	}
	return all
}

func threads(numbers []int32) axis {
	return over("threads", numbers, func(c *Cell, n int32) { c.Threads = int(n) })
}

// accelerated repeats cells with and without the CPU's AES instructions: each change of that restarts nodes.
func accelerated(choices []string, all []Cell) (out []Cell) {
	as := over("cpuAcceleration", choices,
		func(c *Cell, choice string) { c.WithoutAccelerator = choice == v1alpha1.AccelerationOff })
	for i := range choices {
		for _, c := range all {
			out = append(out, as(c)[i])
		}
	}
	return out
}

func connect(w *v1alpha1.BenchmarkWorkload) []Cell {
	c := w.Connect
	ciphers := c.SSHCiphers
	if c.Via == v1alpha1.ViaSSHTunnel && len(ciphers) == 0 {
		ciphers = []string{v1alpha1.DefaultSSHCipher}
	}
	return sweep(Cell{Workload: w, Kind: result.KindConnect},
		over("tls", c.TLSVersions, func(c *Cell, version string) { c.TLSVersion = version }),
		over("resumption", c.SessionResumption, func(c *Cell, choice string) { c.Resumption = choice == "On" }),
		over("latency", c.Latency, func(c *Cell, text string) {
			c.Latency, _ = time.ParseDuration(text) // the API admits only durations
		}),
		over("keyExchange", c.KeyExchanges, func(c *Cell, name string) { c.KeyExchange = name }),
		over("ssh", ciphers, func(c *Cell, name string) { c.SSHCipher = name }),
		threads(c.Threads))
}

// transfer has one number of threads for rsync, unless there are several databases: whole databases are what it copies
// side by side, and to measure one with each number would be to measure the same thing again.
func transfer(w *v1alpha1.BenchmarkWorkload) []Cell {
	s := w.StateTransfer
	numbers := func(c Cell) []Cell {
		all := s.Parallel
		if c.Method == "Rsync" && s.Databases < 2 {
			all = all[max(0, len(all)-1):]
		}
		return over("parallel", all, func(c *Cell, n int32) { c.Parallel = int(n) })(c)
	}
	return accelerated(s.CPUAcceleration, sweep(Cell{Workload: w, Kind: result.KindTransfer, Threads: int(s.LoadThreads)},
		over("method", s.Methods, func(c *Cell, name string) { c.Method = name }), numbers))
}
