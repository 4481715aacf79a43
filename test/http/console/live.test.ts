// The events that the console gets while something happens, and how their stream ends.
import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parseId, showId } from '../../../src/domain/resource-id.ts'
import { createLiveFeed, createLiveViewers } from '../../../src/http/console/live-feed.ts'
import type { LiveFeed } from '../../../src/http/endpoint.ts'
import { hashSessionToken } from '../../../src/http/console/authenticate-session.ts'
import { makeAbandoned, makeUnknown, OPERATORS, shownId } from '../../support/admin.ts'
import { postPayment, read } from '../../support/client.ts'
import { logIn, type Browser } from '../../support/console.ts'
import { fetchApi } from '../../support/documented.ts'
import { listening } from '../../support/listening.ts'
import { openStream, type EventStream, type SentEvent } from '../../support/event-stream.ts'
import { service, tenant } from '../../support/shared-service.ts'
import { until } from '../../support/until.ts'
import { expectProblem } from '../payments.ts'
import { adminApi } from '../../support/for-file.ts'

const LIVE = '/console/live'

const api = adminApi({ CONSOLE: 'on' })
let browser: Browser
const open: EventStream[] = []

beforeAll(async () => {
  browser = await logIn(api.url, OPERATORS.alice)
})
afterAll(() => {
  for (const stream of open) stream.close()
})

async function watch({ cookie }: Browser = browser, url = api.url): Promise<EventStream> {
  const stream = await openStream(`${url}${LIVE}`, cookie)
  open.push(stream)
  return stream
}

type Shown = Readonly<Record<string, unknown>>

const operationsOf = ({ value }: SentEvent) => value['operations'] as Shown[]

const sees =
  (id: string, fields: Shown = {}) =>
  (sent: SentEvent) =>
    sent.event === 'unfinished' &&
    operationsOf(sent).some(
      (one) =>
        one['operation'] === id &&
        Object.entries(fields).every(([name, value]) => one[name] === value),
    )

describe('the stream', () => {
  test('needs a session; a key is not enough', async () => {
    const authorization = `Bearer ${OPERATORS.alice}`
    const answers = [
      await fetchApi(`${api.url}${LIVE}`),
      await fetchApi(`${api.url}${LIVE}`, { headers: { authorization } }),
    ]

    for (const answer of answers) expectProblem(await read(answer), 'session-ended')
  })

  test('is passed on at once, and is not kept', async () => {
    const { response } = await watch()

    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
  })

  test('shows what waits or runs, and what is unknown, to each viewer that comes', async () => {
    const waiting = await api.t.accept()
    const unknown = await makeUnknown(api)
    const first = await watch()
    const shown = await first.next(sees(shownId(unknown), { status: 'unknown' }))
    const second = await watch()
    await second.next(sees(shownId(waiting)))

    expect(operationsOf(shown)).toContainEqual({
      operation: shownId(waiting),
      kind: 'payment.create',
      tenant: showId('tnt', api.t.tenantId),
      payment: showId('pay', waiting.paymentId),
      status: 'pending',
      recovery_point: 'started',
      lease_epoch: 0,
    })
  })

  test('shows that another worker takes over', async () => {
    const ref = await makeAbandoned(api)
    const stream = await watch()
    await stream.next(sees(shownId(ref), { lease_epoch: 1 }))
    await api.t.engine.store.sql`update idempotency_keys set lease_epoch = 2 where id = ${ref.id}`

    await stream.next(sees(shownId(ref), { lease_epoch: 2 }))
  })

  test('does not extend the session', async () => {
    const own = await logIn(api.url, OPERATORS.bob)
    const { sql } = api.t.engine.store
    await sql`update console_sessions set seen_at = now() - interval '100 s' where operator = 'bob'`
    const stream = await watch(own)
    await stream.next(({ event }) => event === 'unfinished')

    const [row] = await sql`
      select seen_at < now() - interval '99 s' as old from console_sessions where operator = 'bob'
    `
    expect(row).toEqual({ old: true })
  })

  test('ends with the session', async () => {
    const own = await logIn(api.url, OPERATORS.alice)
    const stream = await watch(own)
    const other = await watch()
    await own.send('DELETE', '/console/session')
    await stream.ended

    expect(stream.events.at(-1)).toEqual({ event: 'end', value: { reason: 'session' } })
    expect(other.events.map(({ event }) => event)).not.toContain('end')
    expectProblem(await own.get(LIVE), 'session-ended')
  })

  test('has a heartbeat', async () => {
    const stream = await watch()
    await until(() => stream.text().includes(': heartbeat\n\n'))
  })

  test('answers HEAD without a stream', async () => {
    const { cookie } = browser
    const answer = await fetchApi(`${api.url}${LIVE}`, { method: 'HEAD', headers: { cookie } })

    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  })

  test('is refused when there are too many', async () => {
    const url = await api.serve({ CONSOLE: 'on' })
    const streams = []
    for (let count = 1; count <= 50; count += 1) streams.push(await watch(browser, url))
    expectProblem(await browser.at(url).get(LIVE), 'overloaded')
    streams[0]?.close()

    const free = await until(async () => {
      const stream = await watch(browser, url).catch(() => undefined)
      return stream?.response.statusCode === 200 ? stream : undefined
    })
    await free.next(({ event }) => event === 'unfinished')
  })
})

