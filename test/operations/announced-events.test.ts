// Tests an operation that announces an event of its own and leaves the status of its payment as it is.
import { randomUUIDv7 } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { z } from 'zod'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { insertEndpoint } from '../../src/db/webhooks/webhook-endpoints.ts'
import { EARLY_FRAUD_WARNING } from '../../src/domain/events/event-types.ts'
import { paymentAfter, type Payment } from '../../src/domain/payments/payment.ts'
import {
  advanceTo,
  defineOperation,
  type OperationInput,
} from '../../src/engine/define-operation.ts'
import { LeaseLostError } from '../../src/engine/lease.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { paymentEndpoint } from '../../src/http/resources/payment-endpoint.ts'
import { keepsStatus, onPayment, finishWithPayment } from '../../src/operations/on-payment.ts'
import { aroundCommit, connectionLost } from '../support/engine-doubles.ts'
import { startTestEngine, type PaymentRef, type TestEngine } from '../support/engine.ts'
import { expectNoStatusRepeated } from '../support/events.ts'
import { captured, held } from './made-payments.ts'

interface Subject {
  readonly payment: Payment
}

const subject = ({ payment }: OperationInput): Subject => ({ payment })
const announce = ({ payment }: Subject) =>
  finishWithPayment(200, payment, { announces: EARLY_FRAUD_WARNING })

const flag = defineOperation(
  'payment.remark',
  { started: { record: announce } },
  { startsFrom: ['requires_capture', 'succeeded'], subject, ...keepsStatus },
)

const store = defineOperation(
  'payment.store',
  {
    started: {
      record({ payment, createdAt }: Subject & { readonly createdAt: Date }) {
        const notes = { description: createdAt.toISOString() }
        const after = { ...payment, ...notes }
        return finishWithPayment(200, after, { announces: EARLY_FRAUD_WARNING, stores: notes })
      },
    },
  },
  {
    startsFrom: ['requires_capture', 'succeeded'],
    subject: ({ payment, createdAt }: OperationInput) => ({ payment, createdAt }),
    ...keepsStatus,
  },
)

const captureAndFlag = defineOperation(
  'payment.capture-and-flag',
  {
    started: {
      call: 'capture',
      record({ payment }: Subject) {
        const changed = paymentAfter(payment, {
          status: 'succeeded',
          amountCapturedMinor: payment.amountMinor,
        })
        return advanceTo('captured', { payment: changed }, { payment: changed })
      },
    },
    captured: { record: announce },
  },
  onPayment({ startsFrom: ['requires_capture'], subject }),
)

const endpointOf = (operation: typeof flag | typeof captureAndFlag | typeof store) =>
  paymentEndpoint({
    operation,
    path: '/v1/payments/:id/remark',
    contract: {
      operationId: 'remark',
      summary: 'Remark on a payment',
      body: { schema: z.strictObject({}) },
      answers: {},
    },
    parameters: () => ({}),
  })

let t: TestEngine
let reported: string[]

beforeAll(async () => {
  const started = await startTestEngine()
  const operations = [...started.engine.operations, flag, captureAndFlag, store]
  const insertedEvents = (type: string) => void reported.push(type)
  const observe = { ...started.engine.observe, insertedEvents }
  t = { ...started, engine: { ...started.engine, operations, observe } }
  reported = []
})
afterEach(() => expectNoStatusRepeated(t.engine.store))
afterAll(() => t.stop())

const run = (ref: Parameters<typeof runOperation>[1], engine = t.engine) =>
  runOperation(engine, ref)

const begin = (payment: PaymentRef) => t.begin(endpointOf(flag), payment)

async function announcements({ paymentId }: PaymentRef) {
  const rows = await t.engine.store.sql<{ id: string; status: string; key: string }[]>`
    select id, object ->> 'status' as status, idempotency_key as key from events
    where payment_id = ${paymentId} and type = ${EARLY_FRAUD_WARNING}
  `
  return [...rows]
}

