package sites

import (
	"context"
	"encoding/json"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/serving"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/lease"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// cluster is the resource.
type cluster = v1alpha1.GaleraCluster

// restores adds to a cluster what its status has lost.
type restores func(observe.Facts, map[string]observe.Seen, agentapi.NodeConfig) *cluster

// rules are the decisions that the world runs. A mutant replaces one.
type rules struct {
	accepting, leased, closed, superseded restores
	config                                func(*cluster) agentapi.NodeConfig
	withheld                              func(*cluster, agentapi.NodeConfig) agentapi.NodeConfig
	writesOf                              func(have, newer agentapi.NodeConfig) agentapi.NodeConfig
	update                                func(*v1alpha1.GaleraClusterStatus, status.Input)
	supersede                             func(*cluster, *task.Archived)
	switchSite                            func(*cluster, archival.Facts)
	archiver                              func(*cluster) task.Archive
	promotion                             func(*cluster) *task.Promotion
	recorded                              func(*cluster, *task.Served, string) *v1alpha1.PromotionRecord

	record func(context.Context, *store.Bucket, string, task.Promotion) (*task.Promotion, error)
	reseed func(*v1alpha1.GaleraClusterStatus, restoration.ReseedFacts) restoration.ReseedAct

	steps    []lease.Step
	hear     func(h *lease.Holder, asked, now time.Duration)
	mayWrite func(lease.Taker, time.Duration) bool
	next     func(lifecycle.FollowState) lifecycle.FollowAct
	ahead    func(*cluster) string
	within   func(binlog.Line, []binlog.Line, string) bool
	// What is no function of the product: each is false there.
	//
	// checksOnce has the archiver look for a promotion at its start alone, stops has it archive nothing after one.
	checksOnce, stops bool
}

// shipped are those of the product.
func shipped() rules {
	return rules{
		accepting: observe.Accepting, leased: observe.Leased, closed: observe.Closed,
		superseded: observe.Superseded,
		config: func(c *cluster) agentapi.NodeConfig {
			return resources.NodeConfig(c, members, resources.TLSConfig(c), resources.Options{})
		},
		withheld: resources.WithWrites, writesOf: agentapi.NodeConfig.WithWritesOf,
		update: status.Update, supersede: archival.Supersede, switchSite: archival.SwitchSite, archiver: archiverTask,
		reseed:    restoration.Reseed,
		promotion: serving.Promotion, recorded: serving.Recorded,
		record: func(ctx context.Context, b *store.Bucket, dir string, mine task.Promotion) (*task.Promotion, error) {
			return promotion.Record(ctx, b, store.Create, dir, mine)
		},
		steps: lease.Steps, hear: func(h *lease.Holder, asked, _ time.Duration) { h.Hear(asked) },
		mayWrite: lease.Taker.MayWrite, next: lifecycle.FollowState.Next,
		ahead: status.Ahead, within: policy.Within,
	}
}

// place is the store of all sites.
func place() *v1alpha1.GaleraBackupStore {
	s := &v1alpha1.GaleraBackupStore{}
	s.Spec.S3 = &v1alpha1.S3Store{Bucket: "offsite"}
	return s
}

// archiverTask is what the archiver is given.
func archiverTask(c *cluster) task.Archive {
	d, err := job.Archiver(c, place(), job.Damaged{}, resources.Options{}, job.Options{Image: "operator"})
	if err != nil {
		panic(err)
	}
	var t task.Task
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		if e.Name == task.EnvTask {
			err = json.Unmarshal([]byte(e.Value), &t)
		}
	}
	if err != nil || t.Archive == nil {
		panic("the archiver has no task")
	}
	return *t.Archive
}
