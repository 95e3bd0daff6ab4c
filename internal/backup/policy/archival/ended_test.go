package archival

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

var endedNow = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// in is a number of hours from now.
func in(hours int) metav1.Time { return metav1.NewTime(endedNow.Add(time.Duration(hours) * time.Hour)) }

// needing are archives that were turned off, which need backups for a number of hours.
func needing(left int, ids ...string) *v1alpha1.EndedArchive {
	e := &v1alpha1.EndedArchive{Until: in(left), Window: metav1.Duration{Duration: 50 * time.Hour}}
	for _, id := range ids {
		e.Needed = append(e.Needed, v1alpha1.NeededBackup{ID: id, Until: in(left)})
	}
	return e
}

// written is what is known of archives that were turned off, in hours from now.
func written(e *v1alpha1.EndedArchive) string {
	if e == nil {
		return ""
	}
	left := func(t metav1.Time) string { return fmt.Sprint(t.Sub(endedNow).Hours()) }
	out := []string{left(e.Until)}
	for _, b := range e.Needed {
		out = append(out, b.ID+":"+left(b.Until))
	}
	if e.UnnamedUntil != nil {
		out = append(out, "others:"+left(*e.UnnamedUntil))
	}
	return strings.Join(out, " ")
}

// TestTurnOff: what the window of an archive needs that is turned off is known until that has passed, also when it is
// turned on again meanwhile, and off; what an earlier one needs is known no longer for that.
func TestTurnOff(t *testing.T) {
	within := func(h int) *v1alpha1.ArchiveStatus {
		return &v1alpha1.ArchiveStatus{Base: "a", Needed: []string{"a"}, Window: &metav1.Duration{
			Duration: time.Duration(h) * time.Hour}}
	}
	through := func(h int) *v1alpha1.ArchiveStatus {
		return &v1alpha1.ArchiveStatus{Needed: []string{"a"}, ArchivedThrough: new(in(h))}
	}
	needs := func(ids ...string) *v1alpha1.ArchiveStatus { return &v1alpha1.ArchiveStatus{Needed: ids} }
	many := make([]string, v1alpha1.MaxNeeded)
	for i := range many {
		many[i] = fmt.Sprint("m", i)
	}
	unnamed := func(left int, e *v1alpha1.EndedArchive) *v1alpha1.EndedArchive {
		e.UnnamedUntil = new(in(left))
		return e
	}
	shorter := func(e *v1alpha1.EndedArchive) *v1alpha1.EndedArchive {
		e.Window.Duration = 10 * time.Hour
		return e
	}
	for name, c := range map[string]struct {
		archive *v1alpha1.ArchiveStatus
		before  *v1alpha1.EndedArchive
		want    string
	}{
		"its base, and those of other chains": {&v1alpha1.ArchiveStatus{Base: "a", Needed: []string{"a", "b"}}, nil,
			"50 a:50 b:50"},
		"its base is not known":      {needs("b"), nil, "50 b:50"},
		"what it needs is not known": {&v1alpha1.ArchiveStatus{}, nil, "50 others:50"},
		"its base alone is known":    {&v1alpha1.ArchiveStatus{Base: "a"}, nil, "50 a:50 others:50"},
		"its window was longer":      {within(90), nil, "90 a:90"},
		"it was shorter":             {within(40), nil, "50 a:50"},
		"it has come further than the clock": {through(3),
			nil, "53 a:53"},
		"it is behind":                   {through(-3), nil, "50 a:50"},
		"it has ended before":            {nil, needing(1, "a"), "1 a:1"},
		"its window has passed":          {nil, needing(-24, "a"), ""},
		"it was turned on again":         {needs("b"), needing(1, "a"), "50 b:50 a:1"},
		"what an earlier one has needed": {needs("b", "a"), needing(1, "a"), "50 b:50 a:1"},
		"whose window was shorter":       {needs("b", "a"), shorter(unnamed(2, needing(1, "a"))), "50 b:50 a:41 others:42"},
		"an earlier window passes later": {needs("b"), needing(60, "a", "b"), "60 b:60 a:60"},
		"and nothing is known of that":   {&v1alpha1.ArchiveStatus{}, needing(1, "a"), "50 a:1 others:50"},
		"long ago":                       {needs("b"), needing(-24, "a"), "50 b:50"},
		"and it is named once more":      {needs("b", "a"), needing(-23, "a"), "50 b:50 a:-23"},
		"others are needed longer":       {needs("b"), unnamed(60, needing(70, "a")), "70 b:50 a:70 others:60"},
		"they were":                      {needs("b"), unnamed(-24, needing(60)), "60 b:50"},
		"as many as are named":           {needs(many[1:]...), nil, "50 " + strings.Join(many[1:], ":50 ") + ":50"},
		"and its base": {&v1alpha1.ArchiveStatus{Base: "a", Needed: many}, nil, "50 a:50 " +
			strings.Join(many[:v1alpha1.MaxNeeded-1], ":50 ") + ":50 others:50"},
		"there may be more": {needs(many...), nil, "50 " + strings.Join(many, ":50 ") + ":50 others:50"},
		"the first that passes goes unnamed": {needs(many[1:]...), needing(1, "a", "b"), "50 " +
			strings.Join(many[1:], ":50 ") + ":50 a:1 others:1"},
		"not the latest": {needs(many[1:]...), needing(60, "a", "b"), "60 a:60 b:60 " +
			strings.Join(many[1:v1alpha1.MaxNeeded-1], ":50 ") + ":50 others:50"},
	} {
		cluster := &v1alpha1.GaleraCluster{}
		cluster.Status.Backup, cluster.Status.EndedArchive = c.archive, c.before
		got := TurnOff(cluster, 50*time.Hour, endedNow, endedNow)
		if written(got) != c.want {
			t.Errorf("%s: %s", name, written(got))
		}
		if e := c.before; e != nil && got != nil && got.Window.Duration < e.Window.Duration {
			t.Errorf("%s: the window is %s", name, got.Window.Duration)
		}
	}
	cluster := &v1alpha1.GaleraCluster{}
	cluster.Status.Backup, cluster.Status.EndedArchive = needs("b"), needing(1, "a")
	got := TurnOff(cluster, 50*time.Hour, endedNow.Add(-time.Hour), endedNow.Add(744*time.Hour))
	if want := "794 b:794 a:1"; written(got) != want {
		t.Errorf("a clock that is ahead: %s", written(got))
	}
}

