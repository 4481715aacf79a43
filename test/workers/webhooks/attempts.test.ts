// Tests the attempts of a delivery: each is signed, made on schedule and recorded, also when its
// worker crashes.
import { describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { findEvent } from '../../../src/db/events/events.ts'
import { findDelivery } from '../../../src/db/webhooks/webhook-deliveries.ts'
import { rotateSecret } from '../../../src/db/webhooks/webhook-endpoints.ts'
import { presentEvent } from '../../../src/domain/events/event.ts'
import { parseId } from '../../../src/domain/resource-id.ts'
import { RETRY_DELAYS_SECONDS } from '../../../src/domain/webhooks/webhook-delivery.ts'
import { createSender } from '../../../src/webhooks/send-webhook.ts'
import { noNames } from '../../support/name-server.ts'
import { status } from '../../support/receiver.ts'
import {
  endPauses,
  letTimePass,
  makeEndpoint,
  makePayment,
  newSecret,
  now,
  onlyDelivery,
  queuedJobs,
  receiver,
  runNextJob,
  store,
  tenantId,
  verify,
  webhooks,
  work,
} from './webhook-work.ts'

describe('an attempt that succeeds', () => {
  test('sends the event as the API shows it, signed', async () => {
    const { secret } = await makeEndpoint()
    await makePayment()
    const result = await runNextJob()

    expect(result).toMatchObject({ status: 'completed' })
    const [request] = await receiver.waitFor(1)
    if (request === undefined) throw new Error('nothing was received')
    const shown = verify(secret, request)
    const eventId = parseId('evt', String(shown['id'])) ?? ''
    const event = await findEvent(store.sql, tenantId, eventId)
    expect(request.body).toBe(event && JSON.stringify(presentEvent(event)))
    expect(shown['timestamp']).toBe(shown['created_at'])
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': shown['id'],
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    })
  })

  test('is shown with the last 30 attempts', async () => {
    await makeEndpoint()
    await makePayment()
    const { id } = await onlyDelivery()
    await store.sql`
      insert into webhook_attempts (tenant_id, id, delivery_id, number, started_at, latency_ms, http_status)
      select tenant_id, gen_random_uuid(), id, number, now(), 1, 500
      from webhook_deliveries, generate_series(1, 30) as number where id = ${id}
    `
    await store.sql`update webhook_deliveries set attempts = 30 where id = ${id}`
    const [job] = await queuedJobs()
    await work({ id: 'job', data: { ...job?.data, attempt: 31 } })

    const numbers = (await onlyDelivery()).attempts.map(({ number }) => number)
    expect(numbers).toEqual(Array.from({ length: 30 }, (_, index) => index + 2))
  })

  test('resets the failures of its endpoint', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    expect(await failingSince(id)).not.toBeNull()
    receiver.answer = status(200)
    await runNextJob()

    expect(await failingSince(id)).toBeNull()
  })
})

async function failingSince(id: string): Promise<unknown> {
  const [row] = await store.sql`select failing_since from webhook_endpoints where id = ${id}`
  return row?.['failing_since']
}

describe('an attempt that fails', () => {
  test('is repeated with the same id, a new timestamp and a new signature', async () => {
    const { secret } = await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    letTimePass(60_000)
    receiver.answer = status(200)
    await runNextJob()

    const [first, second] = await receiver.waitFor(2)
    if (first === undefined || second === undefined) throw new Error('too little was received')
    expect(verify(secret, second)).toEqual(verify(secret, first))
    expect(second.body).toBe(first.body)
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
    const seconds = [first, second].map(({ headers }) => Number(headers['webhook-timestamp']))
    expect((seconds[1] ?? 0) - (seconds[0] ?? 0)).toBe(60)
    expect(second.headers['webhook-signature']).not.toBe(first.headers['webhook-signature'])
    expect((await onlyDelivery()).attempts).toMatchObject([
      { number: 1, httpStatus: 500 },
      { number: 2, httpStatus: 200 },
    ])
  })

  test.each([
    ['answers 500', 'httpStatus', 500],
    ['redirects', 'httpStatus', 302],
    ['says nothing in time', 'error', 'timeout'],
    ['hangs up', 'error', 'connection_failed'],
  ] as const)('is recorded as it was when the receiver %s', async (what, member, value) => {
    await makeEndpoint()
    await makePayment()
    receiver.answer = (response, request) => {
      if (what === 'hangs up') response.destroy()
      else if (typeof value === 'number') status(value, { location: '/x' })(response, request)
    }
    const timeoutMs = value === 'timeout' ? 200 : 5_000
    await runNextJob({
      ...webhooks,
      send: createSender({ timeoutMs, allowInsecure: true, resolve: noNames }),
    })

    expect(await onlyDelivery()).toMatchObject({
      status: 'pending',
      nextAttemptAt: expect.any(Date),
      attempts: [{ number: 1, [member]: value }],
    })
    expect(receiver.received).toHaveLength(1)
  })

  test('schedules the next one, until the last, which becomes a dead letter', async () => {
    await makeEndpoint()
    await makePayment()
    receiver.answer = status(503)
    for (const [step, seconds] of RETRY_DELAYS_SECONDS.entries()) {
      await endPauses()
      expect(await runNextJob()).toMatchObject({ status: 'completed' })
      const [job, ...others] = await queuedJobs()
      expect(others).toEqual([])
      expect(job?.data.attempt).toBe(step + 2)
      expect(Math.abs((job?.startsIn ?? 0) - seconds)).toBeLessThan(5)
    }
    await endPauses()
    const last = await runNextJob()

    expect(last).toMatchObject({ status: 'deadletter', output: { reason: 'out of attempts' } })
    const delivery = await onlyDelivery()
    expect(delivery).toMatchObject({ status: 'failed', nextAttemptAt: null })
    expect(delivery.attempts).toHaveLength(RETRY_DELAYS_SECONDS.length + 1)
    expect(await queuedJobs()).toEqual([])
  })
})

