package archival

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// site is a cluster that another one is to take over from, with what is known of it.
type site struct {
	*testing.T
	c *v1alpha1.GaleraCluster
	f Facts
}

// stored is a store with a bucket.
func stored(bucket string) *v1alpha1.GaleraBackupStore {
	out := &v1alpha1.GaleraBackupStore{}
	out.Name, out.Spec.S3 = "offsite", &v1alpha1.S3Store{Bucket: bucket}
	return out
}

// answer is the archiver's, which has read that store.
func (s *site) answer(next uint64, gtid string) *task.Archived {
	s.f.Archived = &task.Archived{Next: next, GTID: gtid, Segment: 9, Checksum: "sum",
		Place: location.Annotation(stored("backups"))}
	return s.f.Archived
}

func newSite(t *testing.T) *site {
	s := &site{T: t, c: &v1alpha1.GaleraCluster{}}
	s.c.UID = "aaaaaaaa-1"
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	s.f = Facts{Cluster: s.c, Store: stored("backups"), Now: now, Alike: now.Add(-settleTime)}
	s.answer(4, "0-1-30")
	s.ask("bbbbbbbb-1")
	return s
}

func (s *site) ask(uid string) {
	if s.c.Spec.SwitchSite = nil; uid != "" {
		s.c.Spec.SwitchSite = &v1alpha1.SwitchSiteSpec{UID: string(s.c.UID), To: v1alpha1.SiteCluster{Namespace: "site",
			Name: "standby", UID: uid}}
	}
}

// sees has a pass made, after which the cluster is in a phase, with a message.
func (s *site) sees(phase, says string) {
	s.Helper()
	Supersede(s.c, s.f.Archived)
	SwitchSite(s.c, s.f)
	have := s.c.Status.SwitchSite
	if have == nil || have.Phase != phase || !strings.Contains(have.Message, says) || says == "" && have.Message != "" {
		s.Errorf("%+v instead of %s, %q", have, phase, says)
	}
	closed := phase == v1alpha1.SwitchStopping || phase == v1alpha1.SwitchOffered || phase == v1alpha1.SwitchWithdrawing ||
		s.c.Superseded()
	if s.c.Refuses() != closed {
		s.Errorf("%s: refuses writes: %v", phase, s.c.Refuses())
	}
}

// offered brings it to a token.
func (s *site) offered() {
	s.Helper()
	s.sees(v1alpha1.SwitchStopping, "")
	n := s.c.Status.SwitchSite.Number
	s.f.Ends = []End{{"shop-0", n, "0-1-30", true}, {"shop-1", n, "7-1-2,0-1-30", true}}
	s.sees(v1alpha1.SwitchOffered, "")
}

// TestSwitchSite: a token is given once all nodes refuse writes, end with one transaction, and the archive with it. It
// is taken back by the store only, and what was not given is taken back at once.
func TestSwitchSite(t *testing.T) {
	s := newSite(t)
	s.sees(v1alpha1.SwitchStopping, "")
	s.sees(v1alpha1.SwitchStopping, "nodes are not known")
	n := s.c.Status.SwitchSite.Number
	s.f.Ends = []End{{"shop-0", 0, "0-1-30", true}, {"shop-1", n, "0-1-30", true}}
	s.sees(v1alpha1.SwitchStopping, "earlier release: shop-0")
	s.f.Ends[0] = End{"shop-0", n, "0-1-30", false}
	s.sees(v1alpha1.SwitchStopping, "nothing left to apply: shop-0")
	s.f.Ends[0] = End{"shop-0", n, "0-1-31", true}
	s.sees(v1alpha1.SwitchStopping, `shop-0 ends at "0-1-31", and the archive at 0-1-30`)
	s.f.Ends[1].Position, s.f.Archived.GTID = "0-1-31", "0-1-31"
	archived := s.f.Archived
	s.f.Archived, s.f.Silent = nil, "no pod"
	s.sees(v1alpha1.SwitchStopping, "does not answer: no pod")
	s.f.Archived = archived
	for _, since := range []time.Time{{}, s.f.Now.Add(time.Millisecond - settleTime)} {
		s.f.Alike = since
		s.sees(v1alpha1.SwitchStopping, "all nodes end at 0-1-31: waiting for what may have begun")
	}
	s.f.Alike = s.f.Now.Add(-settleTime)
	s.sees(v1alpha1.SwitchOffered, "")
	if have := *s.c.Status.SwitchSite.Token; have != (v1alpha1.SwitchToken{Number: 4, GTID: "0-1-31", Segment: 9,
		Checksum: "sum", From: "aaaaaaaa-1",
		To: "bbbbbbbb-1"}) {
		t.Errorf("%+v", have)
	}
	s.ask("")
	s.sees(v1alpha1.SwitchWithdrawing, "the token is void")
	s.answer(4, "0-1-31").Withdrawn = 3
	s.ask("bbbbbbbb-1") // it is not forgotten that it is being taken back
	s.sees(v1alpha1.SwitchWithdrawing, "the token is void")
	s.answer(5, "0-1-31").Withdrawn = 4
	s.sees(v1alpha1.SwitchTakenBack, "")
	s.f.Ends = nil
	s.sees(v1alpha1.SwitchStopping, "")
	if s.c.Status.SwitchSite.Number <= n || n != s.f.Now.Unix() {
		t.Errorf("%d after %d: reports of the first one would count", s.c.Status.SwitchSite.Number, n)
	}
	s.ask("")
	s.sees(v1alpha1.SwitchTakenBack, "")
}