// TestRelocate: an archiver that is at work elsewhere reports of another archive. What the one before needs stays
// known.
func TestRelocate(t *testing.T) {
	place := func(bucket string) v1alpha1.StoreLocation { return v1alpha1.StoreLocation{Kind: "S3", Bucket: bucket} }
	for name, c := range map[string]struct {
		of, at     string // "" for not known
		silent     bool
		base, want string
	}{
		"the same place":       {of: "a", at: "a", base: "b1"},
		"it was not known":     {at: "a", base: "b1"},
		"it is not reported":   {of: "a", base: "b1"},
		"it does not answer":   {of: "a", at: "b", silent: true, base: "b1"},
		"another place":        {of: "a", at: "b", want: "50 b1:50 b0:50"},
		"neither is not known": {base: "b1"},
	} {
		f := Facts{Now: endedNow, Archived: &task.Archived{}}
		cluster := &v1alpha1.GaleraCluster{}
		cluster.Status.Backup = &v1alpha1.ArchiveStatus{Session: "s", Base: "b1", Needed: []string{"b0"}, Chain: 7,
			Window: &metav1.Duration{Duration: 50 * time.Hour}}
		cluster.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true,
			Window: &metav1.Duration{Duration: time.Hour}}}
		if c.of != "" {
			cluster.Status.Backup.Store = new(place(c.of))
		}
		if c.at != "" {
			f.Archived.Place = location.Text(place(c.at))
		}
		if c.silent {
			f.Archived = nil
		}
		Relocate(cluster, f, endedNow)
		a := cluster.Status.Backup
		if a.Base != c.base || a.Session != "s" || (a.Chain == 7) != (c.want == "") || written(cluster.Status.EndedArchive) !=
			c.want {
			t.Errorf("%s: %+v, %q", name, a, written(cluster.Status.EndedArchive))
		}
		if c.at != "" && !c.silent && (a.Store == nil || *a.Store != place(c.at)) {
			t.Errorf("%s: it is about %v", name, a.Store)
		}
	}
}

