package status

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// withLease is a running cluster whose nodes report the same of a lease that is wanted.
func withLease(r agentapi.LeaseReport, before string) Input {
	in := healthy()
	c := in.Facts.Cluster
	c.Name, c.Namespace, c.Generation = "shop", "prod", 4
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true, WriteLease: true}}
	c.Status.WriteLease = before
	in.Snapshot.Members[0].Pod.Role = v1alpha1.RolePrimary
	for i := range in.Snapshot.Members {
		reportLease(in, i, r)
	}
	return in
}

func reportLease(in Input, member int, r agentapi.LeaseReport) {
	name := in.Snapshot.Members[member].Name
	seen := in.Seen[name]
	seen.Report.Lease = &r
	in.Seen[name] = seen
}

// TestNextLease: nodes need a lease once all have heard of one, or one of them has needed it before. It is held once
// all need one, and is renewed until none does.
func TestNextLease(t *testing.T) {
	const starting, held, ended, ending = v1alpha1.WriteLeaseStarting, v1alpha1.WriteLeaseHeld, v1alpha1.WriteLeaseEnded,
		v1alpha1.WriteLeaseEnding
	none, heard := agentapi.LeaseReport{}, agentapi.LeaseReport{Heard: true}
	good := agentapi.LeaseReport{Heard: true, Guarded: true}
	gone := agentapi.LeaseReport{Guarded: true, Ended: true}
	since := agentapi.LeaseReport{Heard: true, Guarded: true, UnwantedHeard: 4}
	earlier, passed, ends := since, since, since
	earlier.UnwantedHeard, passed.Heard, ends.Ended = 2, false, true
	for name, c := range map[string]struct {
		before    string
		all, last agentapi.LeaseReport
		edit      func(*v1alpha1.GaleraCluster)
		want      string
	}{
		"nothing was heard":                  {"", none, none, nil, ""},
		"one has not heard":                  {"", heard, none, nil, ""},
		"all have heard":                     {"", heard, heard, nil, starting},
		"one has not got it":                 {starting, good, heard, nil, starting},
		"all have got it":                    {starting, good, good, nil, held},
		"one has no renewal yet":             {starting, good, gone, nil, starting},
		"one refuses writes":                 {held, good, gone, nil, ended},
		"one still does":                     {ended, good, gone, nil, ended},
		"none does":                          {ended, good, good, nil, held},
		"one was not asked":                  {held, good, none, nil, held},
		"the status was lost":                {"", none, gone, nil, starting},
		"none is wanted any more":            {held, since, since, unwanted, ending},
		"and one has heard of no renewal":    {held, since, none, unwanted, held},
		"and one of none since":              {held, since, good, unwanted, held},
		"and one when it was before":         {held, since, earlier, unwanted, held},
		"and one of one that has ended":      {held, since, passed, unwanted, held},
		"and one is about to refuse writes":  {ended, since, ends, unwanted, ended},
		"and one refuses writes":             {ended, since, gone, unwanted, ended},
		"and none does any more":             {ended, since, since, unwanted, ending},
		"and a person is certain":            {"", gone, gone, unwanted, ending},
		"and it was about to be":             {starting, since, since, unwanted, ending},
		"and one may not have it yet":        {starting, since, heard, unwanted, starting},
		"and is not known to be good at all": {starting, heard, gone, unwanted, starting},
		"and one has not read it":            {ending, heard, good, unwanted, ending},
		"and all have":                       {ending, heard, none, unwanted, ""},
		"it is wanted again":                 {ending, heard, good, nil, starting},
		"again, and none has it":             {ending, heard, none, nil, ""},
		"no archive any more": {held, good, good, func(c *v1alpha1.GaleraCluster) {
			c.Spec.Backup.PointInTime.Enabled = false
		}, ""},
	} {
		in := withLease(c.all, c.before)
		reportLease(in, 2, c.last)
		if c.edit != nil {
			c.edit(in.Facts.Cluster)
		}
		if have := nextLease(in, c.before); have != c.want {
			t.Errorf("%s: %q instead of %q", name, have, c.want)
		}
	}
	in := withLease(good, starting)
	delete(in.Seen, "n-1")
	if have := nextLease(in, starting); have != starting {
		t.Errorf("with a node that is away: %q", have)
	}
	in = withLease(heard, "")
	in.Snapshot.Members[2].Server.State = galera.NodeJoining
	if have := nextLease(in, ""); have != "" {
		t.Errorf("with a node that receives a copy: %q", have)
	}
}

