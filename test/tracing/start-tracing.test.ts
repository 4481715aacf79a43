// Tests when a process sends traces, and under which name: OpenTelemetry's own variables decide
// that. Without them there is no cost.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startReceiver, status, type Receiver } from '../support/receiver.ts'
import { startProcess } from '../support/processes.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { sendingTo, startCollector, type Collector } from './collector.ts'

let database: TestDatabase
let collector: Collector

beforeAll(async () => {
  database = await createTestDatabase()
  collector = await startCollector()
})

afterAll(async () => {
  await collector.stop()
  await database.drop()
})

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

/** Runs an API from its source files, and finds the modules that it loaded. */
async function runSpied(settings: Record<string, string>) {
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(SPY)}`
  const lines = await runApi({ NODE_OPTIONS, ...settings }, { isBundled: false })
  const loaded = lines.flatMap((text) => /^loads (\S+)/.exec(text)?.[1] ?? [])
  return { loaded: new Set(loaded), lines }
}

/** Starts an API, requests its health, and stops it. Returns what it printed. */
async function runApi(
  settings: Record<string, string>,
  { isBundled = true } = {},
): Promise<readonly string[]> {
  const api = startProcess('src/start/api.ts', {
    isBundled,
    env: {
      DATABASE_URL: database.url,
      PORT: '0',
      DRAIN_DELAY_MS: '0',
      ...settings,
    },
  })
  await api.waitUntilReady()
  const line = await api.waitForLine((candidate) => candidate.includes('"port":'))
  const port = /"port":(\d+)/.exec(line)?.[1] ?? ''
  await (await fetch(`http://127.0.0.1:${port}/healthz`)).text()
  api.kill('SIGTERM')
  expect(await api.exited).toEqual({ code: 0, signal: null })
  return api.lines
}

describe('the SDK', () => {
  test('is loaded when a collector is configured', async () => {
    const { loaded } = await runSpied(collector.settings)

    expect(loaded).toContain('sdk-node')
    expect(collector.spans().map(({ service }) => service)).toContain('atomic-payments-api')
  })

  test.each([
    ['nothing says where to send to', {}],
    ['it is disabled', { ...sendingTo('http://127.0.0.1:1'), OTEL_SDK_DISABLED: 'True' }],
  ])('is not even loaded when %s', async (_what, settings) => {
    const { loaded } = await runSpied(settings)

    expect([...loaded]).toEqual(['api'])
  })
})

describe('its variables', () => {
  let other: Receiver

  beforeAll(async () => {
    other = await startReceiver()
    other.answer = status(200)
  })

  afterAll(() => other.stop())

  const namesOf = () => new Set(collector.spans().map(({ service }) => service))

  test('can name only the exporter, which then uses its default endpoint', async () => {
    const { loaded, lines } = await runSpied({
      OTEL_TRACES_EXPORTER: 'console',
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
      OTEL_SERVICE_NAME: '',
    })

    expect(loaded).toContain('sdk-node')
    expect(lines.join('\n')).toContain("'service.name': 'atomic-payments-api'")
  })

  test('can set the name of the service', async () => {
    await runApi({
      ...collector.settings,
      OTEL_RESOURCE_ATTRIBUTES: 'team=payments, service.name=named-by-its-resource',
    })

    expect(namesOf()).toContain('named-by-its-resource')
  })

  test('can set the endpoint, the headers and the sampling of traces', async () => {
    const before = collector.spans().length

    await runApi({
      ...collector.settings,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: other.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-token=of-the-collector',
    })
    await runApi({ ...collector.settings, OTEL_TRACES_SAMPLER: 'always_off' })

    expect(other.received[0]?.headers['x-token']).toBe('of-the-collector')
    expect(collector.spans()).toHaveLength(before)
  })

  test('cause a log line when they are wrong, and no harm', async () => {
    const lines = await runApi({ OTEL_TRACES_EXPORTER: 'carrier-pigeon' })

    expect(lines.join('\n')).toContain('carrier-pigeon')
  })
})
