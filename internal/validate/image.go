package validate

import (
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Image says why the nodes are not given the wanted image, nil when they are. A tag is free text, so it
// counts only where the tag of the present image tells the series that was seen to run. Everything else
// the agents find out, who let no older server near the data.
func Image(wanted string, f observe.Facts, seen map[string]observe.Seen) *Problem {
	have := observe.PublishedImage(f)
	if have == "" || have == wanted {
		return nil
	}
	told := false
	for i := range observe.Size(f) {
		version := versionOf(f, seen, resources.PodName(f.Cluster, i))
		if !galera.Older(tag(wanted), version) {
			return nil // unknown, or one that the others could be filled from again
		}
		told = told || galera.SameSeries(tag(have), version)
	}
	if !told {
		return nil
	}
	return &Problem{v1alpha1.ReasonDowngradeRefused, fmt.Sprintf("spec.image asks for %s, and the nodes run a later series of MariaDB (%s): their data are not for an older one. "+
		"Put an image of that series or a later one into spec.image; no node was touched. To go back, restore a backup into a new cluster", wanted, have), true}
}

// versionOf is what a member was last seen to run.
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

// tag is what stands behind the last colon of an image's name, "" without a tag.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
