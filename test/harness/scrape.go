package harness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Scrape is what one scrape has answered, and how long that took.
type Scrape struct {
	Families map[string]*dto.MetricFamily
	Took     time.Duration
}

// Value returns the value of a series that has at least these labels, as name, value, …; ok is false when there is
// none.
func (s Scrape) Value(name string, labels ...string) (value float64, ok bool) {
	for _, m := range s.Families[name].GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		fits := true
		for i := 0; i+1 < len(labels); i += 2 {
			fits = fits && have[labels[i]] == labels[i+1]
		}
		if fits {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue() +
				float64(m.GetHistogram().GetSampleCount()), true
		}
	}
	return 0, false
}

func scrape(ctx context.Context, host string, query url.Values) (s Scrape, err error) {
	at := url.URL{Scheme: "http", Host: host, Path: agentapi.PathMetrics, RawQuery: query.Encode()}
	return scrapeFrom(ctx, http.DefaultClient, at, "")
}

// scrapeFrom sends a token, if there is one.
func scrapeFrom(ctx context.Context, client *http.Client, at url.URL, token string) (s Scrape, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return s, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	began := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("%s: %s", at.String(), resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	s.Families, err = parser.TextToMetricFamilies(resp.Body)
	s.Took = time.Since(began)
	return s, err
}
