package galeracluster

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/maintenance"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/status"
)

const (
	// replaceTimeout bounds the replacement of one agent, the transport of its program included.
	replaceTimeout = time.Minute
	// replaceRetryInterval and maxReplaceInterval are the first and the longest pause after an agent that was not
	// replaced.
	replaceRetryInterval = 5 * time.Second
	maxReplaceInterval   = 10 * time.Minute
	// unhealthyWait is how long after its start an operator leaves the agents of clusters alone that are not healthy: the
	// others come first.
	unhealthyWait = time.Minute
	// keepTries is how long an attempt is remembered after the next one was due.
	keepTries = time.Hour
	// A cluster whose attempts took time and replaced nothing waits wasteFactor times that, maxWaste at most. Clusters of
	// a namespace that has wasted more than slowWaste leave a place to others.
	wasteFactor = 4
	maxWaste    = time.Hour
	slowWaste   = time.Minute
)

// Replacing replaces the agents of an earlier operator in place, so that no database is restarted for an upgrade of the
// operator. Safe for concurrent use.
type Replacing struct {
	// Program is the agent's that this operator brings along.
	Program *agentapi.Program
	// Clusters is how many clusters have an agent replaced at the same time.
	Clusters int

	mu    sync.Mutex
	began time.Time
	busy  map[types.NamespacedName]time.Time // since when
	tries map[types.UID]attempt              // by pod
	// wasted is the time of attempts that replaced nothing, by cluster and by namespace (its Name is empty).
	wasted map[types.NamespacedName]waste
}

// waste is time that was used in vain. It is forgotten some time after the end of the pause for it.
type waste struct {
	time, pause time.Duration
	ended       time.Time
}

// attempt is what became of the last one.
type attempt struct {
	digest string // of the agent that was to be replaced
	next   time.Time
	pause  time.Duration
	why    string
}

// agents are those of a cluster, as the plan needs them.
func (r *Replacing) agents(in status.Input) []plan.Agent {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, m := range in.Snapshot.Members {
		names = append(names, m.Name)
	}
	if a := in.Snapshot.Arbitrator; a != nil {
		names = append(names, a.Name)
	}
	var out []plan.Agent
	for _, name := range names {
		s, ok := in.Seen[name]
		a := plan.Agent{Name: name, Answers: ok && s.Live, Digest: s.Report.AgentDigest, Arch: s.Report.AgentArch,
			Primary: name == in.Facts.Cluster.Status.Primary}
		if p := podOf(in, name); p != nil {
			t, tried := r.tries[p.UID]
			a.Wait = tried && t.digest == a.Digest && in.Now.Before(t.next)
		}
		out = append(out, a)
	}
	return out
}

// outdated returns for each outdated agent, by its name, why it is not replaced now: the time has not come, or it did
// not go well when it was tried last; "" when it is about to be.
func (r *Replacing) outdated(in status.Input) map[string]string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]string{}
	wait := maintenance.AgentUpgrade(in.Facts.Cluster.Spec.Maintenance, in.Now)
	for name, s := range in.Seen {
		a := plan.Agent{Digest: s.Report.AgentDigest, Arch: s.Report.AgentArch}
		if !s.Live || !a.Outdated(r.Program.Digest, r.Program.Arch) {
			continue
		}
		out[name] = wait
		if p := podOf(in, name); p != nil && wait == "" {
			out[name] = r.tries[p.UID].why
		}
	}
	return out
}

// begin takes one of the places for a cluster.
func (r *Replacing) begin(key types.NamespacedName, healthy bool, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began.IsZero() {
		r.began = now
	}
	if _, busy := r.busy[key]; busy || len(r.busy) >= r.Clusters || !healthy && now.Sub(r.began) < unhealthyWait {
		return false
	}
	if w := r.wasted[key]; now.Before(w.ended.Add(w.pause)) || r.slow(key) && r.slowPlaces() >= max(1, r.Clusters-1) {
		return false
	}
	if r.busy == nil {
		r.busy = map[types.NamespacedName]time.Time{}
	}
	r.busy[key] = now
	return true
}

