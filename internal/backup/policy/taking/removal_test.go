package taking

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestOwned: a copy of an object has no data of its own, and an import those that it has read, and no others.
func TestOwned(t *testing.T) {
	made := pending().Backup
	made.Status.ID, made.Status.Phase = ID(made), v1alpha1.BackupCompleted
	imported := made.DeepCopy()
	imported.Spec.Import = &v1alpha1.BackupImport{Directory: "demo/shop/1", ID: "x"}
	imported.Status.ID, imported.Status.Directory = "x", "demo/shop/1"
	for name, c := range map[string]struct {
		of     *v1alpha1.GaleraBackup
		change func(*v1alpha1.GaleraBackup)
		want   bool
	}{
		"made":                  {made, nil, true},
		"made, being made":      {made, func(b *v1alpha1.GaleraBackup) { b.Status.Phase = v1alpha1.BackupRunning }, true},
		"a copy":                {made, func(b *v1alpha1.GaleraBackup) { b.UID = "another" }, false},
		"imported":              {imported, nil, true},
		"not read yet":          {imported, func(b *v1alpha1.GaleraBackup) { b.Status.Phase = v1alpha1.BackupRunning }, false},
		"could not be read":     {imported, func(b *v1alpha1.GaleraBackup) { b.Status.Phase = v1alpha1.BackupFailed }, false},
		"of another ID":         {imported, func(b *v1alpha1.GaleraBackup) { b.Status.ID = "y" }, false},
		"of another directory":  {imported, func(b *v1alpha1.GaleraBackup) { b.Status.Directory = "demo/shop/2" }, false},
		"its own ID, in import": {imported, func(b *v1alpha1.GaleraBackup) { b.Status.ID = ID(b) }, false},
	} {
		b := c.of.DeepCopy()
		if c.change != nil {
			c.change(b)
		}
		if got := Owned(b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestKept: what was imported is removed when it is certain that no object here needs it.
func TestKept(t *testing.T) {
	imported := func() *v1alpha1.GaleraBackup {
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "old", UID: "u-i"}}
		b.Spec.Import = &v1alpha1.BackupImport{Directory: "demo/shop/abcd", ID: "x"}
		b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: "x", Directory: "demo/shop/abcd",
			Checksum: "c", Store: lies("here")}
		return b
	}
	backup := func(change func(*v1alpha1.GaleraBackup)) func(*Removal) {
		return func(r *Removal) {
			o := v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "it", UID: "0123-4"}}
			o.CreationTimestamp = metav1.NewTime(noon)
			change(&o)
			r.Backups = append(r.Backups, o)
		}
	}
	cluster := func(change func(*v1alpha1.GaleraCluster)) func(*Removal) {
		return func(r *Removal) {
			c := v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop", UID: "abcd-1"}}
			c.Status.ClusterUUID = "started"
			change(&c)
			r.Clusters = append(r.Clusters, c)
		}
	}
	archives := func(c *v1alpha1.GaleraCluster, base string) {
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		c.Status.Backup = &v1alpha1.ArchiveStatus{Base: base}
		if base != "" { // it has looked
			c.Status.Backup.Needed = []string{base}
		}
	}
	from := func(c *v1alpha1.GaleraCluster, backup string, store *v1alpha1.BootstrapStore) {
		c.Status.ClusterUUID, c.Name, c.UID = "", "back", "ffff"
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{Store: store}
		if backup != "" {
			c.Spec.BootstrapFrom.Backup = &v1alpha1.LocalName{Name: backup}
		}
	}
	restore := func(change func(*v1alpha1.GaleraRestore)) func(*Removal) {
		return func(r *Removal) {
			o := v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "tables"}}
			o.Spec.ClusterRef.Name = "shop"
			change(&o)
			r.Restores = append(r.Restores, o)
		}
	}
	tables := func(backup string) func(*Removal) {
		return restore(func(o *v1alpha1.GaleraRestore) { o.Spec.From.Backup = &v1alpha1.LocalName{Name: backup} })
	}
	// based has the import be a base of four days ago, of a cluster whose archive has another one in its last chain.
	based := func(changes ...func(*Removal)) func(*Removal) {
		return func(r *Removal) {
			cluster(func(c *v1alpha1.GaleraCluster) { archives(c, "y") })(r)
			r.Backup.Status.GTID, r.Backup.Status.CompletedAt = "0-1-5", new(metav1.NewTime(noon.Add(-96*time.Hour)))
			for _, change := range changes {
				change(r)
			}
		}
	}
	// later adds a base that is complete some hours before noon.
	later := func(hours int, changes ...func(*v1alpha1.GaleraBackup)) func(*Removal) {
		return backup(func(o *v1alpha1.GaleraBackup) {
			o.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: "z", Directory: "demo/shop/abcd",
				GTID: "0-1-9", Store: lies("here"), CompletedAt: new(metav1.NewTime(noon.Add(-time.Duration(hours) * time.Hour)))}
			o.CreationTimestamp = *o.Status.CompletedAt
			for _, change := range changes {
				change(o)
			}
		})
	}
	through := func(hours int) func(*Removal) {
		return func(r *Removal) {
			r.Clusters[0].Status.Backup.ArchivedThrough = new(metav1.NewTime(noon.Add(-time.Duration(hours) * time.Hour)))
		}
	}
	off := func(r *Removal) { r.Clusters[0].Spec.Backup = nil }
	asked := func(hours int) func(*Removal) {
		return func(r *Removal) {
			r.Backup.DeletionTimestamp = new(metav1.NewTime(noon.Add(-time.Duration(hours) * time.Hour)))
		}
	}
	base := func(id string) func(*Removal) {
		return func(r *Removal) { r.Clusters[0].Status.Backup.Base = id }
	}
	needed := func(ids ...string) func(*Removal) {
		return func(r *Removal) { r.Clusters[0].Status.Backup.Needed = ids }
	}
	ended := func(hours int, ids ...string) func(*Removal) {
		return func(r *Removal) {
			r.Clusters[0].Spec.Backup, r.Clusters[0].Status.Backup = nil, nil
			until := metav1.NewTime(noon.Add(time.Duration(hours) * time.Hour))
			r.Clusters[0].Status.EndedArchive = &v1alpha1.EndedArchive{Until: until}
			for _, id := range ids {
				r.Clusters[0].Status.EndedArchive.Needed = append(r.Clusters[0].Status.EndedArchive.Needed,
					v1alpha1.NeededBackup{ID: id, Until: until})
			}
		}
	}
	unnamed := func(hours int) func(*Removal) {
		return func(r *Removal) {
			ended(2, "y")(r)
			r.Clusters[0].Status.EndedArchive.UnnamedUntil = new(metav1.NewTime(noon.Add(time.Duration(hours) * time.Hour)))
		}
	}
	emptied := func(r *Removal) {
		r.Clusters[0].Status.Backup.EmptyAt = new(metav1.NewTime(noon.Add(-time.Minute)))
		r.Clusters[0].Status.Backup.Store = r.Backup.Status.Store
	}
	many := make([]string, v1alpha1.MaxNeeded)
	const needs = "may be restored with it"
	for name, c := range map[string]struct {
		change func(*Removal)
		says   string // "" if it goes
	}{
		"the window, whose archive was begun anew": {based(), needs},
		"a later one, and the archive needs it":    {based(later(73), needed("y", "x")), needs},
		"it needs another one":                     {based(later(73), needed("y")), ""},
		"that is no base":                          {based(func(r *Removal) { r.Backup.Status.GTID = "" }), ""},
		"without a time":                           {based(func(r *Removal) { r.Backup.Status.CompletedAt = nil }), ""},
		"the window of another cluster":            {based(func(r *Removal) { r.Clusters[0].UID = "ffff" }), ""},
		"no archive has begun": {based(func(r *Removal) {
			r.Clusters[0].Spec.Backup, r.Clusters[0].Status.Backup = nil, nil
		}), ""},
		"a later one is older than the window":                 {based(later(73)), ""},
		"as old as the window":                                 {based(later(72)), ""},
		"it is within the window":                              {based(later(71)), needs},
		"it is older":                                          {based(later(97)), needs},
		"it is not of the window of an archive that is behind": {based(later(73), through(2)), needs},
		"it is, also there":                                    {based(later(75), through(2)), ""},
		"an archive that is ahead of the clock":                {based(later(71), through(-2)), needs},
		"it is no base":                                        {based(later(73, func(o *v1alpha1.GaleraBackup) { o.Status.GTID = "" })), needs},
		"it has failed":                                        {based(later(73, func(o *v1alpha1.GaleraBackup) { o.Status.Phase = v1alpha1.BackupFailed })), needs},
		"it names no time":                                     {based(later(73, func(o *v1alpha1.GaleraBackup) { o.Status.CompletedAt = nil })), needs},
		"it is of another place":                               {based(later(73, func(o *v1alpha1.GaleraBackup) { o.Status.Store = lies("there") })), needs},
		"of a place not known":                                 {based(later(73, func(o *v1alpha1.GaleraBackup) { o.Status.Store = nil })), needs},
		"it is of another directory": {based(later(73, func(o *v1alpha1.GaleraBackup) {
			o.Status.Directory = "demo/shop/ffff"
		})), needs},
		"it is being deleted": {based(later(73, func(o *v1alpha1.GaleraBackup) {
			o.DeletionTimestamp = new(metav1.Now())
		})), needs},
		"it is damaged": {based(later(73, func(o *v1alpha1.GaleraBackup) {
			o.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionFalse,
				Reason: v1alpha1.ReasonBackupDamaged}}
		})), needs},
		"its archive has ended, and needs it":       {based(ended(1, "y", "x")), "turned off, may be restored with it until"},
		"its archive has ended, and needs another":  {based(ended(1, "y")), ""},
		"the window of one that has ended is over":  {based(ended(0, "x")), ""},
		"one that has ended may need others":        {based(unnamed(1)), "until 2026-"},
		"may not any more":                          {based(unnamed(0)), ""},
		"and it is no base":                         {based(unnamed(1), func(r *Removal) { r.Backup.Status.GTID = "" }), ""},
		"and it is another cluster's":               {based(unnamed(1), func(r *Removal) { r.Clusters[0].UID = "ffff" }), ""},
		"it needs as many as are named":             {based(later(73), needed(many...)), "may need more backups"},
		"it needs one less":                         {based(later(73), needed(many[1:]...)), ""},
		"what it needs is not known":                {based(later(73), needed()), "need is not known until"},
		"the store has no segment":                  {based(needed(), base(""), emptied), ""},
		"it needs it, and is to end":                {based(later(73), needed("y", "x"), through(71), off), needs},
		"the archive was turned off, and is older":  {based(through(73), off), ""},
		"it was turned off within the window":       {based(through(71), off), needs},
		"it is behind by more than the window":      {based(through(73)), needs},
		"it goes on, and has not said how far":      {based(asked(73)), needs},
		"nor will a later one be too young by that": {based(later(73), asked(2)), ""},
		"it is off, and has not said how far":       {based(asked(73), off), ""},
		"it is off, within the window":              {based(asked(71), off), needs},
		"it is off, and has said how far":           {based(through(71), asked(73), off), needs},
		"it was off before it was asked for":        {based(through(73), asked(1), off), ""},
		"it is off, and its base is not known":      {based(base(""), asked(71), off), "not known yet"},
		"nor will it be":                            {based(base(""), asked(73), off), ""},
		"it is off, and continues from it":          {based(base("x"), through(71), off), "continues from it"},
		"it continued from it, and is older":        {based(base("x"), through(73), off), ""},
		"it continues from it, and is behind":       {based(base("x"), through(73)), "continues from it"},
		"the clock of a later one was behind": {based(later(73, func(o *v1alpha1.GaleraBackup) {
			o.CreationTimestamp = metav1.NewTime(noon.Add(-71 * time.Hour))
		})), needs},
		"and was before that by its Job's": {based(later(97, func(o *v1alpha1.GaleraBackup) {
			o.CreationTimestamp = metav1.NewTime(noon.Add(-73 * time.Hour))
		})), ""},
		"a later one, imported since": {based(later(73, func(o *v1alpha1.GaleraBackup) {
			o.CreationTimestamp, o.Spec.Import = metav1.NewTime(noon), &v1alpha1.BackupImport{ID: "z"}
		})), ""},
		"nothing needs it":           {func(*Removal) {}, ""},
		"itself is in the list":      {func(r *Removal) { r.Backups = []v1alpha1.GaleraBackup{*r.Backup} }, ""},
		"it was made here":           {func(r *Removal) { r.Backup.Spec.Import, r.Backup.Status.Checksum = nil, "" }, ""},
		"of another namespace":       {func(r *Removal) { r.Backup.Status.Directory = "prod/shop/abcd" }, `namespace "prod"`},
		"of one that begins like it": {func(r *Removal) { r.Backup.Status.Directory = "demo-2/shop/abcd" }, "demo-2"},
		"no checksum":                {func(r *Removal) { r.Backup.Status.Checksum = "" }, "the checksum of its manifest is not"},
		"no location":                {func(r *Removal) { r.Backup.Status.Store = nil }, "where it lies is not known"},
		"one that was made":          {backup(func(o *v1alpha1.GaleraBackup) { o.Status.ID = "x" }), "GaleraBackup other/it"},
		"one that is being made":     {backup(func(o *v1alpha1.GaleraBackup) { o.Status.ID = "y" }), ""},
		"another import":             {backup(func(o *v1alpha1.GaleraBackup) { o.Spec.Import = imported().Spec.Import }), "other/it"},
		"another import that goes": {backup(func(o *v1alpha1.GaleraBackup) {
			o.Spec.Import, o.DeletionTimestamp = imported().Spec.Import, new(metav1.Now())
		}), ""},
		"one that was made, and goes": {backup(func(o *v1alpha1.GaleraBackup) {
			o.Status.ID, o.DeletionTimestamp = "x", new(metav1.Now())
		}), "other/it"},
		"one that has not begun": {func(r *Removal) {
			backup(func(*v1alpha1.GaleraBackup) {})(r)
			r.Backup.Status.ID = ID(&r.Backups[0])
		}, "other/it"},
		"the archive's base": {cluster(func(c *v1alpha1.GaleraCluster) { archives(c, "x") }), "demo/shop continues"},
		"that of another one": {cluster(func(c *v1alpha1.GaleraCluster) { archives(c, "x"); c.Namespace = "prod" }),
			"cluster prod/shop continues"},
		"the archive has another": {cluster(func(c *v1alpha1.GaleraCluster) { archives(c, "y") }), ""},
		"the base is not known":   {cluster(func(c *v1alpha1.GaleraCluster) { archives(c, "") }), "is not known yet"},
		"the archive was not seen": {cluster(func(c *v1alpha1.GaleraCluster) { archives(c, ""); c.Status.Backup = nil }),
			"is not known yet"},
		"it follows again": {cluster(func(c *v1alpha1.GaleraCluster) {
			archives(c, "")
			c.Status.Backup, c.Spec.ReplicaOf = nil, &v1alpha1.ReplicaOf{Cluster: v1alpha1.ReplicatedCluster{Name: "site"}}
		}), ""},
		"it was, and is off":            {cluster(func(c *v1alpha1.GaleraCluster) { archives(c, ""); c.Spec.Backup = nil }), "is not known yet"},
		"no archive":                    {cluster(func(*v1alpha1.GaleraCluster) {}), ""},
		"not known, of another cluster": {cluster(func(c *v1alpha1.GaleraCluster) { archives(c, ""); c.UID = "ffff" }), ""},
		"a restore that begins":         {cluster(func(c *v1alpha1.GaleraCluster) { from(c, "old", nil) }), "demo/back may be about to be restored"},
		"of another backup":             {cluster(func(c *v1alpha1.GaleraCluster) { from(c, "new", nil) }), ""},
		"one of that name elsewhere":    {cluster(func(c *v1alpha1.GaleraCluster) { from(c, "old", nil); c.Namespace = "prod" }), ""},
		"a restore that has ended":      {cluster(func(c *v1alpha1.GaleraCluster) { from(c, "old", nil); c.Status.ClusterUUID = "u" }), ""},
		"the latest of the store":       {cluster(func(c *v1alpha1.GaleraCluster) { from(c, "", &v1alpha1.BootstrapStore{Cluster: "shop"}) }), "demo/back"},
		"by its ID":                     {cluster(func(c *v1alpha1.GaleraCluster) { from(c, "", &v1alpha1.BootstrapStore{Cluster: "shop", ID: "x"}) }), "demo/back"},
		"another ID":                    {cluster(func(c *v1alpha1.GaleraCluster) { from(c, "", &v1alpha1.BootstrapStore{Cluster: "shop", ID: "y"}) }), ""},
		"another UID": {cluster(func(c *v1alpha1.GaleraCluster) {
			from(c, "", &v1alpha1.BootstrapStore{Cluster: "shop", ClusterUID: "abc"})
		}), ""},
		"of another cluster": {cluster(func(c *v1alpha1.GaleraCluster) { from(c, "", &v1alpha1.BootstrapStore{}) }), ""},
		"a site that follows": {cluster(func(c *v1alpha1.GaleraCluster) {
			c.UID, c.Name = "ffff", "site"
			c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{}
			c.Spec.ReplicaOf.Cluster.Name, c.Spec.ReplicaOf.Cluster.UID = "shop", "abcd"
		}), "demo/site follows the archive"},
		"tables of it": {tables("old"), "GaleraRestore demo/tables"},
		"tables, by the store": {restore(func(o *v1alpha1.GaleraRestore) {
			o.Spec.From.Store = &v1alpha1.BootstrapStore{}
		}), "demo/tables"},
		"tables that are found": {restore(func(o *v1alpha1.GaleraRestore) {
			o.Namespace, o.Status.ID = "other", "x"
		}), "other/tables"},
		"tables of another": {tables("new"), ""},
		"tables that are back": {restore(func(o *v1alpha1.GaleraRestore) {
			o.Spec.From.Backup, o.Status.Phase, o.Status.ID = &v1alpha1.LocalName{Name: "old"}, v1alpha1.RestoreCompleted, "x"
		}), ""},
	} {
		r := Removal{Backup: imported(), Today: noon,
			Window: func(*v1alpha1.GaleraCluster) time.Duration { return 72 * time.Hour }}
		c.change(&r)
		if why := Kept(r); (why == "") != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("%s: %q", name, why)
		}
	}
}
