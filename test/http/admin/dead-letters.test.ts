// Dead letters as pg-boss really creates them: each has a reason, and each can be redriven.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { storeProviderEvent } from '../../../src/db/events/provider-events.ts'
import { parseId, showId } from '../../../src/domain/resource-id.ts'
import { OPERATORS, operatorsOf } from '../../support/admin.ts'
import { get, paymentBody, post, postPayment, remove } from '../../support/client.ts'
import { startReceiver, status, type Receiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'
import { ONE_TRY, ownService, tenantOf } from '../../support/for-file.ts'

const service = ownService({
  ...ONE_TRY,
  WEBHOOK_ALLOW_INSECURE: 'true',
  ADMIN_API_KEY: `alice=${OPERATORS.alice}`,
})
const tenant = tenantOf(service)
let receiver: Receiver

beforeAll(async () => {
  receiver = await startReceiver()
})

afterEach(() => service.control('DELETE', 'faults'))
afterAll(() => receiver.stop())

interface Letter {
  readonly id: string
  readonly about: string
  readonly queue: string
}

const operator = () => operatorsOf(service.apiUrl)

const redrive = (queue: string, ids?: string[]) =>
  operator().post('/admin/dead-letters/redrive', { queue, ...(ids && { ids }) })

async function lettersOf(queue: string): Promise<Letter[]> {
  const { json } = await operator().get(`/admin/dead-letters?queue=${queue}&limit=100`)
  return json['data'] as Letter[]
}

/** Waits for the dead letter of a resource. */
async function letterAbout(queue: string, about: string): Promise<Letter> {
  return await until(async () =>
    (await lettersOf(queue)).find((candidate) => candidate.about === about),
  )
}

/** Sends a payment under the fault, and waits for its dead letter. */
async function failPayment(fault: string, match = {}) {
  const key = randomUUID()
  await service.control('POST', 'faults', { match, fault })
  const { json } = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
  await service.control('DELETE', 'faults')
  const [row] = await service.store.sql<{ id: string }[]>`
    select id from idempotency_keys where key = ${key}
  `
  const operation = showId('op', row?.id ?? '')
  return { key, json, operation, letter: await letterAbout('operations.dead', operation) }
}

const retry = (key: string) =>
  postPayment(service.apiUrl, tenant, paymentBody(), { key, headers: { prefer: 'wait=20' } })

test('a failed payment is a dead letter with a reason, and is charged once when redriven', async () => {
  const { key, operation, letter } = await failPayment('rate_limited')

  const redriven = await redrive('operations.dead', [letter.id])
  const final = await retry(key)
  const again = await redrive('operations.dead', [letter.id])

  expect(letter).toMatchObject({
    object: 'dead_letter',
    queue: 'operations.dead',
    source_queue: 'operations',
    job: { tenantId: tenant.id },
    last_error: { reason: 'out of tries', last_error: expect.stringMatching(/./) },
    died_at: expect.stringMatching(/^\d{4}-/),
  })
  expect(redriven).toMatchObject({
    status: 200,
    json: { object: 'redrive', queue: 'operations.dead', redriven: 1, needless: 0, kept: [] },
  })
  expect(final.status).toBe(201)
  const executed = await service.executedFor(final.json as { id: string })
  expect(executed.map(({ kind }) => kind)).toEqual([
    'payment_intent.create',
    'payment_intent.capture',
  ])
  expect(again.json).toMatchObject({
    redriven: 0,
    kept: [{ id: letter.id, reason: 'there is no such dead letter' }],
  })
  const details = { queue: 'operations.dead', dead_letter: letter.id }
  // With the other actions on the operation.
  expect(await trailOf(operation)).toEqual([
    { actor: 'alice', details: { ...details, result: 'redriven' } },
  ])
  expect(await trailOf(letter.id)).toEqual([
    {
      actor: 'alice',
      details: { ...details, result: 'kept', reason: 'there is no such dead letter' },
    },
  ])
})

async function trailOf(subject: string) {
  return await service.store.sql`
    select actor, details from admin_actions where subject = ${subject} order by happened_at, id
  `
}

test('a payment with an unknown outcome is looked up when redriven, and gets the real outcome', async () => {
  const { key, json, letter } = await failPayment('nonsense_body', { path: '/v1/payment_intents' })
  expect(json).toMatchObject({ status: 'unknown' })
  expect((await redrive('operations.dead', [letter.id])).json).toMatchObject({ redriven: 1 })

  const final = await until(async () => {
    const answer = await retry(key)
    return answer.status !== 409 && answer
  })
  expect(final).toMatchObject({ status: 201, json: { status: 'succeeded' } })
  expect(await service.executedFor(final.json as { id: string })).toHaveLength(2)
})

test('a payment that was completed in the meantime leaves nothing to redrive, and its dead letter is removed', async () => {
  const { key, letter } = await failPayment('rate_limited')
  expect((await retry(key)).status).toBe(201)

  const { json } = await redrive('operations.dead', [letter.id])

  expect(json).toMatchObject({ redriven: 0, needless: 1, kept: [] })
  expect(await lettersOf('operations.dead')).not.toContainEqual(
    expect.objectContaining({ id: letter.id }),
  )
})

test('a webhook out of attempts is redriven, but not to a disabled endpoint', async () => {
  receiver.answer = status(500)
  const endpoint = await post(service.apiUrl, tenant, '/v1/webhook-endpoints', {
    url: receiver.url,
  })
  const { sql } = service.store
  await postPayment(service.apiUrl, tenant)
  await until(async () => {
    const [row] = await sql<{ waiting: number }[]>`
      select count(*)::int as waiting from webhook_deliveries where attempts = 0
    `
    return row?.waiting === 0
  })
  // Sets the state after three days of attempts.
  await sql`update webhook_deliveries set schedule_step = 9, next_attempt_at = now()`
  await sql`update atomic_jobs.job set start_after = now() where name = 'webhook-deliveries'`
  const letter = await until(async () => (await lettersOf('webhook-deliveries.dead'))[0])
  const { id, about } = letter

  expect(letter).toMatchObject({
    source_queue: 'webhook-deliveries',
    about: expect.stringMatching(/^wd_/),
    last_error: { reason: 'out of attempts', last_error: 'answered 500' },
  })
  await sql`update webhook_endpoints set status = 'disabled', disabled_reason = 'failing'`
  expect((await redrive('webhook-deliveries.dead', [id])).json).toMatchObject({
    redriven: 0,
    kept: [{ id, reason: 'the webhook endpoint is disabled' }],
  })
  await sql`update webhook_endpoints set status = 'enabled', disabled_reason = null`
  const before = await get(service.apiUrl, tenant, `/v1/webhook-deliveries/${about}`)
  expect((await redrive('webhook-deliveries.dead', [id])).json).toMatchObject({ redriven: 1 })
  await until(async () => {
    const { json } = await get(service.apiUrl, tenant, `/v1/webhook-deliveries/${about}`)
    return (json['attempts'] as unknown[]).length > (before.json['attempts'] as unknown[]).length
  })
  await remove(service.apiUrl, tenant, `/v1/webhook-endpoints/${String(endpoint.json['id'])}`)
})

test('a provider event out of retries is applied when redriven', async () => {
  const { sql } = service.store
  const id = `evt_${randomUUID()}`
  const [payment] = await sql<{ id: string }[]>`
    select id from payments where status = 'succeeded' limit 1
  `
  const event = {
    provider: 'stripe',
    id,
    type: 'payment_intent.succeeded',
    about: 'payment' as const,
    objectId: 'pi_1',
    providerPaymentId: 'pi_1',
    subject: { tenantId: tenant.id, paymentId: payment?.id ?? '' },
    occurredAt: new Date(),
  }
  await storeProviderEvent(sql, event)
  await until(async () => {
    const [row] = await sql`select status from provider_events where id = ${id}`
    return row?.['status'] === 'unmatched'
  })
  await deadLetterJob('provider-events', { provider: 'stripe', eventId: id })
  await deadLetterJob('reminders', { provider: 'stripe', eventId: 'evt_gone' })
  const letter = await letterAbout('provider-events.dead', id)
  const gone = await letterAbout('provider-events.dead', 'evt_gone')

  const { json } = await redrive('provider-events.dead', [letter.id, gone.id])

  expect(json).toMatchObject({ redriven: 1, needless: 1, kept: [] })
  await until(async () => {
    const applied = await sql`
      select from atomic_jobs.job where name = 'provider-events' and state = 'completed'
        and data ->> 'eventId' = ${id}
    `
    return applied.count >= 2
  })
})

/** Inserts a job after its last retry, as pg-boss moves it. */
async function deadLetterJob(queue: string, data: object): Promise<void> {
  await service.store.sql`
    insert into atomic_jobs.job (name, data, source_name, source_output, source_retry_count)
    values (
      'provider-events.dead', ${JSON.stringify(data)}::jsonb, ${queue},
      '{"reason":"not applicable yet"}', 3
    )
  `
}

test('a reconciliation out of retries runs when redriven', async () => {
  const window = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' }
  const requested = await operator().post('/admin/reconciliations', window)
  const about = String(requested.json['id'])
  const runId = parseId('rec', about) ?? ''
  const { sql } = service.store
  const readRun = async () => (await operator().get(`/admin/reconciliations/${about}`)).json
  await until(async () => (await readRun())['finished_at'] !== null)
  await sql`update reconciliation_runs set status = 'failed' where id = ${runId}`
  await sql`
    insert into atomic_jobs.job (name, data, source_name)
    values ('reconciliations.dead', ${JSON.stringify({ runId })}::jsonb, 'reconciliations')
  `
  const letter = await letterAbout('reconciliations.dead', about)

  expect((await redrive('reconciliations.dead', [letter.id])).json).toMatchObject({
    redriven: 1,
  })
  await until(async () => (await readRun())['status'] === 'completed')
})

test('a malformed job is kept, and a redrive of nothing is recorded in the audit trail', async () => {
  await service.store.sql`
    insert into atomic_jobs.job (name, data) values ('operations.dead', '{"operationId":"x"}')
  `
  const [letter] = await lettersOf('operations.dead')
  const { json } = await redrive('operations.dead', [letter?.id ?? ''])
  expect(json).toMatchObject({ kept: [{ reason: 'the job is malformed' }] })

  expect((await redrive('reconciliations.dead')).json).toMatchObject({ redriven: 0, kept: [] })
  const [last] = await service.store.sql`
    select actor, action, details from admin_actions order by happened_at desc, id desc limit 1
  `
  expect(last).toEqual({
    actor: 'alice',
    action: 'dead_letter.redrive',
    details: { queue: 'reconciliations.dead', result: 'none' },
  })
})

test('the list is newest first', async () => {
  const added = await service.store.sql<{ id: string }[]>`
    insert into atomic_jobs.job (name, data, created_on)
    select 'operations.dead', '{}', now() - n * interval '1 minute' from generate_series(-2, 2) as n
    returning id
  `
  const ids = added.map(({ id }) => id)
  const listed = (await lettersOf('operations.dead')).map(({ id }) => id)

  expect(listed.filter((id) => ids.includes(id))).toEqual(ids)
})
