// Creates spans with OpenTelemetry's API only. Without a started SDK nothing is recorded, no
// context is kept, and no trace is passed on. Attributes contain operation ids; all others have few
// possible values.
import {
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
} from '@opentelemetry/api'

export interface SpanDescription {
  readonly name: string
  /** By default `internal`. */
  readonly kind?: 'client' | 'producer' | 'consumer'
  /** Called only if the span is recorded: most processes record none. */
  readonly attributes: () => Attributes
}

/** Lets the work add attributes to its span. */
export type Describe = (attributes: Attributes) => void

const kinds = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const

/** Delegates to the SDK's tracer once the SDK is started. */
const tracer = trace.getTracer('atomic-payments')

/** Runs the work in a new span. Spans of the work become its children. */
export async function withSpan<Value>(
  { name, kind, attributes }: SpanDescription,
  work: (describe: Describe) => Promise<Value>,
): Promise<Value> {
  return await tracer.startActiveSpan(name, { kind: kinds[kind ?? 'internal'] }, async (span) => {
    if (span.isRecording()) span.setAttributes(attributes())
    try {
      return await work((known) => void span.setAttributes(known))
    } catch (error) {
      markFailed(span, error)
      throw error
    } finally {
      span.end()
    }
  })
}

/** Leaves out the error message, because it may contain values that no span may contain. */
function markFailed(span: Span, error: unknown): void {
  span.setAttribute('error.type', error instanceof Error ? error.name : typeof error)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

export interface ServedSpan {
  /** Runs the work as a part of the span. */
  readonly run: (work: () => void) => void
  /** @param route undefined for a path without a route. */
  readonly end: (route: string | undefined, status: number) => void
}

/**
 * Starts the span of a request to this service. If the headers name a trace, the span is a part of
 * it. Other trace headers (`tracestate`, `baggage`) are ignored, because clients can put anything
 * into them. Undefined without an SDK.
 */
export function startServedSpan(
  method: string,
  headers: Readonly<Record<string, unknown>>,
): ServedSpan | undefined {
  const parent = partOf(trace.getSpanContext(propagation.extract(ROOT_CONTEXT, headers)))
  const attributes = { 'http.request.method': method }
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent)
  if (!isSpanContextValid(span.spanContext())) return undefined
  return {
    run: (work) => context.with(trace.setSpan(parent, span), work),
    end(route, status) {
      span.setAttribute('http.response.status_code', status)
      if (route !== undefined)
        span.updateName(`${method} ${route}`).setAttribute('http.route', route)
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

/**
 * The current span as a W3C `traceparent`, so that another process can continue the trace. If the
 * span is not sampled, the `traceparent` says so, and the other process does not record its spans
 * either. Undefined without an SDK.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function currentTraceparent(): string | undefined {
  const span = trace.getSpanContext(context.active())
  if (span === undefined || !isSpanContextValid(span)) return undefined
  const { traceId, spanId, traceFlags } = span
  return `00-${traceId}-${spanId}-${isSampled(traceFlags) ? '01' : '00'}`
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$/

/**
 * Runs the work as a part of the span of a `currentTraceparent`; of none, if the text is not one.
 */
export async function continueTrace<Value>(
  traceparent: string | undefined,
  work: () => Promise<Value>,
): Promise<Value> {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent ?? '') ?? []
  const traceFlags = flags === '01' ? TraceFlags.SAMPLED : TraceFlags.NONE
  return await context.with(partOf({ traceId, spanId, traceFlags }), work)
}

/** A context that contains only the remote span, if it is valid. */
function partOf(span: SpanContext | undefined): Context {
  if (span === undefined || !isSpanContextValid(span)) return ROOT_CONTEXT
  const { traceId, spanId, traceFlags } = span
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

function isSampled(traceFlags: number): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0
}