// TestEmptyStore: that the store has no segment is written down while it has had none, now and then.
func TestEmptyStore(t *testing.T) {
	none := func(f *Facts) { f.Archived = &task.Archived{Needed: []string{}} }
	before := func(ago time.Duration) v1alpha1.ArchiveStatus {
		return v1alpha1.ArchiveStatus{EmptyAt: new(metav1.NewTime(noon.Add(-ago)))}
	}
	for name, c := range map[string]struct {
		to   v1alpha1.ArchiveStatus
		f    Facts
		want time.Duration // ago, -1 for never
	}{
		"none is there": {v1alpha1.ArchiveStatus{}, with(none), 2 * time.Minute},
		"by the earlier clock": {v1alpha1.ArchiveStatus{}, with(none, func(f *Facts) { f.Today = noon.Add(-time.Hour) }),
			62 * time.Minute},
		"it was not listed": {v1alpha1.ArchiveStatus{}, with(func(f *Facts) { f.Archived = &task.Archived{} }), -1},
		"one is there": {v1alpha1.ArchiveStatus{}, with(none, func(f *Facts) { f.Archived.Segment = 1 }),
			-1},
		"there was one":      {v1alpha1.ArchiveStatus{Segments: 1}, with(none), -1},
		"a base was there":   {v1alpha1.ArchiveStatus{Base: "b1"}, with(none), -1},
		"it had come so far": {v1alpha1.ArchiveStatus{ArchivedThrough: &metav1.Time{Time: noon}}, with(none), -1},
		"a short while ago":  {before(11 * time.Minute), with(none), 11 * time.Minute},
		"a while ago":        {before(12 * time.Minute), with(none), 2 * time.Minute},
		"a later time":       {before(-time.Hour), with(none), 2 * time.Minute},
	} {
		Decide(&c.to, c.f)
		if at := c.to.EmptyAt; (at == nil) != (c.want < 0) || at != nil && noon.Sub(at.Time) != c.want {
			t.Errorf("%s: %v", name, at)
		}
	}
}

