package plugin

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

var update = flag.Bool("update", false, "write testdata anew")

// TestPoint: what cannot be a point is refused before a cluster is made, and describes what to write instead.
func TestPoint(t *testing.T) {
	for name, c := range map[string]struct {
		flags   pointFlags
		refused string
		want    string
	}{
		"none":                     {pointFlags{}, "", ""},
		"a time":                   {pointFlags{time: "2026-03-01T11:00:00Z"}, "", "2026-03-01T11:00:00Z"},
		"a time elsewhere":         {pointFlags{time: "2026-03-01T13:00:00+02:00"}, "", "2026-03-01T11:00:00Z"},
		"this very second":         {pointFlags{time: "2026-03-01T12:00:00Z"}, "", "2026-03-01T12:00:00Z"},
		"a transaction":            {pointFlags{gtid: "0-1-4711"}, "", "0-1-4711"},
		"the latest":               {pointFlags{latest: true}, "", "latest"},
		"a time without an offset": {pointFlags{time: "2026-03-01T11:00:00"}, "with its offset from UTC", ""},
		"a time as MariaDB has it": {pointFlags{time: "2026-03-01 11:00:00"}, "with its offset from UTC", ""},
		"a fraction of a second":   {pointFlags{time: "2026-03-01T11:00:00.25Z"}, "", "2026-03-01T11:00:00.25Z"},
		"a microsecond":            {pointFlags{time: "2026-03-01T13:00:00.000001+02:00"}, "", "2026-03-01T11:00:00.000001Z"},
		"a part of one":            {pointFlags{time: "2026-03-01T11:00:00.0000001Z"}, "up to six digits", ""},
		"a local time called UTC":  {pointFlags{time: "2026-03-01T13:00:00Z"}, "later than now, 2026-03-01T12:00:00Z", ""},
		"a position":               {pointFlags{gtid: "0-1-4711,1-1-7"}, "the cluster's domain", ""},
		"a position of Galera":     {pointFlags{gtid: "71509a99-e7a6-11f1-b515-265926133832:6"}, "DOMAIN-SERVER-NUMBER", ""},
		"no number":                {pointFlags{gtid: "0-1-0"}, "DOMAIN-SERVER-NUMBER", ""},
		"two":                      {pointFlags{time: "2026-03-01T11:00:00Z", latest: true}, "name one point", ""},
		"two others":               {pointFlags{gtid: "0-1-4711", time: "2026-03-01T11:00:00Z"}, "name one point", ""},
		"and two others":           {pointFlags{gtid: "0-1-4711", latest: true}, "name one point", ""},
	} {
		p, err := c.flags.point(noon)
		got := ""
		switch {
		case p == nil:
		case p.Time != "":
			got = p.Time
		case p.Latest:
			got = "latest"
		default:
			got = p.GTID
		}
		if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) || c.refused == "" &&
			(err != nil || got != c.want) {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// TestOfItsOwn: a copy of a cluster does nothing in the place of that one.
func TestOfItsOwn(t *testing.T) {
	const internal = "service.beta.kubernetes.io/aws-load-balancer-internal"
	var s v1alpha1.GaleraClusterSpec
	s.Replicas, s.Hibernate, s.OverrulesPromotion, s.MariaDB.Events = 3, true, "1-bbbbbbbb", v1alpha1.EventsFollowPrimary
	s.Recovery, s.StateTransfer.Donors = &v1alpha1.RecoverySpec{}, []string{"shop-1"}
	s.AllowedCloneNamespaces = []string{"dev"}
	s.ReplicaOf, s.Cutover, s.SwitchSite = &v1alpha1.ReplicaOf{}, &v1alpha1.CutoverSpec{}, &v1alpha1.SwitchSiteSpec{}
	s.PrimaryService.Annotations = map[string]string{"external-dns.alpha.kubernetes.io/hostname": "db.example.com",
		internal: "true"}
	want := v1alpha1.GaleraClusterSpec{Replicas: 3}
	want.PrimaryService.Annotations = map[string]string{internal: "true"}
	if got := ofItsOwn(s); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestRestoreManifests: what --dry-run prints is what a person would write, as it stands in testdata.
func TestRestoreManifests(t *testing.T) {
	like := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop", ResourceVersion: "7"}}
	like.Spec.Replicas, like.Spec.Image = 5, "mariadb:11.8"
	like.Spec.Storage.Size = resource.MustParse("10Gi")
	like.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	for name, c := range map[string]struct {
		flags restoreFlags
		like  *v1alpha1.GaleraCluster
	}{
		"backup": {restoreFlags{identity: "key", backup: "shop-now", size: "1Gi"}, nil},
		"time": {restoreFlags{identity: "key", store: "offsite", cluster: "shop", like: "shop",
			point: pointFlags{time: "2026-03-01T12:30:00+01:00"}}, like},
		"gtid": {restoreFlags{identity: "key", store: "offsite", namespace: "old", id: "20260301-0900", size: "1Gi",
			point: pointFlags{gtid: "0-1-4711"}}, nil},
		"latest":     {restoreFlags{identity: "key", backup: "shop-now", size: "1Gi", point: pointFlags{latest: true}}, nil},
		"clone":      {restoreFlags{identity: "key", store: "offsite", clone: "prod/shop", size: "1Gi"}, nil},
		"clone-like": {restoreFlags{identity: "key", store: "offsite", clone: "shop", like: "shop"}, like},
	} {
		made, err := newCluster("new", c.flags, c.like, noon)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		made.Namespace = "demo"
		var got bytes.Buffer
		if err := (&env{out: &got}).print(manifestOf(made), ""); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "restore-"+name+".yaml")
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil { //nolint:gosec // a test's file
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || got.String() != string(want) {
			t.Errorf("%s (%v):\n%s\nwant:\n%s", name, err, &got, want)
		}
	}
}
