package galeracluster

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

// sync makes kubelet refresh the volumes of members that may not have read what was published.
func (r *Reconciler) sync(ctx context.Context, in status.Input) error {
	version := mounted(in)
	if version == "" {
		return nil
	}
	var errs []error
	for name := range in.Seen {
		if p := podOf(in, name); p != nil && stale(in, name, p) {
			errs = append(errs, r.Actor.Sync(ctx, p, version)) // does nothing when it was hurried to this version
		}
	}
	return errors.Join(errs...)
}

// mounted names what a member's volumes are to hold: configuration, certificates and root's password; "" until the
// first two are published. The password is named by the version of its Secret: a hash in an annotation could be tried
// against a list of words.
func mounted(in status.Input) string {
	publication := observe.Publication(in.Facts.Published)
	if publication == "" || in.Config.Revision == "" {
		return ""
	}
	version := in.Config.Revision + "-" + publication
	if root := in.Facts.Root; root != nil {
		version += "-" + root.ResourceVersion
	}
	return version
}

// stale reports whether a member's volumes may hold something older than mounted.
func stale(in status.Input, name string, p *corev1.Pod) bool {
	s := in.Seen[name]
	switch {
	case !s.Live:
		return true // an expired certificate may be the reason, and the published one the remedy
	case s.Report.Config.Loaded != in.Config.Revision || s.Report.TLS.Installed != observe.Publication(in.Facts.Published):
		return true
	case p.Annotations[v1alpha1.AnnotationSync] != "":
		return true // a report contains no password; and an agent that refused a configuration reports the one it runs with
	}
	// A pod gets its first annotation, from which a later password's differs, when its start is over, or waits for a
	// password.
	return observe.PodReady(p) || in.Facts.Root != nil && len(in.Facts.Root.Data[agentapi.RootPasswordKey]) == 0
}
