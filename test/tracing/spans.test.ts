// Tests the trace context that one process passes to the next, with and without an SDK.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createLog } from '../../src/log.ts'
import {
  continueTrace,
  currentTraceparent,
  startServedSpan,
  withSpan,
} from '../../src/tracing/spans.ts'
import { startTracing, type Tracing } from '../../src/tracing/start-tracing.ts'
import { startCollector, type Collector } from './collector.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

const inSpan = <Value>(work: () => Promise<Value>) =>
  withSpan({ name: 'work', attributes: () => ({}) }, work)

/** The traceparent that a process with this incoming traceparent passes on. */
const toldOn = (traceparent?: string) =>
  continueTrace(traceparent, () => inSpan(() => Promise.resolve(currentTraceparent())))

describe('without an SDK', () => {
  test('no trace is passed on, even if a traceparent arrives', async () => {
    expect(await inSpan(() => Promise.resolve(currentTraceparent()))).toBeUndefined()
    expect(await toldOn(`00-${TRACE}-${SPAN}-01`)).toBeUndefined()
  })

  test('the work runs, its value is returned, and its error is thrown', async () => {
    const fault = new Error('of the work')

    expect(await continueTrace(undefined, () => inSpan(() => Promise.resolve(7)))).toBe(7)
    await expect(inSpan(() => Promise.reject(fault))).rejects.toBe(fault)
  })

  test('a request has no span', () => {
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01` }

    expect(startServedSpan('GET', headers)).toBeUndefined()
  })
})

describe('with an SDK', () => {
  let collector: Collector
  let tracing: Tracing
  const variables: Record<string, string | undefined> = {}

  beforeAll(async () => {
    collector = await startCollector()
    // The SDK reads the environment of its process.
    for (const [name, value] of Object.entries(collector.settings)) {
      variables[name] = process.env[name]
      process.env[name] = value
    }
    const settings = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: undefined,
      OTEL_TRACES_EXPORTER: undefined,
      OTEL_SDK_DISABLED: undefined,
      OTEL_SERVICE_NAME: undefined,
      OTEL_RESOURCE_ATTRIBUTES: undefined,
      SHUTDOWN_TIMEOUT_MS: 15_000,
    }
    tracing = await startTracing('test', settings, createLog('test', 'silent'))
  })

  afterAll(async () => {
    await tracing.stop()
    await collector.stop()
    for (const [name, value] of Object.entries(variables)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })

  test('no trace is passed on outside of a span', () => {
    expect(currentTraceparent()).toBeUndefined()
  })

  test('the passed trace is the incoming one, with its sampling decision', async () => {
    expect(await toldOn(`00-${TRACE}-${SPAN}-01`)).toMatch(
      new RegExp(`^00-${TRACE}-(?!${SPAN})[0-9a-f]{16}-01$`),
    )
    expect(await toldOn(`00-${TRACE}-${SPAN}-00`)).toMatch(
      new RegExp(`^00-${TRACE}-(?!${SPAN})[0-9a-f]{16}-00$`),
    )
  })

  test.each([
    ['nothing', undefined],
    ['an empty text', ''],
    ['something else', 'sk_test_1234567890'],
    ['no trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['no span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['another version', `01-${TRACE}-${SPAN}-01`],
    ['more', `00-${TRACE}-${SPAN}-01-more`],
    ['a line after it', `00-${TRACE}-${SPAN}-01\n`],
  ])('%s starts a new trace, even inside another one', async (_what, told) => {
    const [outer, inner] = await inSpan(async () => [currentTraceparent(), await toldOn(told)])

    expect(inner).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(inner?.slice(0, 35)).not.toBe(outer?.slice(0, 35))
    expect(inner).not.toContain(TRACE)
  })

  test('failed work is marked with the type of its error, without its message', async () => {
    class SecretError extends Error {
      override name = 'SecretError'
    }
    const failing = withSpan({ name: 'failing', attributes: () => ({}) }, () =>
      Promise.reject(new SecretError('a word of it')),
    )
    await expect(failing).rejects.toThrow('a word of it')

    const isFailing = ({ name }: { name: string }) => name === 'failing'
    const spans = await collector.waitFor((all) => all.some(isFailing))
    expect(spans.find(isFailing)).toMatchObject({
      failed: true,
      attributes: { 'error.type': 'SecretError' },
    })
    expect(collector.text()).not.toContain('a word of it')
  })

  test('a server error is marked as failed, a refused request is not', async () => {
    startServedSpan('POST', {})?.end('/failed', 503)
    startServedSpan('POST', {})?.end('/refused', 429)

    const spans = await collector.waitFor(
      (all) => all.filter(({ name }) => name.startsWith('POST /')).length === 2,
    )
    const failed = spans.filter((span) => span.failed).map(({ name }) => name)
    expect(failed).toContain('POST /failed')
    expect(failed).not.toContain('POST /refused')
  })
})