describe('while a secret is rotated', () => {
  test('both secrets sign, until the previous one expires', async () => {
    const { id, secret: previous } = await makeEndpoint()
    const current = newSecret()
    await store.sql.begin((tx) => rotateSecret(tx, { tenantId, id }, current))
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    await store.sql`
      update webhook_endpoints set previous_secret_expires_at = now() where id = ${id}
    `
    await runNextJob()

    const [during, after] = await receiver.waitFor(2)
    if (during === undefined || after === undefined) throw new Error('too little was received')
    expect(verify(current, during)).toEqual(verify(previous, during))
    expect(verify(current, after)).toEqual(verify(current, during))
    expect(() => verify(previous, after)).toThrow('No matching signature')
  })
})

describe('a worker that crashes', () => {
  test('before it recorded its attempt leaves the attempt to be repeated', async () => {
    await makeEndpoint()
    await makePayment()
    const [job] = await queuedJobs()
    const died = await work(
      { id: 'job', data: job?.data },
      {
        ...webhooks,
        send: async (request) => {
          await webhooks.send(request)
          throw new Error('died')
        },
      },
    )
    expect(died).toMatchObject({ status: 'failed' })
    expect((await onlyDelivery()).attempts).toEqual([])
    expect(await work({ id: 'job', data: job?.data })).toMatchObject({ status: 'completed' })

    const [first, second] = await receiver.waitFor(2)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(await onlyDelivery()).toMatchObject({
      status: 'succeeded',
      attempts: [{ number: 1, httpStatus: 204 }],
    })
  })

  test('after it recorded its attempt leaves nothing to do', async () => {
    await makeEndpoint()
    await makePayment()
    const [job] = await queuedJobs()
    await work({ id: 'job', data: job?.data })

    expect(await work({ id: 'job', data: job?.data })).toMatchObject({ status: 'completed' })
    expect(receiver.received).toHaveLength(1)
  })

  test('only apparently does not count its attempt twice', async () => {
    await makeEndpoint()
    await makePayment()
    const [job] = await queuedJobs()
    const held: (() => void)[] = []
    receiver.answer = (response) => void held.push(() => response.writeHead(500).end())
    const both = [work({ id: 'a', data: job?.data }), work({ id: 'b', data: job?.data })]
    await receiver.waitFor(2)
    held.forEach((release) => release())

    expect(await Promise.all(both)).toMatchObject([
      { status: 'completed' },
      { status: 'completed' },
    ])
    const delivery = await findDelivery(store.sql, tenantId, (await onlyDelivery()).id)
    expect(delivery?.attempts).toMatchObject([{ number: 1, httpStatus: 500 }])
    await store.sql`delete from atomic_jobs.job where (data ->> 'attempt')::int = 1`
    expect(await queuedJobs()).toHaveLength(1)
  })
})

test('a job without an attempt becomes a dead letter', async () => {
  expect(await work({ id: 'job', data: { tenantId } })).toMatchObject({ status: 'deadletter' })
})

test('no log contains a secret, a URL or a body', async () => {
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line) => void lines.push(line) })
  const { secret } = await makeEndpoint()
  await makePayment()
  receiver.answer = status(500)
  await runNextJob({ ...webhooks, log })

  expect(lines).toHaveLength(1)
  expect(lines.join()).not.toContain(secret.slice('whsec_'.length))
  expect(lines.join()).not.toContain(receiver.url)
  expect(lines.join()).not.toContain('payment')
})

test('a job whose delivery is not there yet is tried again, and then completed', async () => {
  const data = { tenantId, deliveryId: '01890a5d-ac96-774b-bcce-b302099a8057', attempt: 1 }

  expect(await work({ id: 'job', data, retryCount: 7 })).toMatchObject({ status: 'failed' })
  expect(await work({ id: 'job', data, retryCount: 8 })).toMatchObject({ status: 'completed' })
})
