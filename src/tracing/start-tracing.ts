// Starts tracing, if OpenTelemetry's own variables name a destination for traces and do not disable
// them. Otherwise the SDK is not even loaded.
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'

type TracingSettings = Pick<
  Config,
  | 'OTEL_SDK_DISABLED'
  | 'OTEL_EXPORTER_OTLP_ENDPOINT'
  | 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  | 'OTEL_TRACES_EXPORTER'
  | 'OTEL_SERVICE_NAME'
  | 'OTEL_RESOURCE_ATTRIBUTES'
  | 'SHUTDOWN_TIMEOUT_MS'
>

export interface Tracing {
  /** Sends the remaining spans. Never throws: traces are not worth a failed shutdown. */
  readonly stop: () => Promise<void>
}

/**
 * A shutdown waits at most this long, and at most this share of it, for a collector that does not
 * answer.
 */
const FLUSH_MAX_MS = 1_000
const FLUSH_SHARE = 0.1

/** @param process the name of this process, which becomes part of the service name in traces. */
export async function startTracing(
  process: string,
  settings: TracingSettings,
  log: Logger,
): Promise<Tracing> {
  if (!isEnabled(settings)) return { stop: () => Promise.resolve() }
  const { startSdk } = await import('./sdk.ts')
  const sdk = startSdk(isNamed(settings) ? undefined : `atomic-payments-${process}`, log)
  const flushMs = Math.min(FLUSH_MAX_MS, settings.SHUTDOWN_TIMEOUT_MS * FLUSH_SHARE)
  return {
    async stop() {
      const late = delay(flushMs, undefined, { ref: false }).then(() => {
        throw new Error(`the collector took longer than ${flushMs} ms`)
      })
      await Promise.race([sdk.shutdown(), late]).catch((error: unknown) =>
        log.warn({ err: error }, 'the last traces were not sent'),
      )
    },
  }
}

function isEnabled(settings: TracingSettings): boolean {
  const exporters = settings.OTEL_TRACES_EXPORTER?.split(',').map((name) => name.trim())
  if (settings.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return false
  if (exporters?.includes('none')) return false
  const endpoint =
    settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? settings.OTEL_EXPORTER_OTLP_ENDPOINT
  return (endpoint ?? exporters) !== undefined
}

/** Whether the variables name the service. A name passed in code would override them in the SDK. */
function isNamed({ OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES }: TracingSettings): boolean {
  const named = /(^|,)\s*service\.name\s*=/.test(OTEL_RESOURCE_ATTRIBUTES ?? '')
  return named || OTEL_SERVICE_NAME !== undefined
}
