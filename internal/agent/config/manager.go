package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Member is whose configuration it is.
type Member struct {
	// Name, Namespace and Address are the pod's, User is the account mariadbd runs as.
	Name, Namespace, Address, User string
}

// Events are callbacks into the event loop.
type Events struct {
	// Taken is called when another configuration has been taken over, Applied when a running server has settings of it.
	Taken, Applied func()
}

// Manager is not safe for concurrent use; event loop only.
type Manager struct {
	// Node is the configuration in use, nil before the first one. Output is rendered from it.
	Node   *agentapi.NodeConfig
	Output Output
	// Checking reports whether mariadbd is looking at new settings.
	Checking bool

	loop   eventloop.Loop
	places platform.Places
	member Member
	image  *mariadbd.Image
	table  *platform.ProcessTable
	server Server
	events Events

	problem string
	reason  agentapi.ConfigReason // of the problem
	keys    keyFiles
	back    fallback
	checked checked
	run     Run
	live    live
}

// NewManager returns a Manager without a configuration.
func NewManager(loop eventloop.Loop, places platform.Places, member Member, image *mariadbd.Image,
	table *platform.ProcessTable, server Server,
	events Events) Manager {
	return Manager{loop: loop, places: places, member: member, image: image, table: table, server: server, events: events}
}

// Read takes a new NodeConfig over. One that cannot be used changes nothing but who accepts writes.
func (r *Manager) Read() {
	data, err := os.ReadFile(filepath.Join(r.places.Config, agentapi.ConfigKey))
	if err != nil {
		r.setProblem(agentapi.ConfigUnreadable, err)
		return
	}
	var config agentapi.NodeConfig
	if err := json.Unmarshal(data, &config); err != nil {
		r.setProblem(agentapi.ConfigInvalid, fmt.Errorf("%s: %w", agentapi.ConfigKey, err))
		return
	}
	if err := config.CheckNamespace(r.member.Namespace); err != nil {
		r.setProblem(agentapi.ConfigInvalid, err)
		return
	}
	if err := r.takeWrites(config); err != nil {
		r.setProblem(agentapi.ConfigNotWritten, err)
		return
	}
	if err := Check(config, r.member.Name); err != nil {
		r.setProblem(agentapi.ConfigInvalid, err)
		return
	}
	r.keys = takeKeys(r.places, config.AtRest)
	usable, can := usableAtRest(r.places, config.AtRest, r.keys)
	if !can {
		return // no server can be started, and none can check the settings
	}
	config.AtRest = usable
	var refused string
	published := config.Settings
	config.Settings, refused = r.fallBack(published)
	output := r.build(config)
	if r.Node != nil && r.Node.Revision == config.Revision && sameOutput(r.Output, output) {
		r.Node.Hibernated, r.Node.History = config.Hibernated, config.History
		r.problem, r.reason = refused, agentapi.ConfigSettings
		return
	}
	if known, err := r.checkSettings(config, output); !known {
		return
	} else if err != nil && refused != "" { // a check of the published ones again would have no end
		r.setProblem(checkReason(err), fmt.Errorf("%s; the settings before cannot be used either: %w", r.back.Why, err))
		return
	} else if err != nil {
		r.setProblem(checkReason(err), err)
		r.refuseFirst(published, err)
		return
	}
	r.problem, r.reason = refused, agentapi.ConfigSettings
	if err := r.write(output); err != nil {
		r.setProblem(agentapi.ConfigNotWritten, err)
		return
	}
	r.Node, r.Output = &config, output
	r.image.Missing = Missing(Needed(config), mariadbd.HasProgram)
	r.events.Taken()
	r.loop.Logger.Info("configuration read", "revision", config.Revision) // in the format it asks for
}

// build makes the member's configuration of a published one.
func (r *Manager) build(config agentapi.NodeConfig) Output {
	return Build(Input{
		CPUFlags: r.image.CPUFlags,
		Config:   config, Name: r.member.Name, Address: r.member.Address, Provider: r.image.Provider, User: r.member.User,
		Places: r.places, OpenSSLTool: mariadbd.HasProgram("openssl"), OldSocat: r.image.OldSocat,
		OpenFiles: openFiles(),
	})
}

// openFiles is how many files a program may open at most that this one starts.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Max
}

func sameOutput(x, y Output) bool {
	return x.MyCnf.Render() == y.MyCnf.Render() && x.OpenSSL == y.OpenSSL && x.Scripts == y.Scripts
}

func (r *Manager) setProblem(reason agentapi.ConfigReason, err error) {
	if r.problem != err.Error() {
		r.loop.Logger.Error("the configuration cannot be used", "error", err)
	}
	r.problem, r.reason = err.Error(), reason
}

// write puts the rendered files where mariadbd, OpenSSL and the scripts read them. The
// scripts read [sst] at every transfer, so this takes effect for transfers at once.
func (r *Manager) write(o Output) error {
	for path, text := range map[string]string{
		r.places.OpenSSLCnf(): o.OpenSSL,
		r.places.ScriptEnv():  o.Scripts,
		r.places.MyCnf():      o.MyCnf.Render(),
	} {
		if err := datadir.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Identity returns whose member it is.
func (r *Manager) Identity() agentapi.Identity {
	if r.Node == nil {
		return agentapi.Identity{Namespace: r.member.Namespace}
	}
	return r.Node.Identity()
}

// Missing is why there is no configuration, nil when there is one.
func (r *Manager) Missing() *agentapi.Failure {
	switch {
	case r.keys.missing() != nil:
		return r.keys.missing()
	case r.Node != nil:
		return nil
	case r.problem != "":
		return &agentapi.Failure{Reason: agentapi.FailureConfig, Message: r.problem}
	}
	return &agentapi.Failure{Reason: agentapi.FailureConfig, Message: "no configuration has been published yet"}
}

// Report reports the configuration, and the one the running server has.
func (r *Manager) Report(to *agentapi.Report) {
	to.Cluster, to.Refusal = r.Identity(), r.Node.Refused()
	c := &to.Config
	if c.Problem = r.problem; r.problem != "" {
		c.Reason = r.reason
	}
	if r.keys.problem != "" || r.run.Output.AtRest != "" || r.Node != nil && r.Node.AtRest != nil {
		if to.AtRest == nil {
			to.AtRest = &agentapi.AtRestReport{}
		}
		to.AtRest.Problem, to.AtRest.Mode = r.keys.problem, r.run.Output.AtRest
	}
	if r.Node != nil && r.back.Refused == nil { // the revision has settings that are not in use
		c.Loaded = r.Node.Revision
	}
	if r.run.pid != 0 {
		c.Socket, c.Suites = r.run.Output.Socket, r.run.Output.Suites
		c.RestartNeeded = r.run.Output.Hash != r.Output.Hash
	}
}

// LogFormat is the published format of the log, for what is written before the configuration is taken over; "" when it
// cannot be read.
func LogFormat(places platform.Places) string {
	data, err := os.ReadFile(filepath.Join(places.Config, agentapi.ConfigKey))
	if err != nil {
		return ""
	}
	var published struct {
		LogFormat string `json:"logFormat"`
	}
	_ = json.Unmarshal(data, &published) // reported when it is taken over
	return published.LogFormat
}
