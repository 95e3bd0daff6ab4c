package validate

import (
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Image explains why the wanted image is not published to the nodes, nil when it is. A tag is free text: it counts
// only if the tag of the present image names the series that was seen to run. The agents check the rest: they
// never start an older server with the data.
func Image(wanted string, f observe.Facts, seen map[string]observe.Seen) *Problem {
	have := observe.PublishedImage(f)
	if have == "" || have == wanted {
		return nil
	}
	if problem := tooFar(wanted, f, seen); problem != nil {
		return problem
	}
	reported := false
	for i := range observe.Size(f) {
		version := versionOf(f, seen, resources.PodName(f.Cluster, i))
		if !galera.Older(tag(wanted), version) {
			return nil // unknown, or a possible donor for the others
		}
		reported = reported || galera.SameSeries(tag(have), version)
	}
	if !reported {
		return nil
	}
	return blocked(v1alpha1.ReasonDowngradeRefused, fmt.Sprintf("spec.image is %s, but the nodes run a later "+
		"series of MariaDB (%s), and an older series cannot use their data. "+
		"Set spec.image to an image of that series or a later one; no node was changed. To go back, restore a "+
		"backup into a new cluster", wanted, have))
}

// A server of a series from newCollations on makes tables with collations that those before collations cannot read.
// While nodes of both serve, the statement fails on the older ones only.
var collations, newCollations = galera.Series{Major: 10, Minor: 10}, galera.Series{Major: 11, Minor: 5}

// tooFar refuses an upgrade that skips the series that knows the collations of both ends, nil when it does not.
func tooFar(wanted string, f observe.Facts, seen map[string]observe.Seen) *Problem {
	to, known := galera.ParseSeries(tag(wanted))
	if !known || to.Before(newCollations) {
		return nil
	}
	for i := range observe.Size(f) {
		name := resources.PodName(f.Cluster, i)
		from, known := galera.ParseSeries(versionOf(f, seen, name))
		if !known || !from.Before(collations) {
			continue
		}
		return blocked(v1alpha1.ReasonUpgradeRefused, fmt.Sprintf("spec.image is %s, but %s runs MariaDB %s, "+
			"which does not know the default collation of %s (uca1400): "+
			"a table that is created while nodes of both serve would exist on some of them only. Upgrade to 10.11 first, then "+
			"to %s; no node was changed",
			wanted, name, from, to, to))
	}
	return nil
}

// versionOf is the server version that a member was last seen to run.
func versionOf(f observe.Facts, seen map[string]observe.Seen, name string) string {
	if s, ok := seen[name]; ok && s.Report.Image.ServerVersion != "" {
		return s.Report.Image.ServerVersion
	}
	for _, m := range f.Cluster.Status.Members {
		if m.Name == name {
			return m.Version
		}
	}
	return ""
}

// TooOld reports whether an image's tag names an older series of MariaDB than that of a version, whose data it could
// not use. A tag that names no series is not too old: who tries it finds out.
func TooOld(image, version string) bool { return galera.Older(tag(image), version) }

// tag is the tag of an image's name, "" without one.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
