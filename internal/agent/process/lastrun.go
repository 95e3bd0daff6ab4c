package process

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// lastRun keeps which server is in which Primary view, in a directory that outlives the container. The kernel kills all
// processes of a container that is out of memory, the agent included (memory.oom.group): the next agent of the pod then
// reports the end, so that the group need not wait for its own time-out. No server of the container outlives its agent.
type lastRun struct {
	path  string
	noted agentapi.Ended
}

// openLastRun returns the notes, and what the agent before left: nil after an orderly end, and in a new pod.
func openLastRun(path string) (*lastRun, *agentapi.Ended) {
	l := &lastRun{path: path}
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &l.noted) != nil || l.noted == (agentapi.Ended{}) {
		l.noted = agentapi.Ended{}
		return l, nil
	}
	left := l.noted
	return l, &left
}

// keep notes what the end of the server would be reported as.
func (l *lastRun) keep(e *agentapi.Ended, logger *slog.Logger) {
	if err := l.note(e); err != nil {
		logger.Warn("cannot keep which view the server is in: if the agent ends with it, the group waits for it longer",
			"error", err)
	}
}

// note keeps what an end of the server would be reported as, nil for nothing.
func (l *lastRun) note(e *agentapi.Ended) error {
	var now agentapi.Ended
	if e != nil {
		now = *e
	}
	if now == l.noted {
		return nil
	}
	l.noted = now
	if e == nil {
		if err := os.Remove(l.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(l.path+".new", l.path)
}
