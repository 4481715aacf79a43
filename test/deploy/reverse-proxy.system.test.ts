// Tests the service behind nginx with the example of docs/reverse-proxy.md, and compares the page with
// the limits and settings of the API.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import Stripe from 'stripe'
import { readConfig } from '../../src/config.ts'
import { EVENT_MAX_BYTES } from '../../src/http/service/provider-events.ts'
import { SILENCE_MAX_MS } from '../../src/http/limits/api-server.ts'
import { BODY_MAX_BYTES, BODY_TIMEOUT_MS } from '../../src/http/requests/read-body.ts'
import { paymentBody } from '../support/client.ts'
import { readPage } from '../support/named-tests.ts'
import { findProgram } from '../support/find-program.ts'
import { startNginx, testBehindNginx, type Nginx, type ProxyAnswer } from '../support/nginx.ts'
import type { ServiceProcess } from '../support/processes.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

const page = readPage('docs/reverse-proxy.md')
const words = page.replaceAll(/\s+/g, ' ')
const [, nginxExample = ''] = /```nginx\n([^]*?)```/.exec(page) ?? []
const [, caddyExample = ''] = /```caddyfile\n([^]*?)```/.exec(page) ?? []
const defaults = readConfig({})

describe('the page', () => {
  const seconds = (example: string, setting: string) =>
    Number(new RegExp(`^\\s*${setting} (\\d+)s`, 'm').exec(example)?.[1])

  test('states the limits of the API', () => {
    expect(words).toContain(`\`WAIT_MAX_SECONDS\` (${defaults.WAIT_MAX_SECONDS} s)`)
    expect(words).toContain(`\`WAIT_MAX_SECONDS\` and ${SILENCE_MAX_MS / 1_000} s`)
    expect(words).toContain(`\`HTTP_KEEP_ALIVE_SECONDS\` (${defaults.HTTP_KEEP_ALIVE_SECONDS} s)`)
    expect(words).toContain(`arrive within ${BODY_TIMEOUT_MS / 1_000} s of its headers`)
    expect(words).toContain(`at most ${BODY_MAX_BYTES / 1_024} KiB`)
    expect(words).toContain(`${EVENT_MAX_BYTES / 1_024 / 1_024} MiB at \`/provider/webhooks\``)
  })

  test.each([
    ['nginx', nginxExample, 'keepalive_timeout', 'proxy_read_timeout'],
    ['Caddy', caddyExample, 'keepalive', 'response_header_timeout'],
  ])('%s waits longer than the API, and keeps connections shorter', (_, example, keep, wait) => {
    const longestMs = defaults.WAIT_MAX_SECONDS * 1_000 + SILENCE_MAX_MS

    expect(seconds(example, keep)).toBeLessThan(defaults.HTTP_KEEP_ALIVE_SECONDS)
    expect(seconds(example, wait) * 1_000).toBeGreaterThan(longestMs)
  })

  test('Caddy notices a stopping API before it stops listening', () => {
    const noticedMs =
      (seconds(caddyExample, 'health_interval') + seconds(caddyExample, 'health_timeout')) * 1_000
    const drainMs = Number(/`DRAIN_DELAY_MS=(\d+)`/.exec(page)?.[1])

    expect(drainMs).toBeGreaterThan(noticedMs)
    expect(() => readConfig({ DRAIN_DELAY_MS: String(drainMs) })).not.toThrow()
  })

  test('both examples let the largest body pass, and keep inside what is not for clients', () => {
    expect(nginxExample).toContain(`client_max_body_size ${EVENT_MAX_BYTES / 1_024 ** 2}m;`)
    expect(caddyExample).toContain(`max_size ${EVENT_MAX_BYTES / 1_024 ** 2}MiB`)
    for (const example of [nginxExample, caddyExample]) {
      const inside = ['/admin', '/console', '/healthz', '/readyz']
      for (const path of inside) expect(example).toContain(path)
      expect(example).not.toMatch(/946\d|non_idempotent|lb_try_duration|gzip|encode/)
    }
  })
})

