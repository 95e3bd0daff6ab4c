package agentapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
)

// PathAccounts takes a BenchAccount.
const PathAccounts = "/v1/accounts"

// BenchAccount is a benchmark's account in the database: bench_SUFFIX, which may do what it likes in the databases
// bench_…_SUFFIX, and nothing anywhere else.
type BenchAccount struct {
	// Suffix is ten to sixteen lower-case letters and digits: no account a person makes is called so by chance.
	Suffix string `json:"suffix"`
	// Hash is the mysql_native_password hash of its password, for one that is to be there.
	Hash string `json:"hash,omitempty"`
	// Present reports whether the account is to be there. Otherwise it is dropped, and with it all of its databases.
	Present bool `json:"present"`
}

var (
	benchSuffix = regexp.MustCompile(`^[a-z0-9]{10,16}$`)
	nativeHash  = regexp.MustCompile(`^\*[0-9A-F]{40}$`)
)

// Name of the account.
func (a BenchAccount) Name() string { return "bench_" + a.Suffix }

// Check refuses everything that is not such an account. What passes needs no quoting.
func (a BenchAccount) Check() error {
	switch {
	case !benchSuffix.MatchString(a.Suffix):
		return errors.New(
			"a benchmark's account is called bench_ and ten to sixteen lower-case letters and digits, and nothing else is " +
				"made or dropped")
	case a.Present && !nativeHash.MatchString(a.Hash):
		return errors.New("hash must be a mysql_native_password hash")
	}
	return nil
}

// AccountResult is the answer.
type AccountResult struct {
	// Message explains why the member did not do it, "" when it did.
	Message string `json:"message,omitempty"`
}

// KeepAccount asks an agent to make or to drop a benchmark's account. An error explains why it did not.
func (c *Client) KeepAccount(ctx context.Context, host string, a BenchAccount) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	var result AccountResult
	status, err := c.post(ctx, host, PathAccounts, body, &result)
	if err == nil && status != http.StatusOK {
		return fmt.Errorf("agent at %s: HTTP %d: %s", host, status, result.Message)
	}
	return err
}
