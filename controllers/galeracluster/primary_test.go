package galeracluster

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestPrimaryAfter: agents learn where the Service leads, in the very pass that moves it.
func TestPrimaryAfter(t *testing.T) {
	failed := errors.New("conflict")
	for name, tc := range map[string]struct {
		recorded, service string
		action            plan.Action
		err               error
		want              string
	}{
		"there has been none":  {want: ""},
		"it stays":             {recorded: "shop-1", service: "shop-1", want: "shop-1"},
		"the status is behind": {recorded: "shop-1", service: "shop-2", want: "shop-2"},
		"it is moved": {recorded: "shop-1", service: "shop-1", action: plan.AssignRoles{Primary: "shop-2"},
			want: "shop-2"},
		"it could not be moved": {recorded: "shop-1", service: "shop-1", action: plan.AssignRoles{Primary: "shop-2"},
			err: failed, want: "shop-1"},
		"the first one could not be": {service: "shop-0", action: plan.AssignRoles{Primary: "shop-2"}, err: failed,
			want: ""},
		"the first one is chosen": {action: plan.AssignRoles{Primary: "shop-2"}, want: "shop-2"},
		"something else could not be": {recorded: "shop-1", service: "shop-1", action: plan.SendOrder{}, err: failed,
			want: "shop-1"},
		"the Service was just deleted": {recorded: "shop-1", want: "shop-1"},
	} {
		in := status.Input{}
		in.Facts.Cluster = &v1alpha1.GaleraCluster{}
		in.Facts.Cluster.Status.Primary = tc.recorded
		if tc.service != "" {
			in.Facts.PrimaryService = &corev1.Service{Spec: corev1.ServiceSpec{
				Selector: map[string]string{appsv1.StatefulSetPodNameLabel: tc.service}}}
		}
		in.Decision.Action = tc.action
		if got := primaryAfter(in, tc.err); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
