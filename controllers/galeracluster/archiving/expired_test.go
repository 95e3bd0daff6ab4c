package archiving

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/deployed"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// program is an archiver that records what it is asked to at once.
type program struct {
	mu  sync.Mutex
	has task.Archived
}

func (p *program) answer(context.Context, string, deployed.Question) (task.Archived, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.has, nil
}

func (p *program) withdraw(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.has.Withdrawn, p.has.Next = number, number+1
}

// offering is a cluster that has given a token, with what its archiver needs.
func offering(begun time.Time) (*v1alpha1.GaleraCluster, *v1alpha1.GaleraBackupStore, []client.Object) {
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "offsite", Generation: 1},
		Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "backups"}}}
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable,
		Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReachable, ObservedGeneration: 1})
	to := v1alpha1.SiteCluster{Namespace: "site", Name: "standby", UID: "bbbbbbbb-1"}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "aaaaaaaa-1"}}
	c.Spec.Replicas, c.Spec.SwitchSite = 1, &v1alpha1.SwitchSiteSpec{UID: "aaaaaaaa-1", To: to}
	c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	c.Status.ClusterUUID, c.Status.Backup = "u", &v1alpha1.ArchiveStatus{Session: "s"}
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: begun.Unix(), To: to, Phase: v1alpha1.SwitchOffered,
		StartedAt: new(metav1.NewTime(begun)), Location: new(location.Of(s)), Token: &v1alpha1.SwitchToken{Number: 4,
			GTID: "0-1-7", Segment: 9, Checksum: "checksum", From: "aaaaaaaa-1", To: "bbbbbbbb-1"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop-archiver-7d4-x",
		Labels: map[string]string{"pod-template-hash": "7d4"}, OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet",
			Name: resources.ArchiverName(c) + "-7d4", Controller: new(true)}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.7"}}
	maps.Copy(pod.Labels, job.ArchiverLabels(c))
	binding := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: job.ArchiverUser(c).BindingName()},
		Data: map[string][]byte{corev1.TLSCertKey: []byte("pem")}}
	return c, s, []client.Object{c, s, pod, binding}
}

// TestAnOfferEnds: a token that no other cluster takes over with is made void ten minutes after the change of sites has
// begun, and nodes accept writes again. Nothing but the clock brings the passes about.
func TestAnOfferEnds(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	c, s, objects := offering(begun)
	archiver := &program{has: task.Archived{Next: 4, GTID: "0-1-7", Segment: 9, Checksum: "checksum",
		Place: location.Annotation(s)}}
	k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(c).Build()
	now := begun
	r := Reconciler{Client: k, Live: k, Objects: &apply.Objects{Client: k, Live: k}, Jobs: job.Options{Image: "operator"},
		Agents: agents{}, Now: func() time.Time { return now },
		Today: func() time.Time { return now }, Late: func() time.Time { return now },
		Calls:    &calls.Calls[string, deployed.Question, task.Archived]{Do: calls.One(archiver.answer)},
		Aligning: &calls.Calls[observe.Target, agentapi.Alignment, agentapi.AlignmentResult]{}}
	var void time.Duration // after how long the token is to be made so
	for pending := 0; c.Switching(); {
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter == 0 { // the archiver's answer brings about the next one
			if pending++; pending > 100 {
				t.Fatal("no pass follows")
			}
			continue
		}
		if err := k.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			t.Fatal(err)
		}
		if c.Status.SwitchSite.Phase == v1alpha1.SwitchWithdrawing && void == 0 {
			void = now.Sub(begun)
			archiver.withdraw(4)
		}
		if now = now.Add(result.RequeueAfter); now.Sub(begun) > 11*time.Minute {
			t.Fatalf("nodes refuse writes: %+v", c.Status.SwitchSite)
		}
	}
	if of := c.Status.SwitchSite; of.Phase != v1alpha1.SwitchExpired || of.Token != nil {
		t.Errorf("%+v", of)
	}
	if void < 10*time.Minute || void > 10*time.Minute+askInterval {
		t.Errorf("it is made void after %s", void)
	}
}
