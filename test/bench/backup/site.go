package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	// beatEvery is how often the time is written at the first site, and readEvery how often it is read at the second.
	beatEvery, readEvery = 100 * time.Millisecond, 50 * time.Millisecond
	streamSecret         = "stream"
)

// mode is one way to follow the first site.
type mode struct {
	name             string
	endpoints        []string
	lag              []time.Duration // under the steady load, all samples
	written, applied []float64       // transactions per second, by round
}

// sites is a cluster of one node, and one that follows it.
type sites struct {
	*bench
	first, second *harness.Cluster
	domain        string // of the first one's GTIDs
}

// site measures how far a second site is behind, and how fast it catches up, by the archive and by a stream in turns.
func (b *bench) site(ctx context.Context, to io.Writer) error {
	s := &sites{bench: b}
	if err := s.make(ctx); err != nil {
		return err
	}
	modes := []*mode{{name: "archive"},
		{name: "stream", endpoints: []string{s.first.Name + "-primary." + b.namespace + ".svc:3306"}}}
	for range b.options.rounds {
		for _, w := range modes {
			if err := s.turn(ctx, w); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", w.name, err), printModes(to, modes, b.options))
			}
		}
	}
	return printModes(to, modes, b.options)
}

func (s *sites) make(ctx context.Context) (err error) {
	if s.first, err = s.loaded(ctx, "first", true, harness.Replicas(1)); err != nil {
		return err
	}
	cl, err := s.first.Client(ctx)
	if err != nil {
		return err
	}
	if err := cl.Exec(ctx, "first-primary",
		"CREATE TABLE load_test.beat (id INT PRIMARY KEY, at TIMESTAMP(6))"); err != nil {
		return err
	}
	if s.domain, err = cl.QueryPod(ctx, "first-0", "SELECT @@wsrep_gtid_domain_id"); err != nil {
		return err
	}
	if err := s.account(ctx); err != nil {
		return err
	}
	have, err := s.first.Get(ctx)
	if err != nil {
		return err
	}
	c := harness.Build(s.namespace, "second", harness.Size("2Gi"), harness.Replicas(1))
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{StoreRef: v1alpha1.LocalName{Name: storeName},
		Cluster:           v1alpha1.ReplicatedCluster{Namespace: s.namespace, Name: "first", UID: string(have.UID)},
		IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"}}
	if s.second, err = s.kube.CreateCluster(ctx, c); err != nil {
		return err
	}
	return errors.Join(s.second.WaitReady(ctx, patience), s.level(ctx))
}

// account makes the account that the second site streams with, and its Secret.
func (s *sites) account(ctx context.Context) error {
	u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "second-site"}}
	u.Spec.ClusterRef = v1alpha1.ClusterReference{Name: "first"}
	u.Spec.Grants = []v1alpha1.GrantSpec{{Privileges: []string{"REPLICATION SLAVE"}}}
	if err := s.kube.Create(ctx, u); err != nil {
		return err
	}
	return s.kube.Until(ctx, "the account is made", patience, func(ctx context.Context) (bool, string, error) {
		b, err := harness.ReadBinding(ctx, s.first, s.namespace, u.Name)
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // it is asked again
		}
		err = s.kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace,
			Name: streamSecret}, Data: b.Data})
		return err == nil || apierrors.IsAlreadyExists(err), "", err
	})
}

// turn measures the lag under a steady load, and then how fast what was written without the second site is applied.
func (s *sites) turn(ctx context.Context, w *mode) error {
	if err := s.follow(ctx, w); err != nil {
		return err
	}
	beating, stop := context.WithCancel(ctx)
	defer stop()
	lagging := make(chan error, 1)
	go func() { lagging <- s.beat(beating, w) }()
	before := len(w.lag)
	_, err := load(ctx, s.first, s.options.connections, s.options.rate, s.options.duration)
	stop()
	if err := errors.Join(err, <-lagging); err != nil {
		return err
	}
	if len(w.lag) == before {
		return fmt.Errorf("nothing that was written within %s was there before its end: choose a longer -duration",
			s.options.duration)
	}
	if err := s.level(ctx); err != nil {
		return err
	}
	return s.catchUp(ctx, w)
}

