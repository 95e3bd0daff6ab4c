package plugin

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/bundle"
	"github.com/galera-operator/galera-operator/internal/plugin/redact"
	"github.com/galera-operator/galera-operator/internal/version"
)

// bundles is the command report.
type bundles struct{ *env }

// report collects what support needs to know of a cluster.
func (e bundles) report() *cobra.Command {
	var file, format string
	var since time.Duration
	c := e.onCluster("report", "Collect what support needs to know of a cluster, without secrets",
		func(ctx context.Context, name string) error {
			c, err := e.cluster(ctx, name)
			if err != nil {
				return err
			}
			now := time.Now().UTC()
			dir := name + "-report-" + now.Format("20060102-150405")
			if file == "" {
				file = dir + ".tar.gz"
			}
			b := bundle.New(dir, fmt.Sprintf("Support bundle of the GaleraCluster %s/%s, made at %s by kubectl galera %s.",
				e.namespace, name, now.Format(time.RFC3339), version.Version), redact.New())
			if err := e.collect(ctx, c, b, since); err != nil {
				return err
			}
			if err := e.writeBundle(b, file, now); err != nil {
				return err
			}
			if format != "" && file != "-" {
				return e.print(map[string]any{"file": file, "files": b.Files(), "takenOut": b.Redactor.Summary(),
					"missing": b.Missing()}, format)
			}
			e.printBundle(b, file)
			return nil
		})
	c.Long = "Collect what support needs to know of a cluster: the resource, its objects, events, logs of nodes and " +
		"operator, and what agents report without a secret.\n\n" +
		"Secrets are never in it. With the right to read them, their values are taken out of all texts, too; without, only " +
		"what looks like a password, a key or a token is. " +
		"README.txt describes what was taken out, and what could not be read."
	outputFlag(c, &format)
	c.Flags().StringVarP(&file, "file", "f", "",
		"where to write it, - for standard output. Default: NAME-report-TIME.tar.gz")
	c.Flags().DurationVar(&since, "since", 24*time.Hour, "how far back logs go; of each container at most the last 2 MiB")
	return c
}

// collect fills a bundle. What cannot be read is reported in it, and the rest goes on.
func (e bundles) collect(ctx context.Context, c *v1alpha1.GaleraCluster, b *bundle.Bundle, since time.Duration) error {
	_, set, err := e.pods()
	if err != nil {
		return err
	}
	r := &reporter{env: e.env, from: sourcesOf(set), cluster: c, bundle: b, since: since}
	for _, part := range r.parts() {
		part(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// parts of a report, in order: secrets first, so that they are known when the rest comes.
func (r *reporter) parts() []func(context.Context) {
	return []func(context.Context){r.secrets, r.resource, r.objects, r.related, r.hosts, r.events, r.nodes, r.operator,
		r.versions}
}

func (e bundles) writeBundle(b *bundle.Bundle, file string, now time.Time) error {
	to := e.out
	if file != "-" {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the person names it
		if err != nil {
			return err
		}
		defer f.Close()
		to = f
	}
	return b.Write(to, now)
}

func (e bundles) printBundle(b *bundle.Bundle, file string) {
	for _, m := range b.Missing() {
		e.say("missing: %s", m)
	}
	e.say("taken out:")
	for _, l := range b.Redactor.Summary() {
		e.say("%s", l)
	}
	if file != "-" {
		e.say("%s has %d files; README.txt in it describes what was taken out. Read it before you send it", file,
			len(b.Files())+1)
	}
}