// TestSwitchedSite: a cluster that has taken over stays known, and the request is not begun again when a person has
// overruled that.
func TestSwitchedSite(t *testing.T) {
	for _, withdrawing := range []bool{false, true} {
		s := newSite(t)
		s.offered()
		if withdrawing {
			s.ask("cccccccc-1")
			s.sees(v1alpha1.SwitchWithdrawing, "the token is void")
		}
		s.answer(5, "0-1-30").Promotion = &task.Promotion{Number: 4, UID: "bbbbbbbb-1", GTID: "0-1-30"}
		s.sees(v1alpha1.SwitchTaken, "")
		s.ask("")
		s.sees(v1alpha1.SwitchTaken, "")
		s.ask("bbbbbbbb-1")
		s.c.Spec.OverrulesPromotion = "4-bbbbbbbb"
		s.answer(5, "0-1-30")
		s.sees(v1alpha1.SwitchTaken, "")
		s.ask("")
		s.sees(v1alpha1.SwitchTakenBack, "")
	}
}

// TestSwitchSiteIsNotBegun: nodes go on accepting writes where it could not be taken back, or another cluster is meant,
// and it is reported why.
func TestSwitchSiteIsNotBegun(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*site)
		says   string
	}{
		"the store decides nothing": {func(s *site) { s.f.Store.Spec.SingleWriter = true }, "singleWriter"},
		"there is no store":         {func(s *site) { s.f.Store = nil }, "has to be there"},
		"it was not read":           {func(s *site) { s.f.Archived.Next = 0 }, "has not yet: the message of"},
		"nothing is archived":       {func(s *site) { s.f.Archived.GTID = "" }, "has archived nothing yet"},
		"another store was read":    {func(s *site) { s.f.Store = stored("others") }, "still uses another one"},
		"it is of before":           {func(s *site) { s.f.Archived.Place = "" }, "or is of an earlier release"},
		"it does not answer":        {func(s *site) { s.f.Archived, s.f.Silent = nil, "no pod" }, "does not answer: no pod"},
		"it does not run": {func(s *site) { s.f.Archived, s.f.Problem = nil, Problem{Message: "no Secret"} },
			"does not run: no Secret"},
		"a copy of the manifest": {func(s *site) { s.c.UID = "dddddddd-1" },
			"another cluster, which has had the same manifest"},
		"of before it has begun anew": {func(s *site) {
			s.c.Status.Identity = "cccccccc-1"
			s.c.Status.Reseed = &v1alpha1.ReseedStatus{Request: "4-bbbbbbbb", Phase: v1alpha1.ReseedCompleted}
		}, `uid is "aaaaaaaa-1", and would have to be cccccccc-1`},
	} {
		s := newSite(t)
		tc.change(s)
		s.sees(v1alpha1.SwitchTakenBack, tc.says)
		if t.Failed() {
			t.Fatal(name)
		}
		s.ask("")
		s.sees(v1alpha1.SwitchTakenBack, "")
	}
	s := newSite(t)
	at := s.f.Now
	s.f.Archived.Next = 0
	s.sees(v1alpha1.SwitchTakenBack, "has not yet")
	s.f.Archived.Next, s.f.Now = 4, at.Add(time.Minute)
	s.sees(v1alpha1.SwitchStopping, "")
	if s := s.c.Status.SwitchSite; s.Number != at.Add(time.Minute).Unix() || s.StartedAt.IsZero() ||
		*s.Location != location.Of(stored("backups")) || s.From != "aaaaaaaa-1" {
		t.Errorf("%+v", s)
	}
	s = newSite(t)
	s.c.UID, s.c.Status.Identity = "eeeeeeee-1", "aaaaaaaa-1"
	s.ask("bbbbbbbb-1")
	s.c.Spec.SwitchSite.UID = "aaaaaaaa-1" // the resource was made again, with its volumes
	s.sees(v1alpha1.SwitchStopping, "")
}