// TestPrecedes: no archive goes on from what was complete by all clocks before its store was seen to be empty, for a
// while.
func TestPrecedes(t *testing.T) {
	for name, c := range map[string]struct {
		complete, seen, empty time.Duration // ago
		want                  bool
	}{
		"before":               {time.Hour, time.Hour, 10 * time.Minute, true},
		"after":                {5 * time.Minute, 5 * time.Minute, 10 * time.Minute, false},
		"about then":           {10*time.Minute + 4*time.Second, time.Hour, 10 * time.Minute, false},
		"it was seen later":    {time.Hour, 5 * time.Minute, 10 * time.Minute, false},
		"it was empty before":  {time.Hour, time.Hour, 15 * time.Minute, false},
		"by a clock that runs": {2 * time.Hour, 2 * time.Hour, -time.Hour, true},
		"elsewhere":            {time.Hour, time.Hour, 10 * time.Minute, false},
	} {
		cluster, b := &v1alpha1.GaleraCluster{}, &v1alpha1.GaleraBackup{}
		at := func(ago time.Duration) metav1.Time { return metav1.NewTime(endedNow.Add(-ago)) }
		place := &v1alpha1.StoreLocation{Kind: v1alpha1.StoreS3, Bucket: "b"}
		cluster.Status.Backup = &v1alpha1.ArchiveStatus{EmptyAt: new(at(c.empty)), Store: place}
		if b.Status.Store = place; name == "elsewhere" {
			b.Status.Store = &v1alpha1.StoreLocation{Kind: v1alpha1.StoreS3, Bucket: "another"}
		}
		b.Status.CompletedAt, b.CreationTimestamp = new(at(c.complete)), at(c.seen)
		if got := (Needs{Cluster: cluster, Today: endedNow}).Precedes(b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOftenTurnedOff: an archive that is turned off each night names as many as its window has, and no more. Its last
// session names the bases of earlier ones as well.
func TestOftenTurnedOff(t *testing.T) {
	c, now := &v1alpha1.GaleraCluster{}, endedNow
	for night := range 300 {
		c.Status.Backup = &v1alpha1.ArchiveStatus{}
		for of := max(0, night-30); of <= night; of++ {
			c.Status.Backup.Needed = append(c.Status.Backup.Needed, fmt.Sprint("base-", of))
		}
		c.Status.EndedArchive = TurnOff(c, 720*time.Hour, now, now)
		now = now.Add(24 * time.Hour)
	}
	if e := c.Status.EndedArchive; len(e.Needed) != 31 || e.UnnamedUntil != nil {
		t.Errorf("%d are named, others until %s", len(e.Needed), e.UnnamedUntil)
	}
}

// TestEndedArchive: each backup goes when its own time has passed.
func TestEndedArchive(t *testing.T) {
	e := needing(2, "a", "b")
	e.Needed[0].Until, e.UnnamedUntil = in(1), new(in(1))
	for left, want := range map[int]string{0: "2 a:1 b:2 others:1", 1: "2 b:2", 2: "", -1: "2 a:1 b:2 others:1"} {
		if got := written(Ended(e, in(left).Time)); got != want {
			t.Errorf("after %d hours: %s", left, got)
		}
	}
}

// TestWindow: what is archived keeps its window, also when the spec does not have it any more.
func TestWindow(t *testing.T) {
	hours := func(h int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(h) * time.Hour} }
	for name, c := range map[string]struct {
		spec         *v1alpha1.PointInTime
		known, store int
		want         int
	}{
		"by default":                    {&v1alpha1.PointInTime{Enabled: true}, 0, 0, 720},
		"the spec's":                    {&v1alpha1.PointInTime{Enabled: true, Window: hours(50)}, 90, 0, 50},
		"the store's":                   {&v1alpha1.PointInTime{Enabled: true, Window: hours(50)}, 0, 80, 80},
		"of one that is to be off":      {&v1alpha1.PointInTime{Window: hours(50)}, 90, 0, 90},
		"the spec has a longer one":     {&v1alpha1.PointInTime{Window: hours(95)}, 90, 0, 95},
		"the spec does not have it":     {nil, 90, 0, 90},
		"and the store has a longer":    {nil, 90, 100, 100},
		"and it is not known":           {nil, 0, 0, 720},
		"it is shorter than by default": {nil, 40, 0, 40},
	} {
		cluster, store := &v1alpha1.GaleraCluster{}, &v1alpha1.GaleraBackupStore{}
		if c.spec != nil {
			cluster.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: c.spec}
		}
		cluster.Status.Backup = &v1alpha1.ArchiveStatus{}
		if c.known > 0 {
			cluster.Status.Backup.Window = hours(c.known)
		}
		if c.store > 0 {
			store.Spec.Retention = &v1alpha1.BackupRetention{KeepWithin: hours(c.store)}
		}
		if got := Window(cluster, store); got != hours(c.want).Duration {
			t.Errorf("%s: %s", name, got)
		}
		if got := Window(cluster, nil); c.store == 0 && got != hours(c.want).Duration {
			t.Errorf("%s, without a store: %s", name, got)
		}
	}
}

// TestManyNeeded: the status names the first of those that are reported. Where not all backups can be judged, those
// that were known stay, and none is known before.
func TestManyNeeded(t *testing.T) {
	to, ids := &v1alpha1.ArchiveStatus{}, []string{}
	for i := range v1alpha1.MaxNeeded + 5 {
		ids = append(ids, fmt.Sprint(i))
	}
	c := &v1alpha1.GaleraCluster{}
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	Decide(to, Facts{Cluster: c, Archived: &task.Archived{Needed: ids}})
	if !slices.Equal(to.Needed, ids[:v1alpha1.MaxNeeded]) || to.Window != nil {
		t.Errorf("%d are named: %v, %v", len(to.Needed), to.Needed, to.Window)
	}
	for _, of := range []struct{ before, reported, want string }{{"a b", "b c", "b c a"}, {"", "b c", ""}} {
		to.Needed = strings.Fields(of.before)
		Decide(to, Facts{Cluster: c, Store: &v1alpha1.GaleraBackupStore{}, Archived: &task.Archived{Kept: "it is so",
			Needed: strings.Fields(of.reported)}})
		if got := strings.Join(to.Needed, " "); got != of.want || to.Window.Duration != defaultWindow {
			t.Errorf("%q after %q: %q, %s", of.reported, of.before, got, to.Window.Duration)
		}
	}
}
