package handover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// Part is a component that can be busy: it may postpone a handover.
type Part interface {
	// Busy returns what a successor could not continue, "" when it can continue everything. The handover is postponed
	// then.
	Busy() string
}

// Keeper is a component whose state must outlive the process.
type Keeper interface {
	Part
	// Save returns what Load needs, and the descriptors in it.
	Save() (state any, descriptors []int, err error)
	// Load takes over what Save of an agent before has returned. After an error nothing has changed.
	Load(data json.RawMessage) error
}

// Components are the components of an agent.
type Components struct {
	// Parts are asked whether they are busy. Keepers are loaded in this order.
	Parts   []Part
	Keepers []Named
	Sockets *platform.SocketSet
	// Table knows the agent's child processes.
	Table *platform.ProcessTable
	// Report is the last one published, Primary the member clients are sent to.
	Report  func() agentapi.Report
	Primary func() string
}

// Named is a component under the name it keeps from version to version.
type Named struct {
	Name string
	Keeper
}

const (
	socketsName = "sockets"
	// maxHold bounds how long a successor publishes its predecessor's last report.
	maxHold = 10 * time.Second
)

// Replacer replaces the agent by another one. Not safe for concurrent use (event loop only), except for Take.
type Replacer struct {
	loop       eventloop.Loop
	components Components

	one     sync.Mutex // one at a time
	count   int
	problem string
	// until is when the previous agent's last report is dropped, whatever this one knows by then.
	until time.Time
	exec  func(*os.File, State) error
}

// New returns a Replacer for these components.
func New(loop eventloop.Loop, deps Components) Replacer {
	return Replacer{loop: loop, components: deps, exec: Exec}
}

// Take reads another agent's program, whose SHA-256 is given in hexadecimal, and asks it whether it can take over. It
// returns what makes it this one's successor. Safe for concurrent use.
func (r *Replacer) Take(ctx context.Context, digest string, body io.Reader) (commit func(), err error) {
	if !r.one.TryLock() {
		return nil, errors.New("another program is being checked")
	}
	defer r.one.Unlock()
	hash := sha256.New()
	binary, err := Binary(io.TeeReader(body, hash))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = binary.Close()
		}
	}()
	if got := hex.EncodeToString(hash.Sum(nil)); got != digest {
		return nil, fmt.Errorf("the program has the digest %s, and not %s", got, digest)
	}
	s, err := r.ask(ctx)
	if err != nil {
		return nil, err
	}
	if err := Check(ctx, r.components.Table, binary, s); err != nil {
		r.loop.Post(func() { r.fail(err) })
		return nil, err
	}
	return func() { r.loop.Post(func() { r.replace(binary, digest) }) }, nil
}

// ask lets the loop write down the state.
func (r *Replacer) ask(ctx context.Context) (State, error) {
	type answer struct {
		s   State
		err error
	}
	done := make(chan answer, 1)
	r.loop.Post(func() {
		s, err := r.save()
		done <- answer{s, err}
	})
	select {
	case got := <-done:
		return got.s, got.err
	case <-ctx.Done():
		return State{}, ctx.Err()
	}
}

// save writes the state down, or returns what keeps the agent from being replaced.
func (r *Replacer) save() (State, error) {
	if r.loop.Draining() {
		return State{}, errors.New("the pod is terminating")
	}
	for _, p := range r.components.Parts {
		if why := p.Busy(); why != "" {
			return State{}, errors.New(agentapi.NotNow + why)
		}
	}
	report := r.components.Report()
	s := State{Format: Format, From: report.AgentVersion, Report: report, Primary: r.components.Primary(),
		Components: map[string]json.RawMessage{}}
	s.Report.Handovers = r.count + 1
	for _, k := range r.components.Keepers {
		if why := k.Busy(); why != "" {
			return State{}, errors.New(agentapi.NotNow + why)
		}
		state, descriptors, err := k.Save()
		if err == nil {
			err = s.put(k.Name, state, descriptors)
		}
		if err != nil {
			return State{}, fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	open := r.components.Sockets.Save()
	var descriptors []int
	for _, fd := range open {
		descriptors = append(descriptors, fd)
	}
	return s, s.put(socketsName, open, descriptors)
}

func (s *State) put(name string, state any, descriptors []int) error {
	data, err := json.Marshal(state)
	s.Components[name], s.Descriptors = data, append(s.Descriptors, descriptors...)
	return err
}

// replace replaces the process. It returns only when that fails, or has to wait.
func (r *Replacer) replace(binary *os.File, digest string) {
	defer func() { _ = binary.Close() }()
	s, err := r.save()
	if err != nil {
		r.loop.Logger.Info("the agent is not replaced", "why", err)
		return // asked again
	}
	r.loop.Logger.Info("the agent is replaced", "sha256", digest)
	r.fail(r.exec(binary, s))
}

func (r *Replacer) fail(err error) {
	r.problem = err.Error()
	r.loop.Logger.Error("the agent could not be replaced", "error", err)
}

// Sockets inherits the previous agent's sockets.
func (r *Replacer) Sockets(s *State) error {
	if err := s.Usable(); err != nil {
		return err
	}
	return r.components.Sockets.Inherit(s.Components[socketsName])
}

// Load takes over from the agent before. After an error the descriptors of s are still open, and it can go on.
func (r *Replacer) Load(s *State) error {
	for _, k := range r.components.Keepers {
		data, ok := s.Components[k.Name]
		if !ok {
			continue // the predecessor has no such component
		}
		if err := k.Load(data); err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	r.count, r.problem = s.Report.Handovers, s.Refused
	r.components.Sockets.Settle()
	r.until = time.Now().Add(maxHold)
	return nil
}

// Holds returns whether the previous agent's last report is still published, because this agent does not know
// everything yet.
func (r *Replacer) Holds(knows bool) bool {
	if knows {
		r.until = time.Time{}
	}
	return time.Now().Before(r.until)
}

// Report adds how often the agent was replaced, and why it was not the last time.
func (r *Replacer) Report(to *agentapi.Report) { to.Handovers, to.HandoverProblem = r.count, r.problem }