// follow has the second site follow in one way.
func (s *sites) follow(ctx context.Context, w *mode) error {
	if err := s.second.Change(ctx, func(c *v1alpha1.GaleraCluster) {
		r := c.Spec.ReplicaOf
		r.Endpoints, r.CredentialsSecretRef, r.TLS = w.endpoints, nil, nil
		if w.endpoints != nil {
			r.CredentialsSecretRef = &v1alpha1.LocalName{Name: streamSecret}
			r.TLS = &v1alpha1.EndpointTLS{CASecretRef: v1alpha1.LocalName{Name: streamSecret}}
		}
	}); err != nil {
		return err
	}
	return s.kube.Until(ctx, "the second site follows by the "+w.name, patience,
		func(ctx context.Context) (bool, string, error) {
			c, err := s.second.Get(ctx)
			if err != nil || c.Status.Replication == nil {
				return false, "no status.replication", err
			}
			stream := c.Status.Replication.Stream
			return (stream != nil && stream.Connected) == (w.endpoints != nil), fmt.Sprintf("%+v", stream), nil
		})
}

// beat writes the time at the first site, and reads how old it is at the second, until ctx ends.
func (s *sites) beat(ctx context.Context, w *mode) error {
	at, err := openPod(ctx, s.first)
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }()
	there, err := openPod(ctx, s.second)
	if err != nil {
		return err
	}
	defer func() { _ = there.Close() }()
	beats, reads := time.NewTicker(beatEvery), time.NewTicker(readEvery)
	defer beats.Stop()
	defer reads.Stop()
	begun := time.Now()
	for {
		var age sql.NullInt64
		select {
		case <-ctx.Done():
			return nil
		case <-beats.C:
			_, err = at.ExecContext(ctx, "REPLACE INTO load_test.beat VALUES (1, NOW(6))")
		case <-reads.C:
			const query = "SELECT TIMESTAMPDIFF(MICROSECOND, MAX(at), NOW(6)) FROM load_test.beat"
			err = there.QueryRowContext(ctx, query).Scan(&age)
			lag := time.Duration(age.Int64) * time.Microsecond
			if age.Valid && lag < time.Since(begun) { // not a beat of the turn before
				w.lag = append(w.lag, lag)
			}
		}
		if ctx.Err() == nil && err != nil {
			return err
		}
	}
}

// catchUp has the first site written to while the second one has no source, and then measures how fast that is applied.
// By a stream, nothing of it is archived meanwhile, and all of it at the end, so that no turn pays for another one. All
// that was written before is archived first: a source that begins to stream shows with the archive's last transaction
// that the history is the same.
func (s *sites) catchUp(ctx context.Context, w *mode) (err error) {
	if w.endpoints != nil {
		if err := s.archived(ctx); err != nil {
			return err
		}
		defer func() {
			if err = errors.Join(err, s.kube.Network().Heal(context.WithoutCancel(ctx))); err == nil {
				err = s.archived(ctx)
			}
		}()
		if err := s.cutArchiver(ctx); err != nil {
			return err
		}
	}
	if err := s.stopSource(ctx); err != nil {
		return err
	}
	written, err := load(ctx, s.first, s.options.connections, 0, s.options.duration)
	if err != nil {
		return err
	}
	w.written = append(w.written, written)
	if w.endpoints == nil { // all of it is archived before it is applied
		if err := s.archived(ctx); err != nil {
			return err
		}
	}
	applied, err := s.apply(ctx)
	if err != nil {
		return err
	}
	w.applied = append(w.applied, applied)
	s.kube.Log("%s: %.0f transactions/s written, %.0f applied", w.name, written, applied)
	return nil
}

// archived waits until all that was written until now is.
func (s *sites) archived(ctx context.Context) error { return s.awaitArchived(ctx, s.first, time.Now()) }

func (s *sites) cutArchiver(ctx context.Context) error {
	c, err := s.first.Get(ctx)
	if err != nil {
		return err
	}
	var pods corev1.PodList
	if err := s.kube.List(ctx, &pods, client.InNamespace(s.namespace),
		client.MatchingLabels(job.ArchiverLabels(c))); err != nil {
		return err
	}
	var from []string
	for _, p := range pods.Items {
		from = append(from, p.Status.PodIP)
	}
	return s.kube.Network().CutBetween(ctx, from, []string{s.objects.PodIP()})
}

// stopSource pauses the second site's operator, and removes the program that it follows.
func (s *sites) stopSource(ctx context.Context) error {
	if err := s.pause(ctx, true); err != nil {
		return err
	}
	if err := s.second.WaitCondition(ctx, v1alpha1.ConditionPaused, metav1.ConditionTrue, "", patience); err != nil {
		return err
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "second-source"}}
	if err := s.kube.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return err
	}
	gone := func(ctx context.Context) (bool, string, error) {
		err := s.kube.Get(ctx, client.ObjectKeyFromObject(d), d)
		return apierrors.IsNotFound(err), "it is there", client.IgnoreNotFound(err)
	}
	return s.kube.Until(ctx, "the second site's source is gone", patience, gone)
}

