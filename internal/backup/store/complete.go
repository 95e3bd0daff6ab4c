package store

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
)

// incomplete is an answer of a service that lacks what the protocol has in all of them.
type incomplete struct{ error }

// requireTimes refuses a list whose objects have no time: the library would end the program.
func (p place) requireTimes(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("RequireTimes", func(ctx context.Context,
		in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata,
		error) {
		out, about, err := next.HandleInitialize(ctx, in)
		if list, ok := out.Result.(*s3.ListObjectsV2Output); ok && err == nil {
			for _, o := range list.Contents {
				if o.LastModified == nil {
					return out, about, incomplete{fmt.Errorf(
						"the bucket %s%s lists the object %q without LastModified: what answers there does not do so as S3 does",
						p.Bucket, p.at(), aws.ToString(o.Key))}
				}
			}
		}
		return out, about, err
	}), middleware.Before)
}

// azureComplete refuses answers without what the library reads unseen: it would end the program.
type azureComplete struct{ place }

// azureList is what such an answer lists.
type azureList struct {
	Blobs *struct {
		Blob []struct {
			Name       string
			Properties struct {
				LastModified  *string `xml:"Last-Modified"`
				ContentLength *string `xml:"Content-Length"`
			}
		}
	}
}

// Do implements policy.Policy.
func (a azureComplete) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
		return resp, err
	}
	raw := req.Raw()
	lacks := ""
	switch comp := raw.URL.Query().Get("comp"); {
	case raw.Method == http.MethodGet && comp == "list":
		lacks, err = listLacks(resp)
	case raw.Method == http.MethodGet && comp == "", raw.Method == http.MethodHead:
		lacks = headersLack(raw, resp)
	}
	if lacks != "" {
		runtime.Drain(resp)
		err = incomplete{fmt.Errorf("the container %s%s answers with %s: what answers there does not do so as Azure does",
			a.Bucket, a.at(), lacks)}
	}
	return resp, err
}

// listLacks reads a list, and names what it lacks. The response keeps its body.
func listLacks(resp *http.Response) (string, error) {
	text, err := runtime.Payload(resp)
	if err != nil {
		return "", err
	}
	var list azureList
	if isList := xml.Unmarshal(text, &list) == nil; !isList || list.Blobs == nil {
		return "a list without Blobs", nil
	}
	for _, b := range list.Blobs.Blob {
		if b.Properties.LastModified == nil || b.Properties.ContentLength == nil {
			return fmt.Sprintf("a list that has the object %q without Last-Modified or Content-Length", b.Name), nil
		}
	}
	return "", nil
}

func headersLack(req *http.Request, resp *http.Response) string {
	for _, name := range []string{"Last-Modified", "x-ms-creation-time"} {
		if resp.Header.Get(name) == "" && (name == "Last-Modified" || req.Method == http.MethodHead) {
			return fmt.Sprintf("the object %q without %s", req.URL.Path, name)
		}
	}
	return ""
}

// at names the endpoint, if the store has one of its own.
func (p place) at() string {
	if p.Endpoint == "" {
		return ""
	}
	return " at " + p.Endpoint
}
