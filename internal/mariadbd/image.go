package mariadbd

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// versionTimeout bounds a program's answer to the question for its version.
const versionTimeout = 20 * time.Second

// Image is what is known of the image. Not safe for concurrent use; event loop only.
type Image struct {
	agentapi.ImageReport
	// Mariadbd is the path of the server, "" when the image has none.
	Mariadbd string
	// OldSocat reports whether socat is older than 1.8.
	OldSocat bool

	loop  eventloop.Loop
	table *platform.ProcessTable
	// versionProblem is why mariadbd does not print its version, "" when it does.
	versionProblem   string
	versionProblemAt time.Time
}

// NewImage finds the image's programs.
func NewImage(loop eventloop.Loop, table *platform.ProcessTable) Image {
	return Image{
		ImageReport: agentapi.ImageReport{Provider: FindProvider(), CPUFlags: CPUFlags()},
		Mariadbd:    FindServer(), loop: loop, table: table,
	}
}

// ReadVersions asks the image's programs for their versions. It is known before anything else happens
// which mariadbd would run: not every one may touch every data directory.
func (i *Image) ReadVersions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	if i.Mariadbd != "" {
		i.onVersion(ServerVersion(ctx, i.table, i.Mariadbd))
	}
	if path, err := exec.LookPath("socat"); err == nil {
		if exit, err := Run(ctx, i.table, Command{Path: path, Args: []string{"-V"}}); err == nil {
			i.OldSocat = OldSocat(strings.Join(exit.Lines, " "))
		}
	}
}

func (i *Image) onVersion(version string, err error) {
	i.ServerVersion, i.versionProblem, i.versionProblemAt = version, "", time.Now()
	if err != nil {
		i.versionProblem = err.Error()
	}
}

// Tick asks a mariadbd again that did not print its version: the host may have been short of something.
func (i *Image) Tick() {
	if i.versionProblem == "" || time.Since(i.versionProblemAt) < versionTimeout {
		return
	}
	i.versionProblemAt = time.Now()
	ctx, cancel := i.loop.Work(versionTimeout)
	go func() {
		defer cancel()
		v, err := ServerVersion(ctx, i.table, i.Mariadbd)
		i.loop.Post(func() { i.onVersion(v, err) })
	}()
}

// Problem is why no mariadbd of the image can be run at all, nil when one can.
func (i *Image) Problem() *agentapi.Failure {
	switch {
	case i.Mariadbd == "":
		return &agentapi.Failure{Reason: agentapi.FailureNoServer, Message: "the image has no mariadbd"}
	case i.versionProblem != "":
		return &agentapi.Failure{Reason: agentapi.FailureNoServer, Message: "the image's mariadbd cannot be run: " +
			i.versionProblem}
	}
	return nil
}

// Report adds what is known of the image.
func (i *Image) Report(r *agentapi.Report) {
	r.Image = i.ImageReport
	r.Image.Missing = slices.Clone(i.Missing)
}

// ServerVersion asks the mariadbd at path for its version: "mariadbd  Ver 11.8.6-MariaDB-… for …".
func ServerVersion(ctx context.Context, table *platform.ProcessTable, path string) (string, error) {
	exit, err := Run(ctx, table, Command{Path: path, Args: []string{"--no-defaults", "--version"}})
	if err != nil {
		return "", err
	}
	if v := parseVersion(strings.Join(exit.Lines, " ")); v != "" && exit.Code == 0 {
		return v, nil
	}
	return "", errors.New("asked for its version, it ended with " + exit.String())
}

func parseVersion(line string) string {
	_, after, ok := strings.Cut(line, "Ver ")
	if !ok {
		return ""
	}
	version, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	if before, _, ok := strings.Cut(version, "-MariaDB"); ok {
		return before + "-MariaDB"
	}
	return version
}