describe('an API process', () => {
  const admin = { CONSOLE: 'on', ADMIN_API_KEY: `alice=${OPERATORS.alice}` }

  test('names the operation of a payment that a worker has completed, and ends the stream when it stops', async () => {
    const { url, process } = await service.startApi(admin)
    const stream = await watch(await logIn(url, OPERATORS.alice), url)
    await stream.next(({ event }) => event === 'unfinished')
    const paid = await postPayment(url, tenant)
    const paymentId = parseId('pay', String(paid.json['id'])) ?? ''
    const [row] = await service.store.sql<{ id: string }[]>`
      select id from idempotency_keys where payment_id = ${paymentId}
    `
    const operation = showId('op', row?.id ?? '')
    await stream.next(
      ({ event, value }) =>
        event === 'changed' && (value['operations'] as string[]).includes(operation),
    )
    process.kill('SIGTERM')
    await stream.ended

    expect(paid.status).toBe(201)
    expect(stream.events.at(-1)).toEqual({ event: 'end', value: { reason: 'shutdown' } })
    expect(await process.exited).toMatchObject({ code: 0 })
  })
})

const connect = async (port: number) =>
  (await once(request({ port }).end(), 'response'))[0] as IncomingMessage

/** Serves a feed for one session whose statements all fail, when it hears what is announced. */
async function serveDeafFeed(tokenHash: Buffer) {
  const { store, log } = api.t.engine
  const sql = () => {
    throw new Error('no statement reaches the store')
  }
  const feed = await new Promise<LiveFeed>((resolve) => {
    const made: LiveFeed = createLiveFeed({
      store: {
        sql: sql as unknown as typeof store.sql,
        listen: (channel, onNotify, onListening) =>
          store.listen(channel, onNotify, (listens) => {
            onListening(listens)
            if (listens) resolve(made)
          }),
      },
      watch: { onIdle: () => {} },
      log,
      idleSeconds: 60,
      timeoutMs: 1_000,
    })
  })
  return await listening(
    createServer((_request, response) => {
      response.write('\n')
      feed.add(response, tokenHash)
    }),
  )
}

test('a log-out ends the stream in another process at once, which need not look for the session', async () => {
  const own = await logIn(api.url, OPERATORS.alice)
  const { port, stop } = await serveDeafFeed(hashSessionToken(own.cookie.split('=')[1] ?? ''))
  const ended = text(await connect(port))
  await own.send('DELETE', '/console/session')

  expect(await ended).toContain('event: end\ndata: {"reason":"session"}')
  await stop()
})

test('a viewer that does not read is cut off, and the others are not', async () => {
  const viewers = createLiveViewers(10, 100_000)
  const { port, stop } = await listening(
    createServer((_request, response) => {
      response.write('\n')
      viewers.add(response, Buffer.alloc(32))
    }),
  )
  const slow = await connect(port)
  slow.on('error', () => {})
  const fast = await connect(port)
  fast.resume()
  await until(() => viewers.count() === 2)
  await until(() => {
    viewers.send('x'.repeat(50_000))
    return viewers.count() === 1
  })

  expect(fast.destroyed).toBe(false)
  viewers.end('shutdown', () => true)
  await once(fast, 'end')
  await stop()
})
