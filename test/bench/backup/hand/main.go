// Command hand is what a person would use to store a stream, and to get it again: `hand put NAME` and `hand get NAME`.
// The bucket's URL stands in BUCKET, the credentials in the variables of the AWS SDK.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: hand put|get NAME")
	}
	bucket, err := blob.OpenBucket(ctx, os.Getenv("BUCKET"))
	if err != nil {
		return err
	}
	defer func() { _ = bucket.Close() }()
	if args[0] == "get" {
		r, err := bucket.NewReader(ctx, args[1], nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(os.Stdout, r)
		return err
	}
	w, err := bucket.NewWriter(ctx, args[1], nil)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, os.Stdin); err != nil {
		return err
	}
	return w.Close()
}
