package agentapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Understands reports whether both sides of a protocol version understand each other.
func Understands(protocol int) bool { return protocol >= Protocol-1 && protocol <= Protocol+1 }

// PathAgent takes POST of an agent's program, with the query parameter sha256. 202 means that it is about to replace
// the agent, which shows in Report.AgentDigest; 409 that it does not, with the reason.
const PathAgent = "/v1/agent"

// LargestProgram is the largest program an agent takes, in bytes.
const LargestProgram = 128 << 20

// sendTimeout bounds the transport of a program, and the agent's check whether it can take over.
const sendTimeout = time.Minute

// NotNow is part of the reason of an agent that is in the middle of something: it is to be asked again shortly.
const NotNow = "not now: "

// ReplaceResult is the answer to PathAgent.
type ReplaceResult struct {
	// Message is why the agent is not replaced, "" when it is.
	Message string `json:"message,omitempty"`
}

// Program is an agent's program, in a file.
type Program struct {
	// Digest is its SHA-256 in hexadecimal, Arch the processor it is for (GOARCH), Version that of its build.
	Digest, Arch, Version string
	path                  string
}

// ReadProgram reads the program in a file, which is of a version, and for processors of arch.
func ReadProgram(path, version, arch string) (*Program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return nil, err
	}
	return &Program{Digest: hex.EncodeToString(hash.Sum(nil)), Arch: arch, Version: version, path: path}, nil
}

// Replace sends an agent the program of its successor. An error explains why the agent goes on as it is: most often
// that it is in the middle of something, and is to be asked again later.
func (c *Client) Replace(ctx context.Context, host string, p *Program) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	data, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	var result ReplaceResult
	status, err := c.do(ctx, request{method: http.MethodPost, host: host, path: PathAgent,
		query: url.Values{"sha256": {p.Digest}},
		body:  data, maxBytes: maxAnswer}, &result)
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("agent at %s: HTTP %d: %s", host, status, result.Message)
	}
	return err
}
