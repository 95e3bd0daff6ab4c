package program

import (
	"flag"
	"log/slog"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/galera-operator/galera-operator/internal/logs"
)

// bindLogFlags adds zap's flags, and returns what uses them. --log-format selects how the log is written, unless
// --zap-encoder does.
func bindLogFlags(fs *flag.FlagSet) func(format string) {
	o := &zap.Options{}
	o.BindFlags(fs)
	return func(format string) {
		if o.NewEncoder == nil {
			o.NewEncoder = encoder(logs.Format(format))
		}
		log := zap.New(zap.UseFlagOptions(o))
		ctrl.SetLogger(log)
		klog.SetLogger(log.WithName("client-go")) // elections, for instance
		slog.SetDefault(slog.New(logr.ToSlogHandler(log)))
	}
}

// encoder writes text for users, or JSON with the keys of the agents' records.
func encoder(format logs.Format) zap.NewEncoderFunc {
	return func(more ...zap.EncoderConfigOption) zapcore.Encoder {
		c := zapcore.EncoderConfig{TimeKey: "time", LevelKey: "level", NameKey: "logger", MessageKey: "msg",
			StacktraceKey: "stacktrace",
			EncodeTime:    zapcore.RFC3339NanoTimeEncoder, EncodeLevel: zapcore.CapitalLevelEncoder,
			EncodeDuration: zapcore.StringDurationEncoder}
		for _, option := range more {
			option(&c)
		}
		if format == logs.JSON {
			return zapcore.NewJSONEncoder(c)
		}
		return zapcore.NewConsoleEncoder(c)
	}
}
