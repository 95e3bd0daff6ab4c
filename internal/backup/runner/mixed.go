package runner

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// spaceHead is how many bytes of a tablespace show the size of its pages.
	spaceHead = 64
	// pageLSN is where a page has the LSN of its latest change, and spacePages where the first one has their number.
	pageLSN, spacePages = 16, 46
)

// newest are the latest changes of the tablespaces in a stream, by their pages' LSNs.
type newest map[string]*spaceSeen

// spaceSeen is what is known of a tablespace as its bytes go by.
type spaceSeen struct {
	head     []byte
	pageSize uint64 // 0 for none that InnoDB has
	lsn      [8]byte
	next     uint64 // where the next page's LSN begins
	latest   uint64
}

// space matches the names of InnoDB's tablespaces.
var space = regexp.MustCompile(`\.ibd$|^(ibdata|undo)[0-9]+$`)

// see takes the bytes of a file at an offset.
func (n newest) see(name string, at uint64, data []byte) {
	if !space.MatchString(name) {
		return
	}
	s := n[name]
	if s == nil || at == 0 { // also one that is sent again
		s = &spaceSeen{}
		n[name] = s
	}
	if at < spaceHead {
		s.head = append(s.head, data[:min(uint64(len(data)), spaceHead-at)]...)
		if len(s.head) < spaceHead {
			return
		}
		if about, err := atrest.ParseInnoDB(s.head, strings.HasPrefix(filepath.Base(name), "ibdata")); err == nil {
			s.pageSize = uint64(about.PageSize) //nolint:gosec // bounded
			s.latest = binary.BigEndian.Uint64(s.head[pageLSN:])
			s.next = s.pageSize + pageLSN
		}
	}
	s.read(at, data)
}

func (s *spaceSeen) read(at uint64, data []byte) {
	end := at + uint64(len(data))
	if s.pageSize == 0 {
		return
	}
	if s.next+8 <= at { // after a hole
		s.next = (at+s.pageSize-1)/s.pageSize*s.pageSize + pageLSN
	}
	for s.next < end {
		from := max(at, s.next)
		copy(s.lsn[from-s.next:], data[from-at:])
		if s.next+8 > end {
			return // the rest comes with the next bytes
		}
		s.latest = max(s.latest, binary.BigEndian.Uint64(s.lsn[:]))
		s.next += s.pageSize
	}
}

// redoLog is what ib_logfile0 has, in the format since 10.8. The zero value is one of another format.
type redoLog struct{ checkpoint, end uint64 }

const (
	redoFormat = 0x50687973 // "Phys"
	redoBegin  = 12 << 10   // of the records, after the header with the first one's LSN
)

// readRedo reads the header. mariadb-backup has copied the records into one piece, and leaves no space after them.
func readRedo(dir string) (redoLog, error) {
	f, err := os.Open(filepath.Join(dir, "ib_logfile0"))
	if errors.Is(err, fs.ErrNotExist) {
		return redoLog{}, nil
	}
	if err != nil {
		return redoLog{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return redoLog{}, err
	}
	head := make([]byte, redoBegin)
	if _, err := io.ReadFull(f, head); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return redoLog{}, nil
	} else if err != nil {
		return redoLog{}, err
	}
	if binary.BigEndian.Uint32(head) != redoFormat {
		return redoLog{}, nil
	}
	number := func(at int) uint64 { return binary.BigEndian.Uint64(head[at:]) }
	return redoLog{checkpoint: max(number(4<<10), number(8<<10)),
		end: number(8) + uint64(info.Size()) - redoBegin}, nil //nolint:gosec // at least a header
}

