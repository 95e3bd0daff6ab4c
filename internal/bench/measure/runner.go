// Package measure is the program in a benchmark's Jobs. It is reported a result.Plan and leaves a
// result.Output in a ConfigMap; what it cannot do it says there, and in its termination message.
package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/logs"
)

// podLog is the pod's log: what the load generator prints, line by line.
var podLog = logs.FromEnv(os.Stdout)

// target is the database a run is about, and how it is reached.
type target struct {
	plan     result.Plan
	password string
	// ca is the file of the cluster's CA.
	ca string
}

// runner carries what every kind of run needs.
type runner struct {
	target
	agents  agents
	openVPN OpenVPN
	// sidecar is the socket of the container whose usage is a part of the client's; "": none.
	sidecar string
	// log collects the load generator's own words.
	log strings.Builder
	out result.Output
}

// Main does what the environment says, with the VPN of the program. The error, if any, is in the Output as well.
func Main(ctx context.Context, vpn OpenVPN) error {
	r := &runner{openVPN: vpn, target: target{password: os.Getenv(result.EnvPassword),
		ca: filepath.Join(result.CADir, "ca.crt")}}
	if err := json.Unmarshal([]byte(os.Getenv(result.EnvPlan)), &r.plan); err != nil {
		return terminate(fmt.Errorf("reading %s: %w", result.EnvPlan, err))
	}
	r.agents = newAgents(r.plan.Members)
	r.out.Kind = r.plan.Kind
	workErr := r.work(ctx)
	if workErr != nil {
		r.out.Error = workErr.Error()
		r.out.LastLines = result.LastWords(r.log.String(), 8)
	}
	r.environment(ctx)
	if err := deliver(r.out, r.log.String()); err != nil {
		return terminate(fmt.Errorf("leaving the result: %w", err))
	}
	return terminate(workErr)
}

func (r *runner) work(ctx context.Context) error {
	switch r.plan.Kind {
	case result.KindPrepare:
		return r.prepare(ctx)
	case result.KindOLTP:
		return r.oltp(ctx)
	case result.KindConnect:
		return connecting{r}.connect(ctx)
	case result.KindResultSize:
		return r.answers(ctx)
	case result.KindOperation:
		return r.operation(ctx)
	case result.KindTransfer:
		return r.transfer(ctx)
	case result.KindCipher:
		return r.cipher(ctx)
	}
	return fmt.Errorf("unknown kind of run %q", r.plan.Kind)
}

// terminationLog is where kubelet reads a container's last message; it keeps 4096 bytes.
const (
	terminationLog = "/dev/termination-log"
	maxTermination = 3000
)

// terminate leaves the reason of a failure for readers of the pod's status.
func terminate(err error) error {
	if err != nil {
		text := err.Error()
		_ = os.WriteFile(terminationLog, []byte(text[:min(len(text), maxTermination)]), 0o600) // it may not be there
	}
	return err
}

// measure does one thing inside the measured window: counters are read at both ends, and the nodes
// are watched meanwhile.
func (r *runner) measure(ctx context.Context, do func(context.Context) error) error {
	before, selfBefore := r.agents.samples(ctx), self()
	clientBefore := children()
	throttled := throttledPeriods()
	proxyBefore, err := proxied{r}.usage(ctx)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	events, load, memory := make(chan []event), make(chan []result.LoadPoint), make(chan float64)
	go func() { events <- r.agents.watch(watching) }()
	go func() { load <- r.agents.record(watching) }()
	go func() { memory <- proxied{r}.memory(watching) }()

	r.out.StartedAt = time.Now()
	err = do(ctx)
	r.out.EndedAt = time.Now()

	clientAfter, selfAfter := children(), self()
	stop()
	r.out.Noticed, r.out.Load = r.noticed(<-events), <-load
	proxyAfter, proxyErr := proxied{r}.usage(ctx)
	after := r.agents.samples(ctx)
	r.out.Members = map[string]result.Window{}
	for _, m := range r.plan.Members {
		r.out.Members[m.Name] = result.Window{Before: before[m.Name], After: after[m.Name]}
	}
	r.out.Client = result.Usage{CPUSeconds: clientAfter - clientBefore, Throttled: throttledPeriods() - throttled}
	r.out.Runner = result.Usage{CPUSeconds: selfAfter - selfBefore}
	r.out.Proxy = result.Usage{CPUSeconds: proxyAfter.CPUSeconds - proxyBefore.CPUSeconds,
		Throttled: proxyAfter.Throttled - proxyBefore.Throttled, MemoryBytes: <-memory}
	if r.sidecar != "" {
		r.out.Client.CPUSeconds += r.out.Proxy.CPUSeconds
	}
	if err == nil && r.plan.Kind == result.KindOLTP {
		r.settle(ctx)
	}
	return errors.Join(err, proxyErr)
}
