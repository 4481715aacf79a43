// When a process sends traces, and under which name. Without a setting there is no cost.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTestDatabase } from '../support/database.ts'
import { startProcess } from '../support/processes.ts'
import { startReceiver, status } from '../support/receiver.ts'
import { sendingTo, startCollector, type Collector } from './collector.ts'

let collector: Collector

beforeAll(async () => {
  collector = await startCollector()
})

afterAll(() => collector.stop())

/** Prints on stderr each OpenTelemetry module that a process loads. */
const SPY = `
import { registerHooks } from 'node:module'
registerHooks({
  load(url, context, next) {
    const [, name] = /@opentelemetry\\/([^/]+)/.exec(url) ?? []
    if (name !== undefined) process.stderr.write('loads ' + name + '\\n')
    return next(url, context)
  },
})
`

const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(SPY)}`

const modulesIn = (lines: readonly string[]) =>
  new Set(lines.flatMap((text) => /^loads (\S+)/.exec(text)?.[1] ?? []))

/** Sends a span by these variables. Returns what the process printed, and the loaded modules. */
async function trace(settings: Record<string, string>) {
  const env = { DATABASE_URL: 'postgres://127.0.0.1/none', NODE_OPTIONS, ...settings }
  const { exited, lines } = startProcess('test/tracing/fixtures/trace.ts', { env })
  expect(await exited).toEqual({ code: 0, signal: null })
  return { loaded: modulesIn(lines), text: lines.join('\n') }
}

const namesOf = () => new Set(collector.spans().map(({ service }) => service))

describe('the SDK', () => {
  test('is loaded when a collector is configured', async () => {
    const { loaded } = await trace(collector.settings)

    expect(loaded).toContain('sdk-node')
    expect(namesOf()).toContain('atomic-payments-test')
  })

  test('is not even loaded when it is disabled', async () => {
    const { loaded } = await trace({
      ...sendingTo('http://127.0.0.1:1'),
      OTEL_SDK_DISABLED: 'True',
    })

    expect([...loaded]).toEqual(['api'])
  })

  test('is not even loaded by the API when nothing says where to send to', async () => {
    const database = await createTestDatabase()
    const env = { DATABASE_URL: database.url, PORT: '0', DRAIN_DELAY_MS: '0', NODE_OPTIONS }
    const api = startProcess('src/start/api.ts', { isBundled: false, env })
    await api.waitUntilReady()
    const line = await api.waitForLine((candidate) => candidate.includes('"port":'))
    const port = /"port":(\d+)/.exec(line)?.[1] ?? ''
    await (await fetch(`http://127.0.0.1:${port}/healthz`)).text()
    api.kill('SIGTERM')

    expect(await api.exited).toEqual({ code: 0, signal: null })
    expect([...modulesIn(api.lines)]).toEqual(['api'])
    await database.drop()
  })
})

describe('its variables', () => {
  test('can name only the exporter, which then uses its default endpoint', async () => {
    const { loaded, text } = await trace({
      OTEL_TRACES_EXPORTER: 'console',
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
      OTEL_SERVICE_NAME: '',
    })

    expect(loaded).toContain('sdk-node')
    expect(text).toContain("'service.name': 'atomic-payments-test'")
  })

  test('can set the name of the service, the endpoint, the headers and the sampling of traces', async () => {
    const before = collector.spans().length
    const other = await startReceiver()
    other.answer = status(200)

    await trace({
      ...collector.settings,
      OTEL_RESOURCE_ATTRIBUTES: 'team=payments, service.name=named-by-its-resource',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: other.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-token=of-the-collector',
    })
    await trace({ ...collector.settings, OTEL_TRACES_SAMPLER: 'always_off' })

    expect(other.received[0]?.headers['x-token']).toBe('of-the-collector')
    expect(other.received[0]?.body).toContain('named-by-its-resource')
    expect(collector.spans()).toHaveLength(before)
    await other.stop()
  })

  test('cause a log line when they are wrong, and no harm', async () => {
    const { text } = await trace({ OTEL_TRACES_EXPORTER: 'carrier-pigeon' })

    expect(text).toContain('carrier-pigeon')
  })
})
