// A minimal OpenTelemetry collector for tests: accepts OTLP over HTTP as JSON, and returns the
// received spans.
import { startReceiver, status } from '../support/receiver.ts'

export interface CollectedSpan {
  readonly service: string
  readonly name: string
  /** The numbers of OTLP: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  /** Empty for the root span of a trace. */
  readonly parentSpanId: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly failed: boolean
  readonly durationMs: number
}

export interface Collector {
  readonly url: string
  /** The variables that make a process send its spans here, soon and as JSON. */
  readonly settings: Record<string, string>
  /** Everything that it received, as text. */
  text(): string
  spans(): CollectedSpan[]
  /**
   * Returns the spans of a trace once it has this many. The time limit of the test ends the wait.
   */
  waitForTrace(traceId: string, count: number): Promise<CollectedSpan[]>
  waitFor(holds: (spans: readonly CollectedSpan[]) => boolean): Promise<CollectedSpan[]>
  stop(): Promise<void>
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface Traces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[]
  }[]
}

interface Span {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code?: number }
}

const FAILED = 2

/** The variables that make a process send its spans soon enough for a test. */
export function sendingTo(url: string): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  }
}

export async function startCollector(): Promise<Collector> {
  const receiver = await startReceiver()
  receiver.answer = status(200)
  const spans = () =>
    receiver.received
      .filter(({ path }) => path === '/v1/traces')
      .flatMap(({ body }) => readSpans(JSON.parse(body) as Traces))
  const waitFor: Collector['waitFor'] = async (holds) => {
    for (;;) {
      const arrived = receiver.received.length
      const collected = spans()
      if (holds(collected)) return collected
      await receiver.waitFor(arrived + 1)
    }
  }
  const url = `http://127.0.0.1:${receiver.port}`
  return {
    url,
    settings: sendingTo(url),
    text: () => receiver.received.map(({ body }) => body).join('\n'),
    spans,
    waitFor,
    async waitForTrace(traceId, count) {
      const isOf = (span: CollectedSpan) => span.traceId === traceId
      return (await waitFor((all) => all.filter(isOf).length >= count)).filter(isOf)
    },
    stop: () => receiver.stop(),
  }
}

function readSpans({ resourceSpans }: Traces): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(readAttributes(resource.attributes)['service.name'])
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => readSpan(service, span)))
  })
}

function readSpan(service: string, span: Span): CollectedSpan {
  const { name, kind, traceId, spanId, parentSpanId = '', startTimeUnixNano: start } = span
  const durationNs = BigInt(span.endTimeUnixNano) - BigInt(start)
  return {
    service,
    name,
    kind,
    traceId,
    spanId,
    parentSpanId,
    attributes: readAttributes(span.attributes),
    failed: span.status.code === FAILED,
    durationMs: Number(durationNs) / 1e6,
  }
}

function readAttributes(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

/** A trace as lines, each span below its parent, ordered by name. */
export function drawTrace(spans: readonly CollectedSpan[], parentSpanId: string): string[] {
  return spans
    .filter((span) => span.parentSpanId === parentSpanId)
    .toSorted((one, other) => one.name.localeCompare(other.name))
    .flatMap(({ name, spanId }) => [name, ...drawTrace(spans, spanId).map((line) => `  ${line}`)])
}
