// OpenTelemetry's SDK, for traces alone: metrics are Prometheus's, and logs go to stdout. It reads all of
// its settings from its own variables, OTEL_*, by itself.
import { diag, DiagLogLevel, type DiagLogger } from '@opentelemetry/api'
import { startNodeSdk } from '@opentelemetry/sdk-node'
import type { Logger } from 'pino'

/**
 * @param serviceName undefined when its own variables name the service.
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export function startSdk(
  serviceName: string | undefined,
  log: Logger,
): { shutdown: () => Promise<void> } {
  const sdk = startNodeSdk({
    logLevel: 'warn',
    resourceAttributes: serviceName === undefined ? {} : { 'service.name': serviceName },
    metricReaders: [],
    logRecordProcessors: [],
  })
  // It has begun with the console, where what it says of wrong settings has gone, to stderr.
  diag.setLogger(diagnosticsTo(log), {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  })
  return sdk
}

/** Lines on stdout are JSON. */
function diagnosticsTo(log: Logger): DiagLogger {
  const warn = (message: string) => log.warn({ reason: message }, 'tracing')
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore }
}

function ignore(): void {}