// refuseMixed refuses what shows that the files are of several backups. Files that are older than the others have
// nothing in them that shows it. It is pure.
func (a adopted) refuseMixed(latest map[string]uint64) error {
	const once = "Upload all of one backup to a path of its own, which was empty before"
	refuse := func(format string, args ...any) error {
		return fatal(task.ReasonBackupDamaged,
			fmt.Errorf("the backup's files are of several ones: "+format+". "+once, args...))
	}
	ends, err := strconv.ParseUint(a.Checkpoints["last_lsn"], 10, 64)
	if err != nil || ends == 0 {
		return refuse("…_checkpoints has no last_lsn")
	}
	// of an increment that was added, the files have parts of the full one's description
	added := strings.HasPrefix(strings.ToUpper(a.Info["incremental"]), "Y")
	if to := a.Info["innodb_to_lsn"]; !added && to != "" && to != a.Checkpoints["to_lsn"] {
		return refuse("…_info has innodb_to_lsn = %s, and …_checkpoints to_lsn = %s", to,
			a.Checkpoints["to_lsn"])
	}
	if at := a.Info["binlog_pos"]; at != "" && a.BinlogFile != "" &&
		(!strings.Contains(at, "'"+a.BinlogFile+"'") || !strings.Contains(at, "'"+a.BinlogPos+"'") ||
			!strings.Contains(at, "'"+a.GTID+"'")) {
		return refuse("…_info has binlog_pos = %s, and …_binlog_info %s %s %s", at, a.BinlogFile,
			a.BinlogPos, a.GTID)
	}
	prepared := a.Checkpoints["backup_type"] != "full-backuped"
	switch log := a.Redo; {
	case log == redoLog{} && prepared:
		return nil // of a series before 10.8, whose prepared log has a size of its own
	case log == redoLog{}:
	case log.end < ends, !added && (log.checkpoint > ends || !prepared && log.end > ends):
		return refuse("the log in ib_logfile0 is from the LSN %d to %d, and …_checkpoints has last_lsn = %d",
			log.checkpoint, log.end, ends)
	case added:
		ends = log.end
	}
	var later []string
	for name, lsn := range latest {
		if lsn > ends {
			later = append(later, fmt.Sprintf("%s at the LSN %d", name, lsn))
		}
	}
	if slices.Sort(later); len(later) > 0 {
		return refuse("it ends at the LSN %d, and files are changed after that (%s). A server that has lost its log once "+
			"has such tables, too, and logs that an LSN \"is in the future\": there, ALTER TABLE … FORCE, and make another "+
			"backup", ends, some(later))
	}
	return nil
}

// latest are the LSNs, by the names of the files.
func (n newest) latest() map[string]uint64 {
	out := map[string]uint64{}
	for name, s := range n {
		out[name] = s.latest
	}
	return out
}

// unprepared returns why data are not prepared: a file that is too short counts before the error of a program that has
// ended by itself, which may be due to it. While the log is not applied to the end, a file may be short in good order:
// applying it extends files.
func unprepared(err error, short func() error) error {
	if reason, _ := explain(err); err != nil && (reason != task.ReasonToolFailed || errors.Is(err, errKilled) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	return cmp.Or(short(), err)
}

// refuseShort refuses prepared data with a table's file that is smaller than InnoDB has made it: its end is missing.
func refuseShort(dir string) error {
	var short []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".ibd" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		head := make([]byte, spaceHead)
		if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		about, err := atrest.ParseInnoDB(head, false)
		if err != nil {
			return nil // lackingFiles and the server judge what is no tablespace
		}
		if want := int64(binary.BigEndian.Uint32(head[spacePages:])) * int64(about.PageSize); info.Size() < want {
			name, _ := filepath.Rel(dir, path)
			short = append(short, fmt.Sprintf("%s has %d bytes of %d", name, info.Size(), want))
		}
		return nil
	})
	if err != nil || len(short) == 0 {
		return err
	}
	slices.Sort(short)
	return fatal(task.ReasonBackupDamaged, fmt.Errorf("the backup is not whole: %s. Upload all of it again", some(short)))
}

// refuseUnwritten fails if mbstream, which may end in good order then, has not written all files.
func refuseUnwritten(dir string, sizes map[string]int64) error {
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && info.Size() != sizes[name] {
			err = fmt.Errorf("it has %d bytes of %d", info.Size(), sizes[name])
		}
		if err != nil {
			return because(task.ReasonToolFailed, fmt.Errorf("mbstream has not written %s: %w", name, err))
		}
	}
	return nil
}
