package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// shell is a shell inside a container that takes one command after another.
type shell struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
	end    string
}

// openShell starts a shell in a container.
func openShell(ctx context.Context, container string) (*shell, error) {
	s := &shell{cmd: exec.CommandContext(ctx, "docker", "exec", "-i", container, "sh"), end: rand.Text()}
	input, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.input, s.output = input, bufio.NewReader(output)
	return s, s.cmd.Start()
}

// run runs a command and returns what it printed. Whether it succeeded is to be seen from that.
func (s *shell) run(command string) (string, error) {
	if _, err := fmt.Fprintf(s.input, "%s\necho\necho %s\n", command, s.end); err != nil {
		return "", err
	}
	var out strings.Builder
	for {
		line, err := s.output.ReadString('\n')
		if err != nil {
			return out.String(), fmt.Errorf("the shell ended: %w", err)
		}
		if strings.TrimSpace(line) == s.end {
			return out.String(), nil
		}
		out.WriteString(line)
	}
}

// close ends the shell.
func (s *shell) close() {
	_ = s.input.Close()
	_ = s.cmd.Wait() // its container is about to be removed
}
