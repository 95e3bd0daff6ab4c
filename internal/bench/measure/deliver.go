package measure

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

const (
	// maxLog of the load generator's words are kept: a ConfigMap holds 1 MiB.
	maxLog = 256 << 10
	// The right to write the ConfigMap may be a moment younger than this pod.
	deliverTries = 30
	deliverPause = 2 * time.Second
)

// deliver writes the result into its ConfigMap, which the operator has made. The pod's token may
// do that and nothing else.
func deliver(out result.Output, log string) error {
	data, err := contents(out, log)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	client, err := apiClient()
	if err != nil {
		return err
	}
	for range deliverTries {
		if err = patchConfigMap(client, patch); err == nil {
			return nil
		}
		time.Sleep(deliverPause)
	}
	return err
}

// contents are what goes into the ConfigMap: all of it must fit, however long the run was.
func contents(out result.Output, log string) (map[string]string, error) {
	out.Thin()
	text, err := json.Marshal(out)
	return map[string]string{result.KeyOutput: string(text), result.KeyLog: log[max(0, len(log)-maxLog):]}, err
}

func apiClient() (*http.Client, error) {
	text, err := os.ReadFile(result.TokenDir + "/ca.crt")
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("there is no certificate in the API server's CA")
	}
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}}, nil
}

func patchConfigMap(client *http.Client, patch []byte) error {
	token, err := os.ReadFile(result.TokenDir + "/token") // read every time: kubelet renews it
	if err != nil {
		return err
	}
	url := fmt.Sprintf("https://%s/api/v1/namespaces/%s/configmaps/%s",
		net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")),
		os.Getenv(result.EnvNamespace), os.Getenv(result.EnvOutput))
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPatch, url, bytes.NewReader(patch))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	req.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return nil
}
