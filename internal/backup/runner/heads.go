package runner

import (
	"bytes"
	"context"
	"encoding/gob"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

const (
	// maxSingle is how many heads are kept that were read on their own, maxOpen how many batches of them are kept
	// unpacked.
	maxSingle = 4096
	maxOpen   = 32
)

// kept is what was read of an archive's heads. A segment every ten seconds makes hundreds of thousands a month, of a
// kilobyte or two each: batches are kept packed, in a tenth of that.
type kept struct {
	single map[int]binlog.Head
	packed map[int][]byte        // by the number of the batch
	open   map[int][]binlog.Head // as above; without a Number where one is missing
	opened []int                 // these, the one that was opened first first
	at     int                   // the index that was asked for last
	gone   uint64                // the last segment that was listed, and is missing; 0 for none
	err    error                 // why heads could not be read: they are not unreadable then
}

// archive are the heads of the segments that were listed. What fails is in kept.
func (w *walk) archive(ctx context.Context) policy.Heads {
	if w.kept == nil {
		w.kept = &kept{single: map[int]binlog.Head{}, packed: map[int][]byte{}, open: map[int][]binlog.Head{}, at: -2}
	}
	w.kept.gone = 0
	return policy.Heads{Numbers: w.numbers, At: func(i int) binlog.Head { return w.headAt(ctx, i) }}
}

// headAt is the head at an index. Who asks for one next to the last one asks for those after it, too: they are read at
// the same time.
func (w *walk) headAt(ctx context.Context, i int) binlog.Head {
	k := w.kept
	next := i == k.at-1 || i == k.at || i == k.at+1
	k.at = i
	batchOf, there := k.batch(i / batch)
	switch {
	case k.err != nil:
	case there:
		if h := batchOf[i%batch]; h.Number > 0 {
			return h
		}
		k.gone = max(k.gone, w.numbers[i])
	default:
		if h, ok := k.single[i]; ok {
			return h
		}
		if next {
			w.readBatch(ctx, i/batch)
			return w.headAt(ctx, i)
		}
		var h binlog.Head
		if h, k.err = w.readHead(ctx, w.numbers[i]); isGone(k.err) {
			k.gone, k.err = max(k.gone, w.numbers[i]), nil
		} else if k.err == nil {
			if len(k.single) >= maxSingle {
				clear(k.single)
			}
			k.single[i] = h
			return h
		}
	}
	return binlog.Head{Number: w.numbers[i], Unreadable: "it was not read"}
}

// batch returns one that was read.
func (k *kept) batch(n int) ([]binlog.Head, bool) {
	if of, ok := k.open[n]; ok {
		return of, true
	}
	text, ok := k.packed[n]
	if !ok {
		return nil, false
	}
	var of []binlog.Head
	if of, k.err = unpackHeads(text); k.err == nil {
		k.keep(n, of)
	}
	return of, k.err == nil
}

func (k *kept) keep(n int, of []binlog.Head) {
	if len(k.opened) >= maxOpen {
		delete(k.open, k.opened[0])
		k.opened = k.opened[1:]
	}
	k.open[n], k.opened = of, append(k.opened, n)
}

// readBatch reads one. That a segment is missing does not matter before it is asked for: retention may have removed it.
func (w *walk) readBatch(ctx context.Context, n int) {
	k, from := w.kept, n*batch
	of := make([]binlog.Head, min(batch, len(w.numbers)-from))
	k.err = each(ctx, len(of), func(ctx context.Context, i int) (err error) {
		if h, ok := k.single[from+i]; ok {
			of[i] = h
		} else if of[i], err = w.readHead(ctx, w.numbers[from+i]); isGone(err) {
			of[i], err = binlog.Head{}, nil
		}
		return err
	})
	for i := range of { // what a restore does not read in them
		of[i].Recipients, of[i].SHA256 = nil, ""
		delete(k.single, from+i)
	}
	if k.err == nil {
		k.packed[n], k.err = packHeads(of)
	}
	if k.err == nil {
		k.keep(n, of)
	}
}

var packer = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
})

var unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
})

func packHeads(of []binlog.Head) ([]byte, error) {
	z, err := packer()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(of); err != nil {
		return nil, err
	}
	return z.EncodeAll(text.Bytes(), nil), nil
}

func unpackHeads(packed []byte) (of []binlog.Head, err error) {
	z, err := unpacker()
	if err != nil {
		return nil, err
	}
	text, err := z.DecodeAll(packed, nil)
	if err != nil {
		return nil, err
	}
	return of, gob.NewDecoder(bytes.NewReader(text)).Decode(&of)
}