async function makeEndpoint(eventType: string): Promise<string> {
  const id = randomUUIDv7()
  const endpoint = { tenantId: t.tenantId, id, url: 'https://example.com/' }
  await inTransaction(t.engine.store.sql, (tx) =>
    insertEndpoint(tx, {
      ...endpoint,
      eventTypes: [eventType],
      description: null,
      secret: 'whsec_1',
    }),
  )
  return id
}

describe('an operation that keeps the status', () => {
  test.each([
    ['requires_capture', held],
    ['succeeded', captured],
  ] as const)('announces its event of a payment that is %s', async (status, make) => {
    const payment = await make(t)
    const before = await t.readPayment(payment)
    reported = []

    const ref = await begin(payment)
    expect(await t.readPayment(payment)).toEqual(before)
    expect(await run(ref)).toBe('finished')

    expect(await announcements(payment)).toEqual([
      { id: expect.anything() as unknown, status, key: ref.id },
    ])
    expect(await t.readPayment(payment)).toEqual(before)
    expect(reported).toEqual([EARLY_FRAUD_WARNING])
  })

  test('stores something on the payment, and announces the payment with it', async () => {
    const payment = await captured(t)
    const before = await t.readPayment(payment)
    const ref = await t.begin(endpointOf(store), payment)

    expect(await run(ref)).toBe('finished')

    const [row] = await t.engine.store.sql<{ created_at: string }[]>`
      select created_at from idempotency_keys where id = ${ref.id}
    `
    const description = new Date(row?.created_at ?? '').toISOString()
    expect(await t.readPayment(payment)).toEqual({ ...before, description })
    const events = await t.engine.store.sql`
      select object ->> 'description' as description from events
      where payment_id = ${payment.paymentId} and type = ${EARLY_FRAUD_WARNING}
    `
    expect([...events]).toEqual([{ description }])
  })

  test('sends it to the webhook endpoints that want it', async () => {
    const wanting = await makeEndpoint(EARLY_FRAUD_WARNING)
    await makeEndpoint('payment.succeeded')
    const payment = await captured(t)
    const ref = await begin(payment)

    await run(ref)

    const [event] = await announcements(payment)
    const deliveries = await t.engine.store.sql`
      select endpoint_id from webhook_deliveries where event_id = ${event?.id ?? ''}
    `
    expect([...deliveries]).toEqual([{ endpoint_id: wanting }])
  })

  test('announces it once when the acknowledgment of the commit is lost', async () => {
    const payment = await held(t)
    const ref = await begin(payment)
    let isLost = false
    const losing = aroundCommit(t.engine, async (commit) => {
      const result = await commit()
      if (isLost || (await announcements(payment)).length === 0) return result
      isLost = true
      throw connectionLost()
    })

    expect(await run(ref, losing)).toBe('finished')

    expect(await announcements(payment)).toHaveLength(1)
  })

  test('announces nothing for an owner that lost its lease', async () => {
    const payment = await held(t)
    const ref = await begin(payment)
    const late = aroundCommit(t.engine, async (commit) => {
      await t.engine.store.sql`
        update idempotency_keys set lease_epoch = lease_epoch + 1 where id = ${ref.id}
      `
      return await commit()
    })

    await expect(run(ref, late)).rejects.toThrow(LeaseLostError)

    expect(await announcements(payment)).toEqual([])
  })

  test('announces one for each operation of several at once', async () => {
    const payments = await Promise.all([1, 2, 3].map(() => held(t)))
    const refs = await Promise.all(payments.map(begin))

    await Promise.all(refs.map((ref) => run(ref)))

    const announced = await Promise.all(payments.map(announcements))
    expect(announced.flat().map(({ key }) => key)).toEqual(refs.map(({ id }) => id))
  })

  test('announces the payment as the phase before has left it', async () => {
    const payment = await held(t)

    expect(await run(await t.begin(endpointOf(captureAndFlag), payment))).toBe('finished')

    expect(await announcements(payment)).toMatchObject([{ status: 'succeeded' }])
  })
})