describe('behind nginx', () => {
  const SECRET = 'whsec_test'
  let service: OwnService
  let tenant: Tenant
  let second: { url: string; process: ServiceProcess }
  let nginx: Nginx | undefined

  // Without nginx all of these tests are skipped, and nothing is started for them.
  const begin = async () => {
    service = await startService({
      TRUST_PROXY: '1',
      ADMIN_API_KEY: 'adm_alice_0123456789abcdef0123',
      RATE_LIMIT_INVALID_KEYS: '1',
      RATE_LIMIT_WINDOW_SECONDS: '3600',
    })
    tenant = await service.createTenant()
    second = await service.startApi()
    nginx = await startNginx(nginxExample, [service.apiUrl, second.url])
  }
  if (findProgram('nginx') !== undefined) {
    beforeAll(begin)
    afterAll(async () => {
      await nginx?.stop()
      await service.stop()
    })
  }

  const send: Nginx['send'] = (...request) => {
    if (nginx === undefined) throw new Error('nginx is not running')
    return nginx.send(...request)
  }
  const pay = (key: string, headers: Record<string, string> = {}, body = paymentBody()) =>
    send(
      'POST',
      '/v1/payments',
      {
        authorization: `Bearer ${tenant.apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': key,
        ...headers,
      },
      JSON.stringify(body),
    )
  const typeOf = ({ text }: ProxyAnswer) =>
    String((JSON.parse(text) as { type?: unknown }).type)
      .split('/')
      .at(-1)
  const idOf = ({ text }: ProxyAnswer) => JSON.parse(text) as { id: string }

  testBehindNginx('a payment succeeds once, and its repetition gets the same bytes', async () => {
    const key = randomUUID()
    const first = await pay(key, { prefer: 'wait=20' })
    const replayed = await pay(key)

    expect(first.status).toBe(201)
    expect(first.headers['preference-applied']).toBe('wait=20')
    expect(replayed.text).toBe(first.text)
    expect(replayed.headers['idempotent-replayed']).toBe('true')
    expect(await service.executedFor(idOf(first))).toHaveLength(2)
  })

  testBehindNginx('an event of the provider keeps its bytes and its signature', async () => {
    const payload = JSON.stringify({
      id: `evt_${randomUUID().replaceAll('-', '')}`,
      object: 'event',
      type: 'payment_intent.succeeded',
      created: 1_800_000_000,
      data: { object: { id: 'pi_1', object: 'payment_intent', large: 'é'.repeat(100_000) } },
    })
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET })
    const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
    const answer = await send('POST', '/provider/webhooks', headers, payload)

    expect([answer.status, answer.text]).toEqual([200, '{"received":true}'])
  })

  testBehindNginx('a body that is too large gets the answer of the API', async () => {
    const body = paymentBody({ description: 'x'.repeat(BODY_MAX_BYTES) })
    const answer = await pay(randomUUID(), {}, body)

    expect([answer.status, typeOf(answer)]).toEqual([413, 'body-too-large'])
  })

  testBehindNginx(
    'only operators reach /admin and /console, and no client the health checks',
    async () => {
      const outside = [
        '/admin/tenants',
        '//admin/tenants',
        '/%61dmin/tenants',
        '/x/../admin/tenants',
        '/console',
        '//console/session',
      ]
      for (const path of outside) {
        const { status, headers } = await send('GET', path)
        expect([path, status, headers['content-type']]).toEqual([path, 403, 'text/html'])
      }
      for (const path of ['/healthz', '/readyz', '/metrics'])
        expect([path, (await send('GET', path)).status]).toEqual([path, 404])
      expect((await fetch(`${service.apiUrl}/admin/tenants`)).status).toBe(401)
    },
  )

  testBehindNginx('a client cannot choose its address, and so gets no more guesses', async () => {
    const guess = (address: string) =>
      send('GET', '/v1/payments', {
        authorization: `Bearer sk_test_${randomUUID().replaceAll('-', '')}`,
        'x-forwarded-for': address,
      })
    const answers = []
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      answers.push(await guess(address))

    // Each of the two processes counts by itself.
    expect(answers.at(-1)?.status).toBe(429)
    expect(typeOf(answers.at(-1) as ProxyAnswer)).toBe('too-many-invalid-keys')
  })

  // The last one, because it kills an API process.
  testBehindNginx('nginx repeats no POST whose API died, and its client does safely', async () => {
    const keys = [randomUUID(), randomUUID()]
    service.worker.kill('SIGSTOP')
    // While they wait, each of the two processes has one.
    const waiting = Promise.all(keys.map((key) => pay(key, { prefer: 'wait=20' })))
    const { sql } = service.store
    await until(async () => {
      const rows = await sql`select from idempotency_keys where key = any(${keys})`
      return rows.length === keys.length
    })
    service.api.kill('SIGKILL')
    await service.api.exited
    service.worker.kill('SIGCONT')

    expect(new Set((await waiting).map(({ status }) => status))).toEqual(new Set([201, 502]))
    // The requests that the dead process refuses go to the other one.
    for (const key of [...keys, ...keys]) {
      const repeated = await pay(key, { prefer: 'wait=20' })
      expect(repeated.status).toBe(201)
      expect(await service.executedFor(idOf(repeated))).toHaveLength(2)
    }
  })
})
