package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// checkTimeout bounds a check of the settings, which takes a fraction of a second. A busy host may keep one from
// ending, whatever the settings are: that is reported when checkTries in a row have not ended.
const (
	checkTimeout = 20 * time.Second
	checkTries   = 3
)

// checked is the last check of settings.
type checked struct {
	text string // the option file it was about; "" when the answer is not known
	err  error
	late int    // checks in a row that did not end in time
	of   string // the option file they were about
}

// errDraft is returned for settings that could not be written for the check.
var errDraft = errors.New("the option file cannot be written")

// checkReason is the kind of an error of checkSettings.
func checkReason(err error) agentapi.ConfigReason {
	switch {
	case errors.Is(err, mariadbd.ErrSettings):
		return agentapi.ConfigSettings
	case errors.Is(err, errDraft):
		return agentapi.ConfigNotWritten
	}
	return agentapi.ConfigUnchecked
}

// judged is what is known of the settings after a check that ended with err.
func (c checked) judged(text string, err error) checked {
	late := 1
	if c.of == text {
		late += c.late
	}
	switch {
	case !errors.Is(err, context.DeadlineExceeded):
		return checked{text: text, err: err}
	case late < checkTries:
		return checked{late: late, of: text}
	}
	return checked{text: text, err: fmt.Errorf("mariadbd has not answered within %s, %d times in a row, whether it "+
		"accepts the settings: its host is busy, or its storage is slow", checkTimeout, checkTries)}
}

// checkSettings lets mariadbd check new settings before they replace the old ones: refused ones
// must never wait on the disk for the next crash to bring them up. That takes a while: the configuration is
// read again when it is known.
func (r *Manager) checkSettings(config agentapi.NodeConfig, output Output) (known bool, why error) {
	if r.image.Mariadbd == "" || len(config.Settings) == 0 || r.Node != nil && maps.Equal(r.Node.Settings,
		config.Settings) {
		return true, nil
	}
	c, text := r.checked, output.MyCnf.Render()
	switch {
	case r.Checking:
		return false, nil
	case c.text == text:
		r.checked = checked{} // an answer counts once: the next check of the same files asks again
		return true, c.err
	}
	draft := r.places.MyCnf() + ".new"
	if err := datadir.WriteFile(draft, []byte(text), 0o600); err != nil {
		return true, fmt.Errorf("%w: %w", errDraft, err)
	}
	r.Checking, r.checked = true, checked{text: text}
	ctx, cancel := r.loop.Work(checkTimeout)
	path := r.image.Mariadbd
	go func() {
		defer cancel()
		err := mariadbd.CheckSettings(ctx, r.table, mariadbd.Command{
			Path: path, Args: []string{"--defaults-file=" + draft}, Env: mariadbd.Env(r.places),
		}, r.places.Tmp)
		r.loop.Post(func() {
			r.Checking, r.checked = false, c.judged(text, err)
			r.Read()
		})
	}()
	return false, nil
}