func (s *sites) pause(ctx context.Context, paused bool) error {
	return s.second.Change(ctx, func(c *v1alpha1.GaleraCluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[v1alpha1.AnnotationPause] = strconv.FormatBool(paused)
	})
}

// apply has the second site go on, and returns how many transactions it applies in a second: from when it was last seen
// to have applied none of them to the last one.
func (s *sites) apply(ctx context.Context) (perSecond float64, err error) {
	last, err := s.position(ctx, s.first)
	if err != nil {
		return 0, err
	}
	before, err := s.position(ctx, s.second)
	if err != nil {
		return 0, err
	}
	if err := s.pause(ctx, false); err != nil {
		return 0, err
	}
	from := time.Now()
	applied := func(ctx context.Context) (bool, string, error) {
		now, err := s.position(ctx, s.second)
		if err != nil {
			return false, err.Error(), err
		}
		if now == before {
			from = time.Now()
		}
		perSecond = float64(now-before) / time.Since(from).Seconds()
		return now >= last, fmt.Sprintf("%d of %d", now, last), nil
	}
	err = s.kube.Until(ctx, "the second site has applied all of it", patience, applied)
	return perSecond, err
}

// level waits until the second site has what the first one has.
func (s *sites) level(ctx context.Context) error {
	last, err := s.position(ctx, s.first)
	if err != nil {
		return err
	}
	return s.kube.Until(ctx, "the second site is level", patience, func(ctx context.Context) (bool, string, error) {
		now, err := s.position(ctx, s.second)
		if err != nil {
			return false, err.Error(), err
		}
		return now >= last, fmt.Sprintf("%d of %d", now, last), nil
	})
}

// position is the number of the last GTID of the first site's domain in a cluster's node. What a copy has brought is in
// no binary log there.
func (s *sites) position(ctx context.Context, c *harness.Cluster) (int64, error) {
	cl, err := c.Client(ctx)
	if err != nil {
		return 0, err
	}
	all, err := cl.QueryPod(ctx, c.Name+"-0", "SELECT CONCAT(@@gtid_slave_pos, ',', @@gtid_binlog_pos)")
	if err != nil {
		return 0, err
	}
	last := int64(0)
	for _, gtid := range strings.Split(all, ",") {
		if strings.HasPrefix(gtid, s.domain+"-") {
			n, err := strconv.ParseInt(gtid[strings.LastIndex(gtid, "-")+1:], 10, 64)
			if err != nil {
				return 0, err
			}
			last = max(last, n)
		}
	}
	return last, nil
}

func openPod(ctx context.Context, c *harness.Cluster) (*sql.DB, error) {
	cl, err := c.Client(ctx)
	if err != nil {
		return nil, err
	}
	return cl.OpenPod(ctx, c.Name+"-0")
}

func printModes(to io.Writer, modes []*mode, o options) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "SECOND SITE'S LAG\tMEDIAN\t99 %%\tMOST\tSAMPLES\n")
	for _, w := range modes {
		if lag := slices.Sorted(slices.Values(w.lag)); len(lag) > 0 {
			_, _ = fmt.Fprintf(t, "%s\t%.2f s\t%.2f s\t%.2f s\t%d\n", w.name, lag[len(lag)/2].Seconds(),
				lag[len(lag)*99/100].Seconds(), lag[len(lag)-1].Seconds(), len(lag))
		}
	}
	_, _ = fmt.Fprintf(t, "\nCATCHES UP\tWRITTEN, TPS\tAPPLIED, TPS\tAPPLIED OF WRITTEN, BY ROUND\n")
	for _, w := range modes {
		var ratios []string
		for i := range w.applied {
			ratios = append(ratios, fmt.Sprintf("%.2f", w.applied[i]/w.written[i]))
		}
		_, _ = fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%s\n", w.name, middle(w.written), middle(w.applied),
			strings.Join(ratios, " "))
	}
	_, _ = fmt.Fprintf(t, "\none node at each site, archived every %s; lag at %.0f transactions/s for %s (a beat every "+
		"%s is a part of it); caught up with what %d connections wrote in %s; %d rounds in turns\n", o.interval, o.rate,
		o.duration, beatEvery, o.connections, o.duration, o.rounds)
	return t.Flush()
}
