package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// ErrRequirement is returned when this machine cannot run what was asked for; the message says
// what is missing.
var ErrRequirement = errors.New("this machine cannot run the tests")

// CheckRequirements makes sure that this process may capture packets and kill processes in pods,
// and that the nodes are containers of this machine.
func CheckRequirements(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: capturing packets and killing processes inside pods needs root; run them with sudo -E",
			ErrRequirement)
	}
	if _, err := exec.LookPath("docker"); err != nil {
		return fmt.Errorf("%w: the command docker is missing; make up installs it", ErrRequirement)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := Docker(ctx, "version", "--format", "{{.Server.Version}}"); err != nil {
		return fmt.Errorf("%w: no Docker engine answers; make up starts it (%w)", ErrRequirement, err)
	}
	return nil
}

// Docker runs one docker command and returns what it printed.
func Docker(ctx context.Context, args ...string) (string, error) {
	return DockerWithInput(ctx, "", args...)
}

// DockerWithInput runs one docker command that reads input.
func DockerWithInput(ctx context.Context, input string, args ...string) (string, error) {
	return run(ctx, input, "docker", args...)
}

// run runs a program and returns its standard output; an error carries what it complained about.
func run(ctx context.Context, input, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var out, complaints strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err,
			strings.TrimSpace(complaints.String()))
	}
	return out.String(), nil
}
