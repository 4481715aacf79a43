// The spans of the work that is done, by the API of OpenTelemetry alone: as long as no SDK is started,
// nothing is recorded, no context is kept, and no trace is there to be handed on. Attributes name
// operations by their ids, and else nothing but what is one of a few.
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
  /** `internal` unless it is said. */
  readonly kind?: 'client' | 'producer' | 'consumer'
  readonly attributes: Attributes
}

/** What the work may add about itself once it knows. */
export type Describe = (attributes: Attributes) => void

const kinds = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const

/** Hands on to the SDK's once there is one. */
const tracer = trace.getTracer('atomic-payments')

/** Does the work in a span of its own, of which whatever it does in spans is a part. */
export async function withSpan<Value>(
  { name, kind, attributes }: SpanDescription,
  work: (describe: Describe) => Promise<Value>,
): Promise<Value> {
  return await tracer.startActiveSpan(
    name,
    { kind: kinds[kind ?? 'internal'], attributes },
    async (span) => {
      try {
        return await work((known) => void span.setAttributes(known))
      } catch (error) {
        markFailed(span, error)
        throw error
      } finally {
        span.end()
      }
    },
  )
}

/** The message stays out: it may name what no span is to name. */
function markFailed(span: Span, error: unknown): void {
  span.setAttribute('error.type', error instanceof Error ? error.name : typeof error)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

export interface ServedSpan {
  /** Calls it as a part of the span. */
  readonly run: (work: () => void) => void
  /** @param route undefined for a path that no route has. */
  readonly end: (route: string | undefined, status: number) => void
}

/**
 * The span of a request to this service, a part of the trace that its headers name, if they name one.
 * What else they say about it, as `tracestate` and `baggage` do, is left: it may be anything.
 */
export function startServedSpan(
  method: string,
  headers: Readonly<Record<string, unknown>>,
): ServedSpan {
  const parent = partOf(trace.getSpanContext(propagation.extract(ROOT_CONTEXT, headers)))
  const attributes = { 'http.request.method': method }
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent)
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
 * The span that this is a part of, as a W3C `traceparent`, for whoever goes on elsewhere: of one that is
 * not recorded it says so, and it is not recorded there, either. Undefined without an SDK.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function currentTraceparent(): string | undefined {
  const span = trace.getSpanContext(context.active())
  if (span === undefined || !isSpanContextValid(span)) return undefined
  const { traceId, spanId, traceFlags } = span
  return `00-${traceId}-${spanId}-${isSampled(traceFlags) ? '01' : '00'}`
}

const TOLD = /^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$/

/** Does the work as a part of the span that `currentTraceparent` told of; as of none, for another text. */
export async function continueTrace<Value>(
  traceparent: string | undefined,
  work: () => Promise<Value>,
): Promise<Value> {
  const [, traceId = '', spanId = '', flags = ''] = TOLD.exec(traceparent ?? '') ?? []
  const traceFlags = flags === '01' ? TraceFlags.SAMPLED : TraceFlags.NONE
  return await context.with(partOf({ traceId, spanId, traceFlags }), work)
}

/** A context with nothing in it but the span of somebody elsewhere, if it is one. */
function partOf(span: SpanContext | undefined): Context {
  if (span === undefined || !isSpanContextValid(span)) return ROOT_CONTEXT
  const { traceId, spanId, traceFlags } = span
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

function isSampled(traceFlags: number): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0
}
