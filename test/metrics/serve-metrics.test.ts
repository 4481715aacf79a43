import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { findFreePort } from '../../dev/ports.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { serveMetrics } from '../../src/metrics/serve-metrics.ts'
import { listening } from '../support/listening.ts'

const METRICS_HOST = '127.0.0.1'

/** Servers to stop after each test. */
const ends: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function serve(settings: { METRICS_PORT?: number | undefined } = {}, usualPort = 0) {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const server = await serveMetrics(
    createMetrics(),
    usualPort,
    { METRICS_HOST, METRICS_PORT: settings.METRICS_PORT },
    log,
  )
  ends.push(() => server.stop())
  const logged = lines.join('')
  const url = new URL(/metrics at ([^"]+)/.exec(logged)?.[1] ?? '')
  return { url, logged, server }
}

/** Occupies a port until the test ends. */
async function occupyPort(): Promise<number> {
  const { port, stop } = await listening(createServer())
  ends.push(stop)
  return port
}

describe('the metrics server', () => {
  test('answers GET /metrics in the format of Prometheus', async () => {
    const { url } = await serve()

    const response = await fetch(url)

    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await response.text()).toContain('# TYPE atomic_payments_reservations_total counter\n')
  })

  test.each(['/', '/metrics/', '/metrics.json', '/v1/payments', '/healthz'])(
    'answers %s with 404',
    async (path) => {
      const { url } = await serve()

      expect((await fetch(new URL(path, url))).status).toBe(404)
    },
  )

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'])('answers %s with 405', async (method) => {
    const { url } = await serve()

    const response = await fetch(url, { method })

    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('GET')
  })

  test('stops at once, even with a silent open connection', async () => {
    const { url, server } = await serve()
    const silent = connect(Number(url.port), url.hostname)
    silent.on('error', () => {})
    await once(silent, 'connect')
    const closed = once(silent, 'close')

    await server.stop()
    ends.length = 0

    await closed
    await expect(fetch(url)).rejects.toThrow()
  })
})

describe('the port', () => {
  test('is the default one when none is set', async () => {
    const usual = await findFreePort()

    const { url } = await serve({}, usual)

    expect(url.host).toBe(`127.0.0.1:${usual}`)
  })

  test('is a free one, with a log line, when none is set and the default one is in use', async () => {
    const occupied = await occupyPort()

    const { url, logged } = await serve({}, occupied)

    expect(Number(url.port)).not.toBe(occupied)
    expect(logged).toContain(`port ${occupied} is in use; metrics use a free port`)
    expect((await fetch(url)).status).toBe(200)
  })
})
