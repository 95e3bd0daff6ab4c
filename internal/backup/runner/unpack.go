package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// unpack fills a directory with a backup.
func unpack(ctx context.Context, m manifest.Manifest, step int, dir string, p places) error {
	say("unpacking %d MiB of the backup %s", m.StreamBytes>>20, m.ID)
	return unpackInto(ctx, dir, p, func(to io.Writer) error { return p.stream(ctx, m, step, to) })
}

// unpackInto fills a directory with what is written of a stream.
func unpackInto(ctx context.Context, dir string, p places, stream func(to io.Writer) error) error {
	if err := os.Mkdir(dir, 0o750); err != nil {
		return err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	widen(in)
	proc, err := startTool(p, mariadbd.Command{Path: mariadbd.FindProgram("mbstream"), Args: []string{"-x", "-C", dir},
		Stdin: out})
	_ = out.Close() // the program has its own: when it has ended, no one reads any more
	if err != nil {
		_ = in.Close()
		return err
	}
	defer context.AfterFunc(ctx, proc.Kill)() // a program that hangs would keep who writes to it
	readErr := stream(intoTool{in})
	_ = in.Close() // the end of the stream, also of one that broke off
	toolErr := endOfTool(ctx, proc, "mbstream")
	if toolErr != nil && (readErr == nil || errors.Is(readErr, errUnpacked)) {
		return toolErr
	}
	return readErr
}

// pipeSize is how much mbstream may be behind, in bytes. With the default of 64 KiB it and what writes wake each other
// for every piece.
const pipeSize = 1 << 20

// widen makes a pipe larger. Without the permission it stays as it is.
func widen(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}

// intoTool names why a program takes nothing any more.
type intoTool struct{ f *os.File }

// Write implements io.Writer.
func (t intoTool) Write(data []byte) (int, error) {
	n, err := t.f.Write(data)
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnpacked, err)
	}
	return n, err
}

var errUnpacked = errors.New("mbstream has ended")
