package follow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// trialFile is the name of the file in platform.Places.Run: nothing in the loop waits for the volume.
	trialFile = "channel.json"
	// trialTime is how long a server has to run with the channel until its end is not the channel's doing.
	trialTime = 5 * time.Minute
)

// trial is what is known of a channel's beginning. It is kept, where it outlives the container, before the channel is
// opened: an agent that ends together with its server is to find it.
type trial struct {
	agentapi.ChannelEnds
	// Open reports whether the channel was opened at the position, and nothing was applied since.
	Open bool `json:"open,omitempty"`
}

// trials counts how often the server has ended shortly after its channel was opened. Event loop only.
type trials struct {
	file string
	trial
	// before is what was known before the last run began, opened when the channel was opened.
	before trial
	opened time.Time
	// seen is how often the channel has ended servers of the cluster at a position, since when that is known.
	seen  agentapi.ChannelEnds
	since time.Time
}

func openTrials(dir string) trials {
	t := trials{file: filepath.Join(dir, trialFile), opened: time.Now()}
	if data, err := os.ReadFile(t.file); err != nil || json.Unmarshal(data, &t.trial) != nil {
		t.trial = trial{}
	}
	return t
}

// keep records what is known now.
func (t *trials) keep(now trial) error {
	if now == t.trial {
		return nil
	}
	t.trial = now
	if now == (trial{}) {
		if err := os.Remove(t.file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(now)
	if err == nil {
		err = os.WriteFile(t.file+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(t.file+".new", t.file)
	}
	return err
}

// begin records that a channel is about to be opened.
func (t *trials) begin(position string, now time.Time) error {
	if position == "" || t.Open && t.Position == position {
		return nil
	}
	next := trial{ChannelEnds: agentapi.ChannelEnds{Position: position}, Open: true}
	if t.Position == position {
		next.Ends = t.Ends
	}
	t.opened = now
	if err := t.keep(next); err != nil {
		return fmt.Errorf("recording that the channel is opened: %w", err)
	}
	return nil
}

// began is called for a new server: one that had the channel has ended with it.
func (t *trials) began() error {
	t.before = t.trial
	return t.keep(trial{ChannelEnds: t.ends(false)})
}

// takenOver is called after began for a server that goes on.
func (t *trials) takenOver(now time.Time) error {
	t.opened = now
	return t.keep(t.before)
}

// closed is called while the channel does not run, or its server is being stopped.
func (t *trials) closed() error {
	return t.keep(trial{ChannelEnds: t.ChannelEnds})
}

// read forgets what was counted once the channel has gone on, or its server has run with it.
func (t *trials) read(applied string, now time.Time) error {
	if t.Position == "" || applied == "" || applied == t.Position && (!t.Open || now.Sub(t.opened) <= trialTime) {
		return nil
	}
	return t.keep(trial{})
}

// ends is how often the channel has ended the server, that of now included unless it runs.
func (t *trials) ends(runs bool) agentapi.ChannelEnds {
	out := t.ChannelEnds
	if t.Open && !runs {
		out.Ends++
	}
	if out.Ends == 0 {
		return agentapi.ChannelEnds{}
	}
	return out
}

// wait returns for how long no channel is opened at a position, and how often it has ended a server there.
func (t *trials) wait(position string, others map[string]agentapi.PeerView, now time.Time) (time.Duration, int) {
	ends := lifecycle.ChannelEndsAt(position, t.ChannelEnds, others)
	if position != t.seen.Position || ends > t.seen.Ends { // fewer: one that has reported some does not answer
		t.seen, t.since = agentapi.ChannelEnds{Position: position, Ends: ends}, now
	}
	return max(0, lifecycle.ChannelPause(t.seen.Ends)-now.Sub(t.since)), t.seen.Ends
}

// pause returns for how long no channel is opened, and how often it has ended a server where this one is.
func (r *Follower) pause(now time.Time) (wait time.Duration, ends int) {
	if r.read == nil {
		return 0, 0
	}
	return r.trials.wait(r.read.Applied, r.Group.Views, now)
}

// warn logs that a trial could not be kept: an end would be counted that is not the channel's, or not counted.
func (r *Follower) warn(err error) {
	if err != nil {
		r.loop.Logger.Warn("how the channel began cannot be kept", "error", err)
	}
}
