// Decides whether this process sends traces: only when one of OpenTelemetry's own variables says where to,
// and none says not to. Otherwise its SDK is not even loaded.
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
  /** Sends what has not been sent. Never throws: traces are not worth a failed stop. */
  readonly stop: () => Promise<void>
}

/** Nobody waits longer than that, nor than this part of a stop, for a collector that does not answer. */
const FLUSH_MAX_MS = 1_000
const FLUSH_SHARE = 0.1

/** @param process the part of the service, which is a service of its own in a trace. */
export async function startTracing(
  process: string,
  settings: TracingSettings,
  log: Logger,
): Promise<Tracing> {
  if (!isAskedFor(settings)) return { stop: () => Promise.resolve() }
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

function isAskedFor(settings: TracingSettings): boolean {
  const exporters = settings.OTEL_TRACES_EXPORTER?.split(',').map((name) => name.trim())
  if (settings.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return false
  if (exporters?.includes('none')) return false
  const endpoint =
    settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? settings.OTEL_EXPORTER_OTLP_ENDPOINT
  return (endpoint ?? exporters) !== undefined
}

/** The SDK lets what it is told in code win over its variables. */
function isNamed({ OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES }: TracingSettings): boolean {
  const named = /(^|,)\s*service\.name\s*=/.test(OTEL_RESOURCE_ATTRIBUTES ?? '')
  return named || OTEL_SERVICE_NAME !== undefined
}
