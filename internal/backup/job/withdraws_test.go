package job

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
)

// TestWithdraws: a token is made void in the store that it was given for, and while it is being taken back.
func TestWithdraws(t *testing.T) {
	store := func(bucket string) *v1alpha1.GaleraBackupStore {
		return &v1alpha1.GaleraBackupStore{Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: bucket}}}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.SwitchSiteStatus)
		want   bool
	}{
		"it is taken back":        {func(*v1alpha1.SwitchSiteStatus) {}, true},
		"it may be used":          {func(s *v1alpha1.SwitchSiteStatus) { s.Phase = v1alpha1.SwitchOffered }, false},
		"there is none":           {func(s *v1alpha1.SwitchSiteStatus) { s.Token = nil }, false},
		"its store is not known":  {func(s *v1alpha1.SwitchSiteStatus) { s.Location = nil }, false},
		"its store is another":    {func(s *v1alpha1.SwitchSiteStatus) { s.Location = new(location.Of(store("b"))) }, false},
		"nothing is asked for it": {func(s *v1alpha1.SwitchSiteStatus) { *s = v1alpha1.SwitchSiteStatus{} }, false},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.UID = "aaaaaaaa-1"
		c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Phase: v1alpha1.SwitchWithdrawing,
			Token: &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-7"}, Location: new(location.Of(store("a")))}
		tc.change(c.Status.SwitchSite)
		p := withdraws(c, store("a"))
		if (p != nil) != tc.want || p != nil && (p.Number != 4 || p.UID != "aaaaaaaa-1" || !p.Withdrawn) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
