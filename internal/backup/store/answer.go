package store

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
)

// answer is what a service has said.
type answer struct {
	status        int
	code, message string
	// bare reports whether the answer had no body, as one to HEAD: its code is the status.
	bare bool
}

// answerOf finds it in an error; false when the service has said nothing.
func answerOf(err error) (answer, bool) {
	var amazon smithy.APIError
	var google *googleapi.Error
	var azure *azcore.ResponseError
	var token *oauth2.RetrieveError
	var identity *azidentity.AuthenticationFailedError
	switch {
	case errors.As(err, &amazon):
		out := answer{code: amazon.ErrorCode(), message: amazon.ErrorMessage()}
		var response *smithyhttp.ResponseError
		if errors.As(err, &response) {
			out.status = response.HTTPStatusCode()
		}
		out.bare = out.code == "" || out.code == strings.ReplaceAll(http.StatusText(out.status), " ", "")
		return out, true
	case errors.As(err, &google):
		return ofGoogle(google), true
	case errors.As(err, &token) && token.Response != nil:
		return answer{status: token.Response.StatusCode, code: noToken, message: ofTokens(token.Body)}, true
	case errors.As(err, &azure):
		return answer{status: azure.StatusCode, code: azure.ErrorCode, message: ofAzure(azure.RawResponse)}, true
	case errors.As(err, &identity) && identity.RawResponse != nil:
		return answer{status: identity.RawResponse.StatusCode, code: noToken,
			message: http.StatusText(identity.RawResponse.StatusCode)}, true
	}
	return answer{}, false
}

// ofTokens is what a service states that gives none.
func ofTokens(body []byte) string {
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	return strings.TrimSuffix(said.Error+": "+said.Description, ": ")
}

func ofGoogle(e *googleapi.Error) answer {
	out := answer{status: e.Code, code: http.StatusText(e.Code), message: e.Message}
	if len(e.Errors) > 0 && e.Errors[0].Reason != "" {
		out.code = e.Errors[0].Reason
	}
	if out.message == "" {
		out.message = strings.TrimSpace(e.Body)
	}
	return out
}

// ofAzure is the message of an answer: its first line, before the request's number and time. The SDK keeps the body.
func ofAzure(r *http.Response) string {
	if r == nil {
		return ""
	}
	var said struct{ Message string }
	if text, err := runtime.Payload(r); err != nil || xml.Unmarshal(text, &said) != nil {
		return http.StatusText(r.StatusCode)
	}
	line, _, _ := strings.Cut(said.Message, "\n")
	return line
}
