package store

import (
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
)

// addSettings gives new objects what the store asks for: encryption by the service, tags, and a storage class.
func (p place) addSettings(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Settings", func(ctx context.Context,
		in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata,
		error) {
		encryption, key, tags := types.ServerSideEncryption(p.Encryption), text(p.KMSKey), text(p.tagging())
		switch o := in.Parameters.(type) {
		case *s3.PutObjectInput:
			o.ServerSideEncryption, o.SSEKMSKeyId, o.Tagging, o.StorageClass = encryption, key, tags, p.classOf(o.Key)
		case *s3.CreateMultipartUploadInput:
			o.ServerSideEncryption, o.SSEKMSKeyId, o.Tagging, o.StorageClass = encryption, key, tags, p.classOf(o.Key)
		}
		return next.HandleInitialize(ctx, in)
	}), middleware.Before)
}

// classOf is the storage class of an object: parts have the store's, and what a check writes, so that it is known to be
// one. Other objects are small, and often read.
func (p place) classOf(key *string) types.StorageClass {
	if name := path.Base(aws.ToString(key)); strings.HasPrefix(name, "part-") || strings.HasPrefix(name, ".check-") {
		return types.StorageClass(p.StorageClass)
	}
	return ""
}

func (p place) tagging() string {
	tags := url.Values{}
	for k, v := range p.Tags {
		tags.Set(k, v)
	}
	return tags.Encode()
}

// text is what is not sent when it is empty.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
