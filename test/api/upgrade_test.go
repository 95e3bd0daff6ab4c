package api

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestOlderImage: a tag that names an older series never gets into the pod template.
func TestOlderImage(t *testing.T) {
	t.Parallel()
	before := spec()
	before.Image = "mariadb:11.8"
	w := newWorld(t, "older-image", before)
	w.bringUp()
	for i := range 3 {
		w.agents.change(fmt.Sprintf("shop-%d", i), func(r *agentapi.Report) { r.Image.ServerVersion = "11.8.6-MariaDB" })
	}
	w.Eventually(func() string { return w.status().Members[2].Version }).Should(Equal("11.8.6-MariaDB"))
	image := func() string { return w.statefulSet().Spec.Template.Spec.Containers[0].Image }

	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.Image = "mariadb:10.11" })
	w.Eventually(w.condition("Stalled")).Should(Equal("True DowngradeRefused"))
	w.Consistently(image, "500ms").Should(Equal("mariadb:11.8"))

	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.Image = "mariadb:12.3" })
	w.Eventually(image).Should(Equal("mariadb:12.3"))
	w.Eventually(w.condition("Stalled")).Should(Equal("False Healthy"))
}