// TestSwitchSiteInOneStore: a token is given, used and taken back in one store, whatever the GaleraBackupStore names
// meanwhile: in another one nothing keeps the other cluster from taking over.
func TestSwitchSiteInOneStore(t *testing.T) {
	const elsewhere = "names S3 others now, and the other cluster may take over with what is in S3 backups: set it back"
	s := newSite(t)
	s.sees(v1alpha1.SwitchStopping, "")
	s.f.Ends = []End{{"shop-0", s.f.Now.Unix(), "0-1-30", true}}
	s.f.Store = stored("others")
	s.sees(v1alpha1.SwitchStopping, elsewhere)
	s.f.Store = stored("backups")
	s.f.Archived.Place = location.Annotation(stored("others")) // it is about to be replaced
	s.sees(v1alpha1.SwitchStopping, "still uses another one")
	s.answer(4, "0-1-30")
	s.sees(v1alpha1.SwitchOffered, "")
	s.f.Store = stored("others")
	s.ask("")
	s.sees(v1alpha1.SwitchWithdrawing, elsewhere)
	s.answer(5, "0-1-30").Withdrawn = 4
	s.f.Archived.Place = location.Annotation(s.f.Store)
	s.sees(v1alpha1.SwitchWithdrawing, elsewhere)
	s.f.Store = nil
	s.sees(v1alpha1.SwitchWithdrawing, "is not there: create it")
	// another cluster has taken over in the other store: the token can be used all the same
	s.f.Store = stored("others")
	s.f.Archived.Withdrawn, s.f.Archived.Promotion = 0, &task.Promotion{Number: 4, UID: "cccccccc-1", GTID: "0-1-30"}
	s.sees(v1alpha1.SwitchWithdrawing, elsewhere)
	other := s.f.Archived
	s.f.Store = stored("backups")
	s.answer(4, "0-1-30")
	s.sees(v1alpha1.SwitchWithdrawing, "the token is void")
	s.f.Store, s.f.Archived = stored("others"), other
	s.c.Spec.OverrulesPromotion, s.f.Archived.Promotion = "4-cccccccc", nil
	s.sees(v1alpha1.SwitchWithdrawing, elsewhere)
	s.f.Store = stored("backups")
	s.answer(4, "0-1-30")
	s.sees(v1alpha1.SwitchWithdrawing, "the token is void")
	s.answer(5, "0-1-30").Withdrawn = 4
	s.sees(v1alpha1.SwitchTakenBack, "")
}