// slow reports whether the clusters of a namespace waste time.
func (r *Replacing) slow(key types.NamespacedName) bool {
	return r.wasted[types.NamespacedName{Namespace: key.Namespace}].time >= slowWaste
}

// slowPlaces returns how many places clusters have that waste time.
func (r *Replacing) slowPlaces() (n int) {
	for key := range r.busy {
		if r.slow(key) {
			n++
		}
	}
	return n
}

// waste notes how long an attempt took that replaced nothing. One that did halves what was noted before.
func (r *Replacing) waste(key types.NamespacedName, took time.Duration, replaced bool, now time.Time) {
	if r.wasted == nil {
		r.wasted = map[types.NamespacedName]waste{}
	}
	for k, w := range r.wasted {
		if now.Sub(w.ended.Add(w.pause)) > keepTries {
			delete(r.wasted, k)
		}
	}
	for _, k := range []types.NamespacedName{key, {Namespace: key.Namespace}} {
		w := waste{time: r.wasted[k].time / 2, ended: now}
		if !replaced {
			w.time = r.wasted[k].time + took
			w.pause = min(wasteFactor*w.time, maxWaste)
		}
		r.wasted[k] = w
	}
}

// end gives the place back, and remembers what became of the attempt.
func (r *Replacing) end(key types.NamespacedName, pod types.UID, digest string, err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if began, busy := r.busy[key]; busy {
		r.waste(key, now.Sub(began), err == nil, now)
	}
	delete(r.busy, key)
	if r.tries == nil {
		r.tries = map[types.UID]attempt{}
	}
	for uid, t := range r.tries { // pods that are gone
		if now.Sub(t.next) > keepTries {
			delete(r.tries, uid)
		}
	}
	before := r.tries[pod]
	t := attempt{digest: digest, pause: replaceRetryInterval, next: now.Add(replaceRetryInterval)}
	if err != nil {
		t.why = err.Error()
		if before.digest == digest && !strings.Contains(t.why, agentapi.NotNow) {
			t.pause = min(2*max(before.pause, replaceRetryInterval), maxReplaceInterval)
		}
		t.next = now.Add(t.pause)
	}
	r.tries[pod] = t
}

// replaceAgents lets the next agent be replaced that is not the one this operator brings along. Nothing waits for it:
// an agent that was replaced reports its new digest, and wakes us.
func (r *Reconciler) replaceAgents(ctx context.Context, in status.Input) {
	if r.Replacing == nil || in.Decision.Action != nil || in.Facts.Cluster.Status.Operation != nil ||
		maintenance.AgentUpgrade(in.Facts.Cluster.Spec.Maintenance, in.Now) != "" {
		return
	}
	program, key, now := r.Replacing.Program, client.ObjectKeyFromObject(in.Facts.Cluster), in.Now
	name := plan.NextAgent(r.Replacing.agents(in), program.Digest, program.Arch)
	target, followed := r.Agents.Target(key, name)
	pod := podOf(in, name)
	if name == "" || !followed || pod == nil || !r.Replacing.begin(key, in.Decision.Reason == plan.ReasonHealthy, now) {
		return
	}
	before := in.Seen[name].Report
	logger := log.FromContext(ctx).WithValues("member", name)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), replaceTimeout)
		defer cancel()
		err := r.Agents.Client.Replace(ctx, target, program)
		r.Replacing.end(key, pod.UID, before.AgentDigest, err, r.Now())
		if err != nil {
			logger.Info("the agent is not replaced", "why", err.Error())
			return
		}
		logger.Info("the agent is replaced in place", "from", before.AgentVersion, "to", program.Version)
		r.Events.Eventf(in.Facts.Cluster, nil, corev1.EventTypeNormal, "AgentReplaced", "ReplaceAgent",
			"the agent of %s is replaced in place: from %s to %s",
			name, before.AgentVersion, program.Version)
	}()
}
