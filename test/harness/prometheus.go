package harness

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Prometheus is a real one, made by the Prometheus operator as a user would make it.
type Prometheus struct {
	API  prometheus.API
	kube *Kube
	root string
}

// StartPrometheus runs hack/monitoring.sh: it has PodMonitors and alerts of config/prometheus.
func StartPrometheus(ctx context.Context, k *Kube) (*Prometheus, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	p := &Prometheus{kube: k, root: root}
	address, err := p.script(ctx, "up")
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.Config{Address: strings.TrimSpace(address)})
	p.API = prometheus.NewAPI(client)
	return p, err
}

// Stop removes it, and what it needs.
func (p *Prometheus) Stop(ctx context.Context) error {
	_, err := p.script(ctx, "down")
	return err
}

func (p *Prometheus) script(ctx context.Context, what string) (string, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(p.root, "hack", "monitoring.sh"), what).Output()
	if failed := (&exec.ExitError{}); errors.As(err, &failed) {
		err = fmt.Errorf("hack/monitoring.sh %s: %w: %s", what, err, failed.Stderr)
	}
	return string(out), err
}

// Ask returns the samples of a query now.
func (p *Prometheus) Ask(ctx context.Context, query string) (model.Vector, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	value, _, err := p.API.Query(ctx, query, time.Now())
	if err != nil {
		return nil, err
	}
	vector, ok := value.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("%s is a %s", query, value.Type())
	}
	return vector, nil
}

// Firing returns the labels of the alerts that fire and have these labels.
func (p *Prometheus) Firing(ctx context.Context, with map[string]string) ([]string, error) {
	query := `ALERTS{alertstate="firing"`
	for name, value := range with {
		query += fmt.Sprintf(",%s=%q", name, value)
	}
	found, err := p.Ask(ctx, query+"}")
	var out []string
	for _, s := range found {
		out = append(out, s.Metric.String())
	}
	return out, err
}

// WaitAlert waits until an alert with these labels fires, or until none does.
func (p *Prometheus) WaitAlert(ctx context.Context, fires bool, timeout time.Duration, with map[string]string) error {
	what := fmt.Sprintf("%v fires: %v", with, fires)
	return p.kube.Until(ctx, what, timeout, func(ctx context.Context) (bool, string, error) {
		found, err := p.Firing(ctx, with)
		return err == nil && fires == (len(found) > 0), strings.Join(found, " "), err
	})
}