// TestLeaseEnding: a lease that is turned off is renewed until it is known of all nodes that they need it no longer. It
// is reported who is waited for, and how to wait no longer.
func TestLeaseEnding(t *testing.T) {
	const ending = v1alpha1.WriteLeaseEnding
	begin := func() Input {
		in := withLease(agentapi.LeaseReport{Heard: true}, ending)
		unwanted(in.Facts.Cluster)
		return in
	}
	in := begin()
	reports(t, "none has it", leaseEnding(in), "")
	in.Config.Lease = true
	if have := nextLease(in, ending); have != ending {
		t.Errorf("the configuration has it: %q", have)
	}
	in.Config.Lease = false
	reportLease(in, 0, agentapi.LeaseReport{Heard: true, Guarded: true})
	delete(in.Seen, "n-2")
	if have := nextLease(in, ending); have != ending {
		t.Errorf("one has it, and one is away: %q", have)
	}
	reports(t, "who has it", firstProblem(in), v1alpha1.ReasonWriteLeaseEnding, "no longer: n-0, n-2.",
		`'{"status":{"writeLease":null}}'`)
	reportLease(in, 0, agentapi.LeaseReport{})
	if have := nextLease(in, ending); have != ending {
		t.Errorf("one is away: %q", have)
	}
	if have := nextLease(in, ""); have != "" {
		t.Errorf("it is not to be waited for: %q", have)
	}
	in.Snapshot.Members[2].Pod.Exists = false
	if have := nextLease(in, ending); have != "" {
		t.Errorf("it has no pod: %q", have)
	}
	good := agentapi.LeaseReport{Guarded: true, Heard: true}
	in = withLease(good, v1alpha1.WriteLeaseHeld)
	reports(t, "it is held", leaseEnding(in), "")
	unwanted(in.Facts.Cluster)
	good.UnwantedHeard = 4
	reportLease(in, 1, good)
	delete(in.Seen, "n-2")
	reports(t, "who has heard of nothing since", firstProblem(in), v1alpha1.ReasonWriteLeaseEnding, "otherwise: n-0, n-2.",
		`'{"status":{"writeLease":null}}'`)
	if have := nextLease(in, v1alpha1.WriteLeaseHeld); have != v1alpha1.WriteLeaseHeld {
		t.Errorf("one does not answer: %q", have)
	}
	in.Facts.Cluster.Status.Superseded = &v1alpha1.SupersededStatus{ID: "1-bbbbbbbb"}
	reports(t, "another cluster has taken over", leaseEnding(in), "")
	reports(t, "all have", leaseEnding(func() Input {
		in := withLease(good, v1alpha1.WriteLeaseHeld)
		unwanted(in.Facts.Cluster)
		return in
	}()), "")
	in = begin()
	reportLease(in, 1, agentapi.LeaseReport{Guarded: true, Ended: true})
	reports(t, "the store is lost", leaseEnded(in), v1alpha1.ReasonWriteLeaseEnded, "n-1 refuses writes", "shop-config")
	if p := leaseEnded(in); p.Blocked {
		t.Errorf("%+v", p)
	}
}

func unwanted(c *v1alpha1.GaleraCluster) { c.Spec.Backup.PointInTime.WriteLease = false }

// TestLeaseEnded: nodes that refuse writes are reported, with where to look. One that does not serve is not: it has not
// heard of a renewal yet.
func TestLeaseEnded(t *testing.T) {
	in := withLease(agentapi.LeaseReport{Guarded: true, Heard: true}, v1alpha1.WriteLeaseHeld)
	reports(t, "none", leaseEnded(in), "")
	reportLease(in, 1, agentapi.LeaseReport{Guarded: true, Ended: true})
	reports(t, "one", firstProblem(in), v1alpha1.ReasonWriteLeaseEnded, "n-1 refuses writes", "Deployment shop-lease",
		"unless another cluster has taken over")
	if v := available(in); v.reason != v1alpha1.ReasonAvailable {
		t.Errorf("the primary accepts writes: %+v", v)
	}
	in.Facts.Cluster.Status.Backup = &v1alpha1.ArchiveStatus{Message: "the store is away"}
	reports(t, "one that was added", leaseEnded(in), v1alpha1.ReasonWriteLeaseEnded, "added", "the store is away")
	in.Facts.Cluster.Status.Backup = nil
	reportLease(in, 0, agentapi.LeaseReport{Guarded: true, Ended: true})
	reports(t, "two", leaseEnded(in), v1alpha1.ReasonWriteLeaseEnded, "n-0, n-1 refuse writes")
	if p := leaseEnded(in); p.Command == "" || !p.Blocked {
		t.Errorf("%+v", p)
	}
	v := available(in)
	reports(t, "available", &validate.Problem{Reason: v.reason}, v1alpha1.ReasonWriteLeaseEnded)
	unwanted(in.Facts.Cluster)
	reports(t, "turned off", leaseEnded(in), v1alpha1.ReasonWriteLeaseEnded, "counts then",
		`'{"status":{"writeLease":null}}'`)
	in.Facts.Cluster.Spec.Backup.PointInTime.WriteLease = true
	in.Snapshot.Members[0].Pod.Ready, in.Snapshot.Members[1].Pod.Ready = false, false
	reports(t, "being started", leaseEnded(in), "")

	in = withLease(agentapi.LeaseReport{Guarded: true, Ended: true}, v1alpha1.WriteLeaseStarting)
	in.Facts.Cluster.Status.Backup = &v1alpha1.ArchiveStatus{Message: "the store has singleWriter"}
	if p := leaseEnded(in); p == nil || p.Blocked {
		t.Errorf("starting: %+v", p)
	}
	reports(t, "starting", leaseEnded(in), v1alpha1.ReasonWriteLeaseEnded, "the store has singleWriter")
	reportLease(in, 1, agentapi.LeaseReport{Guarded: true, Ended: true, Settled: true})
	reports(t, "it does not start", leaseEnded(in), v1alpha1.ReasonWriteLeaseEnded, "the store has singleWriter",
		"pointInTime.writeLease: false")
	if p := leaseEnded(in); p.Command == "" || !p.Blocked {
		t.Errorf("the store may be lost, and no person is asked for: %+v", p)
	}
	unwanted(in.Facts.Cluster)
	reports(t, "and is turned off", leaseEnded(in), v1alpha1.ReasonWriteLeaseEnded, `'{"status":{"writeLease":null}}'`)
	in.Facts.Cluster.Status.Superseded = &v1alpha1.SupersededStatus{ID: "1-bbbbbbbb"}
	reports(t, "superseded", leaseEnded(in), "")
}
