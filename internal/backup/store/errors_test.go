package store

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"syscall"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

func amazon(status int, code string) error {
	return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err: &smithy.GenericAPIError{Code: code, Message: "m"}}
}

// TestCredentials: credentials that are not accepted may be renewed within the kubelet's minute, and clocks set right;
// rights are not.
func TestCredentials(t *testing.T) {
	retried := []string{"ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch", "RequestTimeTooSkewed"}
	for _, code := range append(retried, "AccessDenied", "NoSuchBucket") {
		reason, final := Reason(amazon(403, code))
		if reason != task.ReasonStoreRefused || final == slices.Contains(retried, code) {
			t.Errorf("%s: %s %v", code, reason, final)
		}
	}
	for status, code := range map[int]string{403: "Forbidden", 400: "BadRequest"} { // to HEAD, S3 answers without a body
		if reason, final := Reason(amazon(status, code)); reason != task.ReasonStoreRefused || final {
			t.Errorf("%s: %s %v", code, reason, final)
		}
	}
	noGrant := &oauth2.RetrieveError{Response: &http.Response{StatusCode: 400}, Body: []byte(`{"error": "invalid_grant"}`)}
	for says, err := range map[string]error{
		"Unauthorized":                     &googleapi.Error{Code: 401},
		"no token is given: invalid_grant": &url.Error{Op: "Get", URL: "https://x/y?z", Err: noGrant},
		"AuthenticationFailed":             &azcore.ResponseError{StatusCode: 403, ErrorCode: "AuthenticationFailed"},
	} {
		if reason, final := Reason(err); reason != task.ReasonStoreRefused || final || Explain(err) != says {
			t.Errorf("%s: %s %v %q", says, reason, final, Explain(err))
		}
	}
}

func TestReason(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reason string
		final  bool
		says   string
	}{
		"a full disk": {fmt.Errorf("x: %w", syscall.ENOSPC), task.ReasonStoreFull, false,
			"x: no space left on device"},
		"S3 refuses":             {amazon(403, "AccessDenied"), task.ReasonStoreRefused, true, "AccessDenied: m"},
		"S3 is overloaded":       {amazon(503, "SlowDown"), task.ReasonStoreUnreachable, false, "SlowDown: m"},
		"S3 has failed":          {amazon(500, "InternalError"), task.ReasonStoreUnreachable, false, "InternalError: m"},
		"S3 waited for the body": {amazon(400, "RequestTimeout"), task.ReasonStoreUnreachable, false, "RequestTimeout: m"},
		"S3 is full":             {amazon(507, "XMinioStorageFull"), task.ReasonStoreFull, false, "XMinioStorageFull: m"},
		"S3's quota":             {amazon(403, "QuotaExceeded"), task.ReasonStoreFull, false, "QuotaExceeded: m"},
		"Google refuses": {&googleapi.Error{Code: 403, Message: "m",
			Errors: []googleapi.ErrorItem{{Reason: "forbidden"}}}, task.ReasonStoreRefused, true, "forbidden: m"},
		"Google wants it slower": {&googleapi.Error{Code: 403, Message: "m",
			Errors: []googleapi.ErrorItem{{Reason: "rateLimitExceeded"}}}, task.ReasonStoreUnreachable, false,
			"rateLimitExceeded: m"},
		"Google has failed": {&googleapi.Error{Code: 502}, task.ReasonStoreUnreachable, false, "Bad Gateway"},
		"no token for the moment": {&oauth2.RetrieveError{Response: &http.Response{StatusCode: 503}},
			task.ReasonStoreUnreachable, false, "no token is given"},
		"Azure is busy": {&azcore.ResponseError{StatusCode: 503, ErrorCode: "ServerBusy"},
			task.ReasonStoreUnreachable, false, "ServerBusy"},
		"the network, and a token": {&url.Error{Op: "Put", URL: "https://shop.example.org/c/k?sv=1&sig=secret",
			Err: errors.New("reset")}, task.ReasonStoreUnreachable, false, "https://shop.example.org: reset"},
		"the network, in a library's words": {fmt.Errorf(
			"blob (code=Unknown): operation error S3: HeadObject, https response error StatusCode: 0, RequestID: , request "+
				"send failed, %w",
			&url.Error{Op: "Head", URL: "https://key:secret@s3.svc:9000/shop/k",
				Err: errors.New("dial tcp 10.96.0.7:9000: connect: connection refused")}), task.ReasonStoreUnreachable, false,
			"https://s3.svc:9000: dial tcp 10.96.0.7:9000: connect: connection refused"},
		"the Secret": {fmt.Errorf("x: %w", refused{errors.New("no key")}), task.ReasonStoreRefused, true, "no key"},
	} {
		reason, final := Reason(c.err)
		if says := Explain(c.err); reason != c.reason || final != c.final || says != c.says {
			t.Errorf("%s: %s %v %q", name, reason, final, says)
		}
	}
}
