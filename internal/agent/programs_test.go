//go:build integration

package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// programs are agents, each compiled once for all worlds.
type programs struct {
	mu    sync.Mutex
	dir   string
	paths map[string]string
}

var built = programs{paths: map[string]string{}}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

// agent is the path of the agent.
func (p *programs) agent(t *testing.T) string {
	t.Helper()
	if raceWanted() {
		return p.path(t, "agent", "CGO_ENABLED=1", "-race", agentPackage)
	}
	return p.path(t, "agent", noCgo, agentPackage)
}

const (
	agentPackage = "../../cmd/agent"
	noCgo        = "CGO_ENABLED=0"
)

// raceWanted: GAGENT_RACE=1 runs the agents with the race detector.
func raceWanted() bool { return os.Getenv("GAGENT_RACE") != "" }

// path compiles the program of that name unless that was done, and returns its path.
func (p *programs) path(t *testing.T, name, cgo string, args ...string) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if path := p.paths[name]; path != "" {
		return path
	}
	if p.dir == "" {
		p.dir = got(os.MkdirTemp("", "gagent-programs-"))(t) //nolint:usetesting // for all tests
	}
	path := filepath.Join(p.dir, name)
	build := exec.Command("go", append([]string{"build", "-trimpath", "-o", path}, args...)...)
	build.Env = append(os.Environ(), cgo)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(build.Args, " "), err, out)
	}
	p.paths[name] = path
	return path
}

// first is the agent that all nodes begin with.
func (p *programs) first(t *testing.T) *agentapi.Program {
	t.Helper()
	return got(agentapi.ReadProgram(p.agent(t), "", runtime.GOARCH))(t)
}

// next is the same agent with another version.
func (p *programs) next(t *testing.T) *agentapi.Program {
	t.Helper()
	return p.read(t, "next", "-ldflags=-X github.com/galera-operator/galera-operator/internal/version.Version=next",
		agentPackage)
}

// refuses is one that changes its mind when it is to take over.
func (p *programs) refuses(t *testing.T) *agentapi.Program {
	t.Helper()
	return p.read(t, "refuses", "./testdata/refuses")
}

func (p *programs) read(t *testing.T, name string, args ...string) *agentapi.Program {
	t.Helper()
	return got(agentapi.ReadProgram(p.path(t, name, noCgo, args...), "", runtime.GOARCH))(t)
}