// TestLostSwitchSite: where the status was lost, a token that may have been given is made void: it can be used with the
// next record only. Nodes refuse writes meanwhile.
func TestLostSwitchSite(t *testing.T) {
	for _, asked := range []string{"", "bbbbbbbb-1"} {
		s := newSite(t)
		s.ask(asked)
		s.c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 3, Phase: v1alpha1.SwitchWithdrawing} // observe.Closed
		answer := s.f.Archived
		s.f.Archived, s.f.Silent = nil, "no pod"
		s.sees(v1alpha1.SwitchWithdrawing, "does not answer: no pod")
		s.sees(v1alpha1.SwitchWithdrawing, "Where the store is lost for good, or has never had anything of this cluster: ")
		s.f.Archived = answer
		s.f.Store = stored("others")
		s.sees(v1alpha1.SwitchWithdrawing, "still uses another one")
		s.f.Archived.Place = location.Annotation(s.f.Store)
		if asked != "" {
			s.c.Status.SwitchSite.Location = new(location.Of(stored("backups"))) // as NAME-config has it
			s.sees(v1alpha1.SwitchWithdrawing, "names S3 others now")
		}
		s.f.Store = stored("backups")
		s.answer(4, "0-1-30")
		s.sees(v1alpha1.SwitchWithdrawing, "the token is void")
		have := s.c.Status.SwitchSite
		if *have.Token != (v1alpha1.SwitchToken{Number: 4, GTID: "0-1-30", Segment: 9, Checksum: "sum",
			From: "aaaaaaaa-1", To: "aaaaaaaa-1"}) ||
			*have.Location != location.Of(s.f.Store) {
			t.Errorf("%+v", have)
		}
		s.answer(5, "0-1-30").Withdrawn = 4
		s.sees(v1alpha1.SwitchTakenBack, "")
		if have.Number != 3 {
			t.Errorf("%+v", have)
		}
	}
	s := newSite(t)
	s.c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 3, Phase: v1alpha1.SwitchWithdrawing}
	s.answer(5, "0-1-30").Promotion = &task.Promotion{Number: 4, UID: "bbbbbbbb-1", GTID: "0-1-30"}
	s.sees(v1alpha1.SwitchTaken, "")
}

// TestWithdrawalIsHeldUp: what keeps a token from being made void is reported, and after ten minutes also how a person
// has nodes accept writes all the same. That nothing is archived any more does not keep it from that.
func TestWithdrawalIsHeldUp(t *testing.T) {
	s := newSite(t)
	s.c.Namespace, s.c.Name = "prod", "shop"
	if s.offered(); Urgent(s.c.Status.SwitchSite) {
		t.Error("a person is waited for, and the archiver is asked in a hurry")
	}
	s.ask("")
	s.answer(4, "").Unrecorded = "access denied"
	if s.sees(v1alpha1.SwitchWithdrawing, "access denied"); Urgent(s.c.Status.SwitchSite) {
		t.Error("a store that refuses is asked in a hurry")
	}
	if m := s.c.Status.SwitchSite.Message; strings.Contains(m, "lost for good") {
		t.Errorf("%q, after a moment", m)
	}
	s.f.Now = s.f.Now.Add(stopTime + time.Second)
	s.sees(v1alpha1.SwitchWithdrawing, "access denied. Where the store is lost for good: Make sure that no cluster takes "+
		"over with the token, or has (remove spec.cutover there, or delete that cluster), then: kubectl patch galeracluster "+
		"shop -n prod --subresource=status")
	s.answer(4, "")
	if s.sees(v1alpha1.SwitchWithdrawing, voiding); !Urgent(s.c.Status.SwitchSite) ||
		s.c.Status.SwitchSite.Message != voiding {
		t.Errorf("%+v", s.c.Status.SwitchSite)
	}
	s.f.Problem.Message = "waiting for the check of the store"
	s.sees(v1alpha1.SwitchWithdrawing, s.f.Problem.Message)
	s.f.Problem.Message = ""
	s.c.Status.SwitchSite.Token = nil // as after a loss of the status
	s.sees(v1alpha1.SwitchWithdrawing, "has archived nothing yet")
}

// TestSwitchSiteExpires: without a token, nodes do not refuse writes for good, and nothing is begun again by itself.
func TestSwitchSiteExpires(t *testing.T) {
	s := newSite(t)
	s.sees(v1alpha1.SwitchStopping, "")
	s.f.Ends = []End{{"shop-0", 0, "", true}}
	s.f.Now = s.f.Now.Add(stopTime)
	s.sees(v1alpha1.SwitchStopping, "refuse writes")
	s.f.Now = s.f.Now.Add(time.Second)
	s.sees(v1alpha1.SwitchExpired, "refuse writes, or until their agents are replaced if those are of an earlier "+
		"release: shop-0")
	s.f.Ends[0] = End{"shop-0", s.c.Status.SwitchSite.Number, "0-1-30", true}
	s.sees(v1alpha1.SwitchExpired, "shop-0")
	s.ask("")
	s.sees(v1alpha1.SwitchTakenBack, "")
	s.ask("bbbbbbbb-1")
	s.sees(v1alpha1.SwitchStopping, "")
	s.f.Ends = []End{{"shop-0", s.c.Status.SwitchSite.Number, "0-1-30", true}}
	s.f.Alike = s.f.Now.Add(-settleTime)
	s.sees(v1alpha1.SwitchOffered, "")
	s.f.Now = s.f.Now.Add(stopTime)
	s.sees(v1alpha1.SwitchOffered, "")
	s.f.Now = s.f.Now.Add(time.Second) // the command may have been killed
	s.sees(v1alpha1.SwitchWithdrawing, "the token is void")
	s.answer(5, "0-1-30").Withdrawn = 4
	s.sees(v1alpha1.SwitchExpired, "has not taken over")
	s.sees(v1alpha1.SwitchExpired, "has not taken over")
}

