package agentapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"
)

// PathAgent takes POST of an agent's program, with the query parameter sha256. 202 means that it is about to replace the agent, which
// shows in Report.AgentDigest; 409 that it does not, with the reason.
const PathAgent = "/v1/agent"

// LargestProgram is the largest program an agent takes, in bytes.
const LargestProgram = 128 << 20

// sendTime bounds the transport of a program, and the agent's check whether it can take over.
const sendTime = time.Minute

// ReplaceResult is the answer to PathAgent.
type ReplaceResult struct {
	// Message is why the agent is not replaced, "" when it is.
	Message string `json:"message,omitempty"`
}

// Program is an agent's program.
type Program struct {
	// Digest is its SHA-256 in hexadecimal, Arch the processor it is for (GOARCH).
	Digest, Arch string
	data         []byte
}

// ReadProgram reads the program in a file, which is for processors of arch.
func ReadProgram(path, arch string) (*Program, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &Program{Digest: hex.EncodeToString(sum[:]), Arch: arch, data: data}, nil
}

// Replace sends an agent the program of its successor. An error says why the agent goes on as it is: most often that it is in the middle of
// something, and is to be asked again later.
func (c *Client) Replace(ctx context.Context, host string, p *Program) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	var result ReplaceResult
	status, err := c.do(ctx, request{method: http.MethodPost, host: host, path: PathAgent, query: url.Values{"sha256": {p.Digest}},
		body: p.data, most: maxAnswer}, &result)
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("agent at %s: HTTP %d: %s", host, status, result.Message)
	}
	return err
}
