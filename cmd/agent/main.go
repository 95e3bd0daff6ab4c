// Command agent is PID 1 of a database pod, and, under other first arguments, the init container
// that installs it and the notify command mariadbd calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agent"
	"github.com/galera-operator/galera-operator/internal/agent/arbitrator"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/handover"
	"github.com/galera-operator/galera-operator/internal/agent/join"
	"github.com/galera-operator/galera-operator/internal/agent/proxy"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/logs"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
	"github.com/galera-operator/galera-operator/internal/version"
)

const usage = `usage:
  agent run                 be PID 1 of a database pod
  agent arbitrator          be PID 1 of the arbitrator's pod
  agent proxy               be PID 1 of a proxy's pod
  agent sidecar             be PID 1 of a proxy in an application's own pod
  agent sidecar-check       check whether that proxy takes clients, and its agent turns
  agent install DIRECTORY   copy this binary to DIRECTORY/agent, and name its user in DIRECTORY/passwd
  agent notify ...          called by mariadbd (wsrep_notify_cmd)
  agent throttle BYTES      copy standard input to standard output, so many bytes per second
  agent widen               let standard input and output hold more, where they are pipes
  agent check-handover      check whether an agent's state on standard input can be taken over
  agent --version           print the version`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n%s", usage)
	}
	if version.Asked(args) {
		fmt.Println(version.Version)
		return nil
	}
	switch args[0] {
	case "run":
		return runAgent()
	case "arbitrator":
		return runArbitrator()
	case "proxy":
		return proxy.Run(context.Background(), proxyOptions())
	case "sidecar":
		return runSidecar()
	case "sidecar-check":
		return proxy.Answering(agentapi.SidecarSocket, agentapi.ProxyRunDir)
	case handover.CheckCommand:
		state, err := handover.Read(os.Stdin)
		if err != nil {
			return err
		}
		return state.Usable()
	case "install":
		if len(args) != 2 {
			return fmt.Errorf("install needs a directory\n%s", usage)
		}
		return errors.Join(platform.InstallAgent(args[1]), platform.WritePasswd(args[1]))
	case "notify":
		// An agent that does not listen yet reads the state by itself: mariadbd must not be troubled.
		_ = wsrep.SendNotification(platform.DefaultPlaces().NotifySocket(), wsrep.ParseNotification(args[1:]))
		return nil
	case "throttle":
		rate, err := strconv.ParseInt(strings.Join(args[1:], " "), 10, 64)
		if err != nil {
			return fmt.Errorf("throttle needs a number of bytes\n%s", usage)
		}
		return join.CopyThrottled(os.Stdout, os.Stdin, rate)
	case "widen":
		join.EnlargePipes()
		return nil
	}
	return fmt.Errorf("unknown command %q\n%s", args[0], usage)
}

// memoryLimit is a soft limit (GOMEMLIMIT) that keeps the agent small next to the database.
const memoryLimit = 48 << 20

func runAgent() error {
	o, err := options("mariadbd")
	if err != nil {
		return err
	}
	return agent.Run(context.Background(), o)
}

func runArbitrator() error {
	o, err := options("garbd")
	if err != nil {
		return err
	}
	return arbitrator.Run(context.Background(), arbitrator.Options{Name: o.Name, Namespace: o.Namespace,
		Address: o.Address,
		Places:  o.Places, Version: o.Version, Digest: o.Digest, Logger: o.Logger, Output: o.Output, LogFormat: o.LogFormat})
}

func runSidecar() error {
	number := func(variable string) int32 {
		n, err := strconv.ParseInt(os.Getenv(variable), 10, 32)
		if err != nil || n < 1 {
			return 0
		}
		return int32(n)
	}
	o := proxyOptions()
	o.Sidecar = &proxy.Sidecar{Host: os.Getenv(agentapi.EnvSidecarHost), Socket: agentapi.SidecarSocket,
		BindingDir:     agentapi.SidecarBindingDir,
		MaxConnections: number(agentapi.EnvSidecarMaxConnections), MaxClients: number(agentapi.EnvSidecarMaxClients),
		MetricsPort: number(agentapi.EnvSidecarMetricsPort)}
	if o.Sidecar.Host == "" || o.Sidecar.MaxConnections == 0 || o.Sidecar.MaxClients == 0 {
		return fmt.Errorf("%s names no Service, or %s or %s is no number above 0", agentapi.EnvSidecarHost,
			agentapi.EnvSidecarMaxConnections, agentapi.EnvSidecarMaxClients)
	}
	return proxy.Run(context.Background(), o)
}

func proxyOptions() proxy.Options {
	debug.SetMemoryLimit(memoryLimit)
	out := logs.FromEnv(os.Stdout)
	slog.SetDefault(out.Logger()) // for what libraries log
	return proxy.Options{
		Address: os.Getenv(agentapi.EnvPodIP), Dir: agentapi.ProxyRunDir, StateDir: agentapi.ProxyStateDir,
		TLSDir: agentapi.ProxyTLSDir, Program: "proxysql", Logger: out.Logger(),
		Output: func(line string) { out.Line("proxysql", line, logs.Whole) },
	}
}

// options are the same for both kinds of agent: the pod's environment, and where the lines go, those of the server
// included.
func options(server string) (agent.Options, error) {
	digest, err := handover.Digest()
	debug.SetMemoryLimit(memoryLimit)
	places, out := platform.DefaultPlaces(), logs.New(os.Stdout)
	format := func(format string) { out.SetFormat(logs.Format(format)) }
	format(config.LogFormat(places)) // of the first line, too
	slog.SetDefault(out.Logger())    // for what libraries log
	return agent.Options{
		Name:      os.Getenv(agentapi.EnvPodName),
		Namespace: os.Getenv(agentapi.EnvPodNamespace),
		Address:   os.Getenv(agentapi.EnvPodIP),
		Places:    places,
		Version:   version.Version,
		Digest:    digest,
		Logger:    out.Logger(),
		Output:    func(line string) { out.Line(server, line, mariadbd.ParseLine) },
		LogFormat: format,
	}, err
}
