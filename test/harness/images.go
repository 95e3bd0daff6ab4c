package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// OldImage is a database image of an earlier series than the default one.
const OldImage = "galera-mariadb:10.11"

// DriversImage has clients of several languages.
const DriversImage = "galera-drivers:1.1"

// LoadDrivers makes DriversImage where it is missing, and brings it to the nodes.
func LoadDrivers(ctx context.Context) error { return made(ctx, "drivers", DriversImage) }

// ExporterImage has mysqld_exporter.
const ExporterImage = "galera-exporter:0.14"

// LoadExporter makes ExporterImage where it is missing, and brings it to the nodes.
func LoadExporter(ctx context.Context) error { return made(ctx, "exporter", ExporterImage) }

// LoadOld makes OldImage where it is missing, and brings it to the nodes.
func LoadOld(ctx context.Context) error { return made(ctx, "database-old", OldImage) }

// LoadForeign brings an image that is in Docker to the nodes. It pulls nothing.
func LoadForeign(ctx context.Context, image string) error {
	if _, err := Docker(ctx, "image", "inspect", "--format", "{{.Id}}", image); err != nil {
		return err
	}
	return load(ctx, image)
}

// made makes an image of hack/images.sh, and brings it to the nodes.
func made(ctx context.Context, what, image string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	if _, err := run(ctx, "", filepath.Join(root, "hack", "images.sh"), what); err != nil {
		return err
	}
	return load(ctx, image)
}

// LoadVariant makes an image from another one with a Dockerfile's lines, and brings it to the nodes.
func LoadVariant(ctx context.Context, name, base string, lines ...string) error {
	if _, err := Docker(ctx, "image", "inspect", "--format", "{{.Id}}", base); err != nil {
		return fmt.Errorf("the image %s is not in Docker, so no variant can be made of it: %w", base, err)
	}
	text := "FROM " + base + "\n" + strings.Join(lines, "\n") + "\n"
	if _, err := DockerWithInput(ctx, text, "build", "-t", name, "-"); err != nil {
		return err
	}
	return load(ctx, name)
}

// LoadOwn brings an image of the user's to the nodes when Docker has it; else they have to get it themselves.
func LoadOwn(ctx context.Context, name string) error {
	if _, err := Docker(ctx, "image", "inspect", "--format", "{{.Id}}", name); err != nil {
		return nil //nolint:nilerr // Not here is no failure: it may be in a registry.
	}
	return load(ctx, name)
}

func load(ctx context.Context, image string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	_, err = run(ctx, "", filepath.Join(root, "hack", "load.sh"), image)
	return err
}
