package agentapi

import (
	"context"
	"errors"
)

// PathNumbers takes an Alignment.
const PathNumbers = "/v1/numbers"

// maxSpread bounds what the numbers of nodes may differ by.
const maxSpread = 1 << 32

// Alignment asks a member to have all nodes count GTIDs from one number on.
type Alignment struct {
	// Seqno is that of a transaction that the nodes have numbered differently, and Spread how far its numbers are from
	// each other. What was aligned after it is not aligned again.
	Seqno  int64  `json:"seqno"`
	Spread uint64 `json:"spread"`
	// Size is how many members the component must have.
	Size int `json:"size"`
}

// AlignmentResult is the answer.
type AlignmentResult struct {
	// Number is what all nodes count from, 0 when they were aligned already.
	Number uint64 `json:"number,omitempty"`
	// Message explains why they were not aligned, "" when they were.
	Message string `json:"message,omitempty"`
}

// Check refuses what is no alignment.
func (a Alignment) Check() error {
	if a.Seqno <= 0 || a.Spread == 0 || a.Spread > maxSpread || a.Size <= 0 {
		return errors.New("an alignment has a seqno, a spread and a size")
	}
	return nil
}

// AlignNumbers asks an agent to have all nodes count GTIDs from one number on.
func (c *Client) AlignNumbers(ctx context.Context, host string, a Alignment) (AlignmentResult, error) {
	var result AlignmentResult
	err := c.ask(ctx, host, PathNumbers, a, &result, &result.Message)
	return result, err
}
