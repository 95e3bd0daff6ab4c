package leasing

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/nodetls"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// askTime is how long an agent may take for its question: the others wait for that. answerTime bounds an answer.
	askTime    = 1500 * time.Millisecond
	answerTime = 3 * time.Second
	// maxQuestion bounds a question, in bytes.
	maxQuestion = 1 << 10
)

// question is that of the agent at an address, and the way to it.
type question struct {
	address, token string
	client         *http.Client
}

// hosts are agents by the hosts of their nodes. One that cannot be reached is not reported here: its own report shows
// what it has heard.
type hosts struct {
	names []string
	port  int // 0 for that of agents
	trust func() (*tls.Config, error)
}

func (h hosts) ask(ctx context.Context) (out []question) {
	config, err := h.trust()
	if err != nil {
		say("no agent can be asked: %v", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, host := range h.names {
		wait.Go(func() {
			q := question{address: net.JoinHostPort(host, strconv.Itoa(cmp.Or(h.port, agentapi.PeerPort))),
				client: &http.Client{Transport: &http.Transport{TLSClientConfig: config.Clone()},
					CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
			asked, err := post(ctx, q.client, q.address, agentapi.LeaseAnswer{})
			if err != nil || asked.Token == "" {
				q.client.CloseIdleConnections()
				return
			}
			q.token = asked.Token
			mu.Lock()
			defer mu.Unlock()
			out = append(out, q)
		})
	}
	wait.Wait()
	return out
}

func (h hosts) answer(ctx context.Context, to []question) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var wait sync.WaitGroup
	for _, q := range to {
		wait.Go(func() {
			_, _ = post(ctx, q.client, q.address, agentapi.LeaseAnswer{Token: q.token})
			q.client.CloseIdleConnections()
		})
	}
	wait.Wait()
}

func post(ctx context.Context, client *http.Client, address string, of agentapi.LeaseAnswer) (
	question agentapi.LeaseQuestion, err error) {
	body, err := json.Marshal(of)
	if err != nil {
		return question, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+agentapi.PathLease,
		bytes.NewReader(body))
	if err != nil {
		return question, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return question, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return question, fmt.Errorf("it answers %s", resp.Status)
	}
	return question, json.NewDecoder(io.LimitReader(resp.Body, maxQuestion)).Decode(&question)
}

func mounted() (*tls.Config, error) { return nodetls.Read(task.ClientDir, tls.VersionTLS13) }
