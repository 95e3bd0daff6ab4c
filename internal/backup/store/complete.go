package store

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
)

// incomplete is an answer of a service that lacks what S3 always sends.
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

// at names the endpoint, if the store has one of its own.
func (p place) at() string {
	if p.Endpoint == "" {
		return ""
	}
	return " at " + p.Endpoint
}
