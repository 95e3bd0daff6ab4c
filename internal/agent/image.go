package agent

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/procs"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
)

// versionTime bounds a program's answer to the question for its version.
const versionTime = 20 * time.Second

// lookAtImage asks the image's programs for their versions. It is known before anything else happens
// which mariadbd would run: not every one may touch every data directory.
func (a *agent) lookAtImage(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	if a.mariadb != "" {
		a.onVersion(serverVersion(ctx, &a.table, a.mariadb))
	}
	if path, err := exec.LookPath("socat"); err == nil {
		if exit, err := server.Run(ctx, &a.table, server.Command{Path: path, Args: []string{"-V"}}); err == nil {
			a.oldSocat = servercnf.OldSocat(strings.Join(exit.Lines, " "))
		}
	}
}

func (a *agent) onVersion(version string, err error) {
	a.image.ServerVersion, a.mute, a.muteAt = version, "", time.Now()
	if err != nil {
		a.mute = err.Error()
	}
}

// askAgain asks a mariadbd that did not tell its version: the host may have been short of something.
func (a *agent) askAgain() {
	if a.mute == "" || a.draining || time.Since(a.muteAt) < versionTime {
		return
	}
	a.muteAt = time.Now()
	ctx, cancel := a.workerContext(versionTime)
	go func() {
		defer cancel()
		v, err := serverVersion(ctx, &a.table, a.mariadb)
		a.post(func() { a.onVersion(v, err) })
	}()
}

// serverVersion asks mariadbd for its version: "mariadbd  Ver 11.8.6-MariaDB-… for …".
func serverVersion(ctx context.Context, table *procs.Table, path string) (string, error) {
	exit, err := server.Run(ctx, table, server.Command{Path: path, Args: []string{"--no-defaults", "--version"}})
	if err != nil {
		return "", err
	}
	if v := parseVersion(strings.Join(exit.Lines, " ")); v != "" && exit.Code == 0 {
		return v, nil
	}
	return "", errors.New("asked for its version, it ended with " + describeExit(exit))
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
