// Starts OpenTelemetry's SDK, for traces only: metrics are exported for Prometheus, and logs go to
// stdout. The SDK reads its settings from its own variables, OTEL_*.
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
  // During its start the SDK logs to the console, so messages about wrong settings go to stderr.
  diag.setLogger(diagnosticsTo(log), {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  })
  return sdk
}

/** Passes the SDK's messages to the log, because every line on stdout must be JSON. */
function diagnosticsTo(log: Logger): DiagLogger {
  const warn = (message: string) => log.warn({ reason: message }, 'tracing')
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore }
}

function ignore(): void {}
