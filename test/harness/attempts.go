package harness

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Attempt is one begin of a join, as the node's agent logs it.
type Attempt struct {
	At time.Time
	// Data is what the agent took the directory for: Empty, Incomplete or Present.
	Data string
}

var (
	joiningLine = regexp.MustCompile(`msg=joining .*\bdata=(\w*)`)
	failedLine  = regexp.MustCompile(`msg="mariadbd is down" .*`)
)

// notStarted is what an attempt states that has ended before there was a server: it troubled no node.
const notStarted = "mariadbd could not be started"

// Attempts returns when a node has begun to join since a moment, with a server that was started. Its pod's log reaches
// back to the pod's creation.
func (c Joins) Attempts(ctx context.Context, pod string, since time.Time) ([]Attempt, error) {
	text, err := c.cluster.Pods().TimedLogs(ctx, pod, since)
	if err != nil {
		return nil, err
	}
	var out []Attempt
	for line := range strings.Lines(text) {
		if n := len(out); n > 0 && strings.Contains(line, notStarted) {
			out = out[:n-1]
		}
		m := joiningLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		stamp, _, _ := strings.Cut(line, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return nil, fmt.Errorf("the log of %s: %w", pod, err)
		}
		out = append(out, Attempt{At: at, Data: m[1]})
	}
	return out, nil
}

// FailedAttempts returns what a node's agent has said of attempts that failed since a moment: reason and message.
func (c Joins) FailedAttempts(ctx context.Context, pod string, since time.Time) ([]string, error) {
	text, err := c.cluster.Pods().TimedLogs(ctx, pod, since)
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(text) {
		if said := failedLine.FindString(line); said != "" {
			out = append(out, said)
		}
	}
	return out, nil
}
