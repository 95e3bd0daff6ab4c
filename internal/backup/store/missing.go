package store

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// findMissing distinguishes a missing object from a refusal. S3 answers a request for a missing object with 403 unless
// the right s3:ListBucket holds for the whole bucket. A right that is limited to a prefix (the condition s3:prefix)
// allows to list the key itself.
func findMissing(list *s3.Client) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("FindMissing", func(ctx context.Context,
			in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput,
			middleware.Metadata, error) {
			out, about, err := next.HandleInitialize(ctx, in)
			bucket, key := objectOf(in.Parameters)
			if key == "" || !isDenied(err) {
				return out, about, err
			}
			found, listErr := list.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(bucket),
				Prefix: aws.String(key), MaxKeys: aws.Int32(1)}) // in order: the key itself is the first
			if listErr == nil && (len(found.Contents) == 0 || aws.ToString(found.Contents[0].Key) != key) {
				err = &smithyhttp.ResponseError{Err: &types.NoSuchKey{}, Response: &smithyhttp.Response{
					Response: &http.Response{StatusCode: http.StatusNotFound}}}
			}
			return out, about, err
		}), middleware.Before)
	}
}

// objectOf names the object that a request reads, "" for other requests.
func objectOf(input any) (bucket, key string) {
	switch in := input.(type) {
	case *s3.GetObjectInput:
		return aws.ToString(in.Bucket), aws.ToString(in.Key)
	case *s3.HeadObjectInput:
		return aws.ToString(in.Bucket), aws.ToString(in.Key)
	}
	return "", ""
}

// isDenied reports whether an error is that of a missing right. HEAD has no code.
func isDenied(err error) bool {
	var response *smithyhttp.ResponseError
	said, answered := answerOf(err)
	return answered && errors.As(err, &response) && said.status == http.StatusForbidden &&
		(said.bare || said.code == "AccessDenied")
}
