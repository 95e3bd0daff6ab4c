package harness

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// NodeState is what one database node says of itself, asked by a client and not through the operator.
type NodeState struct {
	Pod         string
	Component   string
	State       string
	ClusterUUID string
	Size        string
	Uptime      time.Duration
	// Committed is the seqno of the last write-set that the node has committed.
	Committed int64
	Err       error
}

// Synced reports whether the node is up to date in a Primary component of that many nodes.
func (n NodeState) Synced(size int) bool {
	return n.Err == nil && n.Component == "Primary" && n.State == "Synced" && n.Size == fmt.Sprint(size)
}

// serves reports whether the node is up to date in a Primary component.
func (n NodeState) serves() bool {
	return n.Err == nil && n.Component == "Primary" && n.State == "Synced"
}

// String reports the state in a few words.
func (n NodeState) String() string {
	if n.Err != nil {
		return n.Pod + " does not answer"
	}
	return fmt.Sprintf("%s %s/%s of %s", n.Pod, n.Component, n.State, n.Size)
}

// NodeState asks one node.
func (cl *Client) NodeState(ctx context.Context, pod string) NodeState {
	out := NodeState{Pod: pod}
	status, err := cl.status(ctx, pod)
	if err != nil {
		out.Err = err
		return out
	}
	out.Component, out.State = status["wsrep_cluster_status"], status["wsrep_local_state_comment"]
	out.ClusterUUID, out.Size = status["wsrep_cluster_state_uuid"], status["wsrep_cluster_size"]
	out.Uptime, _ = time.ParseDuration(status["uptime"] + "s")
	out.Committed, _ = strconv.ParseInt(status["wsrep_last_committed"], 10, 64)
	return out
}

// status reads the server's status variables that report about the cluster.
func (cl *Client) status(ctx context.Context, pod string) (out map[string]string, err error) {
	db, err := open(cl.Pod(ctx, pod, answerTimeout))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'wsrep%' OR Variable_name = 'Uptime'")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return scanPairs(rows)
}

func scanPairs(rows *sql.Rows) (map[string]string, error) {
	out := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		out[strings.ToLower(name)] = value
	}
	return out, rows.Err()
}

// NodeStates asks all nodes.
func (cl *Client) NodeStates(ctx context.Context, pods []string) []NodeState {
	out := make([]NodeState, 0, len(pods))
	for _, p := range pods {
		out = append(out, cl.NodeState(ctx, p))
	}
	return out
}

// WaitSynced waits until every node says itself that it is Synced in one Primary component of all.
func (c *Cluster) WaitSynced(ctx context.Context, timeout time.Duration) error {
	cl, err := c.Client(ctx)
	if err != nil {
		return err
	}
	pods, err := c.PodNames(ctx)
	if err != nil {
		return err
	}
	votes, err := votes(ctx, c)
	if err != nil {
		return err
	}
	return c.Kube.Until(ctx, "all nodes Synced", timeout, func(ctx context.Context) (bool, string, error) {
		return allSynced(cl.NodeStates(ctx, pods), votes)
	})
}

func allSynced(states []NodeState, votes int) (bool, string, error) {
	done, uuid := true, states[0].ClusterUUID
	var words []string
	var errs []error
	for _, s := range states {
		done = done && s.Synced(votes) && s.ClusterUUID == uuid
		words = append(words, s.String())
		if s.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Pod, s.Err))
		}
	}
	return done, strings.Join(words, ", "), errors.Join(errs...)
}

// statusTime is how long the operator may take at least to report what all nodes say already.
const statusTime = 30 * time.Second

// WaitHealthy waits until the nodes and the operator agree that all is well.
func (c *Cluster) WaitHealthy(ctx context.Context, timeout time.Duration) error {
	start := time.Now()
	if err := c.WaitSynced(ctx, timeout); err != nil {
		return err
	}
	return c.WaitReady(ctx, max(timeout-time.Since(start), statusTime))
}
