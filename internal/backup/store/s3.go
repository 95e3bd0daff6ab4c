package store

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/blob/s3blob"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// tries are those of a request. Repeating is the caller's otherwise: it knows how long that makes sense.
const tries = 2

func (p place) s3(ctx context.Context) (*Bucket, error) {
	load := []func(*config.LoadOptions) error{
		config.WithRegion(p.Region), config.WithHTTPClient(p.client()), config.WithRetryMaxAttempts(tries),
	}
	if !p.Credentials && os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") == "" &&
		os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") == "" {
		// The library would ask the metadata service for the host's identity, which every pod there could use.
		return nil, refused{errors.New("the store names no credentials, and the pod's ServiceAccount has no identity at " +
			"Amazon: name credentials, or a serviceAccountName with one")}
	}
	if p.Credentials {
		load = append(load, config.WithCredentialsProvider(aws.CredentialsProviderFunc(p.accessKey)))
	}
	conf, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, err
	}
	options := func(o *s3.Options) {
		o.UsePathStyle = p.PathStyle
		if p.Endpoint != "" {
			o.BaseEndpoint = aws.String(p.Endpoint)
		}
		o.HTTPSignerV4 = signer{}
		// Services other than Amazon's know no checksum trailers. All know Content-MD5, and a bucket with a default retention
		// asks for it.
		o.APIOptions = append(o.APIOptions, smithyhttp.AddContentChecksumMiddleware, p.requireTimes, p.addSettings)
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
	list := s3.NewFromConfig(conf, options)
	client := s3.NewFromConfig(conf, options, func(o *s3.Options) {
		o.APIOptions = append(o.APIOptions,
			findMissing(list))
	})
	return s3blob.OpenBucket(ctx, client, p.Bucket,
		&s3blob.Options{RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired})
}

// signer is Amazon's. It keeps what it has derived from a secret key under the key's ID, and would sign with a secret
// that was replaced.
type signer struct{}

// SignHTTP implements s3.HTTPSignerV4.
func (signer) SignHTTP(ctx context.Context, c aws.Credentials, r *http.Request, hash, service, region string,
	at time.Time, options ...func(*v4.SignerOptions)) error {
	return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(ctx, c, r, hash, service,
		region, at, options...)
}

// accessKey reads the credentials from their files, for every request: the SDK keeps what has not expired.
func (p place) accessKey(context.Context) (aws.Credentials, error) {
	var words [3]string
	for i, name := range []string{task.AccessKeyID, task.SecretAccessKey, task.SessionToken} {
		word, err := p.word(name)
		if err != nil && (name != task.SessionToken || !errors.Is(err, fs.ErrNotExist)) {
			return aws.Credentials{}, err
		}
		words[i] = word
	}
	if words[0] == "" || words[1] == "" {
		return aws.Credentials{}, refused{errors.New("the store's Secret holds an empty access key")}
	}
	return aws.Credentials{AccessKeyID: words[0], SecretAccessKey: words[1], SessionToken: words[2], Source: "Secret",
		CanExpire: true, Expires: time.Now()}, nil
}
