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
func Cells(s *v1alpha1.GaleraBenchmarkSpec) []Cell {
	var out []Cell
	for i := range s.Workloads {
		w := &s.Workloads[i]
		switch {
		case w.OLTP != nil:
			out = append(out, oltp(w)...)
		case w.Connect != nil:
			out = append(out, connect(w)...)
		case w.ResultSize != nil:
			out = append(out, resultSize(w)...)
		case w.Operation != nil:
			out = append(out, operations(w)...)
		case w.StateTransfer != nil:
			out = append(out, transfer(w)...)
		case w.Cipher != nil:
			out = append(out, cipher(w)...)
		}
	}
	return out
}

// variant joins those names that distinguish something.
func variant(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, ",")
}

// choice names one of several; of one there is nothing to say.
func choice(of int, format string, args ...any) string {
	if of < 2 {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func oltp(w *v1alpha1.BenchmarkWorkload) (out []Cell) {
	for _, n := range w.OLTP.Threads {
		out = append(out, Cell{Workload: w, Kind: result.KindOLTP, Threads: int(n),
			Variant: choice(len(w.OLTP.Threads), "threads=%d", n)})
	}
	return out
}

func connect(w *v1alpha1.BenchmarkWorkload) (out []Cell) {
	c := w.Connect
	for _, version := range c.TLSVersions {
		for _, resumption := range c.SessionResumption {
			for _, text := range c.Latency {
				latency, _ := time.ParseDuration(text) // the API admits only durations
				base := Cell{Workload: w, Kind: result.KindConnect, TLSVersion: version, Resumption: resumption == "On",
					Latency: latency,
					Variant: variant(choice(len(c.TLSVersions), "tls=%s", version), choice(len(c.SessionResumption), "resumption=%s",
						resumption),
						choice(len(c.Latency), "latency=%s", text))}
				out = append(out, offers(base)...)
			}
		}
	}
	return out
}

// offers are what both ends may agree on over one route, and the numbers of clients.
func offers(base Cell) (out []Cell) {
	c := base.Workload.Connect
	for _, exchange := range anyOf(c.KeyExchanges) {
		for _, ssh := range sshCiphers(c) {
			for _, n := range c.Threads {
				one := base
				one.Threads, one.SSHCipher, one.KeyExchange = int(n), ssh, exchange
				one.Variant = variant(base.Variant, choice(len(c.KeyExchanges), "keyExchange=%s", exchange),
					choice(len(c.SSHCiphers), "ssh=%s", ssh),
					choice(len(c.Threads), "threads=%d", n))
				out = append(out, one)
			}
		}
	}
	return out
}

// anyOf is a list that is gone through once when it is empty.
func anyOf(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

func resultSize(w *v1alpha1.BenchmarkWorkload) (out []Cell) {
	r := w.ResultSize
	for _, size := range r.Sizes {
		for _, n := range r.Threads {
			out = append(out, Cell{Workload: w, Kind: result.KindResultSize, Threads: int(n), Size: int(size),
				Variant: variant(choice(len(r.Sizes), "size=%d", size), choice(len(r.Threads), "threads=%d", n))})
		}
	}
	return out
}

// sshCiphers are those of a tunnel; without one it is none, once.
func sshCiphers(c *v1alpha1.ConnectWorkload) []string {
	switch {
	case c.Via != v1alpha1.ViaSSHTunnel:
		return []string{""}
	case len(c.SSHCiphers) == 0:
		return []string{v1alpha1.DefaultSSHCipher}
	}
	return c.SSHCiphers
}

func cipher(w *v1alpha1.BenchmarkWorkload) (out []Cell) {
	c := w.Cipher
	for _, acceleration := range c.CPUAcceleration {
		for _, name := range c.Ciphers {
			out = append(out, Cell{Workload: w, Kind: result.KindCipher, Cipher: name,
				WithoutAccelerator: acceleration == v1alpha1.AccelerationOff,
				Variant: variant(choice(len(c.Ciphers), "cipher=%s", name), choice(len(c.CPUAcceleration), "cpuAcceleration=%s",
					acceleration))})
		}
	}
	return out
}

func transfer(w *v1alpha1.BenchmarkWorkload) (out []Cell) {
	s := w.StateTransfer
	for _, acceleration := range s.CPUAcceleration {
		for _, method := range s.Methods {
			numbers := threads(s, method)
			for _, n := range numbers {
				out = append(out, Cell{Workload: w, Kind: result.KindTransfer, Threads: int(s.LoadThreads), Method: method,
					Parallel: int(n), WithoutAccelerator: acceleration == v1alpha1.AccelerationOff,
					Variant: variant(choice(len(s.Methods), "method=%s", method), choice(len(numbers), "parallel=%d", n),
						choice(len(s.CPUAcceleration), "cpuAcceleration=%s", acceleration))})
			}
		}
	}
	return out
}

// threads are the numbers of them a method is measured with. What rsync copies side by side are whole databases: to
// measure one with each number would be to measure the same thing again.
func threads(s *v1alpha1.StateTransferWorkload, method string) []int32 {
	if method == "Rsync" && s.Databases < 2 {
		return s.Parallel[max(0, len(s.Parallel)-1):]
	}
	return s.Parallel
}