// TestSwitchSiteOfAResourceMadeAgain: the archive of a resource that was created again is another one than that which a
// token was given for: nothing that is recorded there makes it void.
func TestSwitchSiteOfAResourceMadeAgain(t *testing.T) {
	s := newSite(t)
	s.c.UID, s.c.Status.Identity = "eeeeeeee-1", "aaaaaaaa-1"
	s.c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 3, Phase: v1alpha1.SwitchWithdrawing}
	s.sees(v1alpha1.SwitchWithdrawing, "for the archive of the one before, with the uid aaaaaaaa-1")
	s.answer(5, "0-1-30").Withdrawn = 4
	s.sees(v1alpha1.SwitchWithdrawing, "--subresource=status")
	if s.c.Status.SwitchSite.Token != nil {
		t.Errorf("%+v", s.c.Status.SwitchSite.Token)
	}
}

// TestLostSwitchSiteOfARejoinedCluster: the identity of a cluster that has followed the one which had taken over from
// it is not its UID. It is the same resource all the same, and its archive that which a token was given for; and
// another one, if it was created again since.
func TestLostSwitchSiteOfARejoinedCluster(t *testing.T) {
	s := newSite(t)
	s.c.Status.Identity = "ffffffff-5"
	s.c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 3, Phase: v1alpha1.SwitchWithdrawing, From: "aaaaaaaa-1"}
	s.sees(v1alpha1.SwitchWithdrawing, voiding)
	s.answer(5, "0-1-30").Withdrawn = 4
	s.sees(v1alpha1.SwitchTakenBack, "")
	s.c.UID = "eeeeeeee-1"
	s.c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 3, Phase: v1alpha1.SwitchWithdrawing, From: "aaaaaaaa-1"}
	s.sees(v1alpha1.SwitchWithdrawing, "for the archive of the one before, with the uid aaaaaaaa-1")
}

// TestEnded: while a cluster that another one has taken over from is to follow that one, it is known with which
// transaction all of its nodes end, and its archive; and nothing of it once one of them does not answer.
func TestEnded(t *testing.T) {
	s := newSite(t)
	s.offered()
	s.f.Archived.Promotion = &task.Promotion{Number: 4, UID: "bbbbbbbb-1", GTID: "0-1-30"}
	s.f.Archived.Next = 5
	s.sees(v1alpha1.SwitchTaken, "")
	ends := func(want, says string) {
		t.Helper()
		s.sees(v1alpha1.SwitchTaken, says)
		if have := s.c.Status.SwitchSite; have.Ends != want || have.EndsGeneration != s.c.Generation && want != "" {
			t.Errorf("%+v instead of %q", s.c.Status.SwitchSite, want)
		}
	}
	ends("", "")
	s.ask("")
	s.c.Spec.ReplicaOf, s.c.Generation = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb"}, 3
	ends("0-1-30", "")
	s.f.Ends[0].By = 0
	ends("", "shop-0")
	s.f.Ends[0].By, s.f.Ends[0].Position = s.f.Ends[1].By, "0-1-31"
	ends("", `shop-0 ends at "0-1-31"`)
	s.f.Ends[0].Position = "5-1-8" // it was emptied, and has followed
	ends("", "create it anew without spec.replicaOf.replaces")
	s.f.Ends[0].Position = "0-1-31"
	s.f.Ends[1].Position, s.f.Archived.GTID = "0-1-31", "0-1-31"
	ends("0-1-31", "")
	p := s.f.Archived.Promotion
	s.f.Archived.Promotion = nil
	ends("", "recorded any more")
	s.f.Archived.Promotion = p
	ends("0-1-31", "")
	s.f.Archived = nil
	ends("", "does not answer")
	s.c.Spec.ReplicaOf = nil
	ends("", "")
}
