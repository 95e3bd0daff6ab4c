package observe

import "github.com/galera-operator/galera-operator/internal/resources"

// PublishedImage is the database image of the present pod template, "" before there is one.
func PublishedImage(f Facts) string {
	if f.StatefulSet == nil {
		return ""
	}
	for _, c := range f.StatefulSet.Spec.Template.Spec.Containers {
		if c.Name == resources.ContainerName {
			return c.Image
		}
	}
	return ""
}
