// Tests the events of the stand-in, and the knobs that lose, repeat, reorder and delay them.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Stripe } from 'stripe'
import { makeTemporaryFolder } from '../../../support/temporary-folder.ts'
import { payment, startProvider, type RunningProvider } from '../running-provider.ts'
import { listening } from '../../../support/listening.ts'

const SECRET = 'whsec_test'

interface Received {
  readonly event: Stripe.Event
  /** The header, from which either secret verifies the event. */
  readonly signature: string
  readonly body: Buffer
  readonly atMs: number
}

interface Receiver {
  readonly url: string
  readonly received: readonly Received[]
  /** The statuses of the next answers; 200 when the list is empty. */
  readonly answers: number[]
  /** Delays all answers until the returned function is called. */
  hold(): () => void
  /** Resolves when it has received that many events. */
  count(wanted: number): Promise<void>
  close(): Promise<void>
}

let receiver: Receiver
let provider: RunningProvider

beforeEach(async () => {
  receiver = await startReceiver()
  provider = await startProvider({ webhookUrl: receiver.url, webhookSecret: SECRET })
})
afterEach(async () => {
  await provider.close()
  await receiver.close()
})

async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const answers: number[] = []
  let onReceived = () => {}
  let released = Promise.resolve()
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = Buffer.concat(await request.toArray())
    const signature = String(request.headers['stripe-signature'])
    const event = Stripe.webhooks.constructEvent(body, signature, SECRET)
    received.push({ event, signature, body, atMs: performance.now() })
    await released
    response.writeHead(answers.shift() ?? 200).end()
    onReceived()
  }
  const server = createServer((request, response) => void receive(request, response))
  const { url, stop } = await listening(server)
  return {
    url: `${url}/hooks`,
    received,
    answers,
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      released = promise
      return resolve
    },
    count: (wanted) =>
      new Promise((resolve) => {
        onReceived = () => {
          if (received.length >= wanted) resolve()
        }
        onReceived()
      }),
    close: stop,
  }
}

const typesReceived = () => receiver.received.map(({ event }) => event.type)

interface DeliveryList {
  data: { event: string; type: string; state: string; attempts: number; object: string }[]
}
const listDeliveries = () => provider.control<DeliveryList>('GET', '/webhooks')
const setKnobs = (knobs: object) => provider.control('POST', '/webhooks', knobs)
const authenticate = (id: string, outcome: 'succeed' | 'fail') =>
  provider.control('POST', `/payment_intents/${id}/authenticate`, { outcome })

async function pay3ds(terms = {}): Promise<Stripe.PaymentIntent> {
  return await provider.stripe.paymentIntents.create(
    payment({ payment_method: 'pm_card_threeDSecureRequired', capture_method: 'manual', ...terms }),
  )
}

describe('an event', () => {
  test("has Stripe's form and names its request", async () => {
    const key = { idempotencyKey: 'key-1' }
    const intent = await provider.stripe.paymentIntents.create(payment(), key)
    await receiver.count(2)

    const [created, succeeded] = receiver.received.map(({ event }) => event)
    expect(created).toMatchObject({ type: 'payment_intent.created', object: 'event' })
    expect(created?.api_version).toBe(Stripe.API_VERSION)
    expect(succeeded).toMatchObject({
      id: expect.stringMatching(/^evt_/),
      type: 'payment_intent.succeeded',
      livemode: false,
      data: { object: { id: intent.id, status: 'succeeded' } },
      request: { id: expect.stringMatching(/^req_/), idempotency_key: 'key-1' },
    })
  })

  test('is sent for each step of a payment with 3-D Secure', async () => {
    const { id } = await pay3ds()
    await authenticate(id, 'succeed')
    await provider.stripe.paymentIntents.capture(id)
    await provider.stripe.refunds.create({ payment_intent: id, amount: 100 })
    await receiver.count(7)

    expect(typesReceived()).toEqual([
      'payment_intent.created',
      'payment_intent.requires_action',
      'payment_intent.amount_capturable_updated',
      'payment_intent.succeeded',
      'refund.created',
      'charge.refunded',
      'refund.updated',
    ])
  })

  test('is sent again with the same id until it is acknowledged', async () => {
    receiver.answers.push(500, 302)
    await provider.stripe.paymentIntents.create(payment({ confirm: false }))
    await receiver.count(3)

    const ids = receiver.received.map(({ event }) => event.id)
    expect(new Set(ids).size).toBe(1)
  })
})

describe('3-D Secure authentication', () => {
  test('leaves the intent waiting for another method when it fails', async () => {
    const { id } = await pay3ds()

    await authenticate(id, 'fail')

    expect(await provider.stripe.paymentIntents.retrieve(id)).toMatchObject({
      status: 'requires_payment_method',
      last_payment_error: { code: 'payment_intent_authentication_failure' },
    })
    expect(await provider.executed()).toEqual([])
  })
})

describe('the knobs', () => {
  const create = () => provider.stripe.paymentIntents.create(payment({ confirm: false }))

  test('duplicate: repeats each event that many times', async () => {
    await setKnobs({ duplicate: 2 })
    await create()
    await receiver.count(3)

    expect(new Set(receiver.received.map(({ event }) => event.id)).size).toBe(1)
  })

  test('shuffle: reorders events that are due together', async () => {
    await setKnobs({ shuffle: true })
    // The others are due together while the first one waits for its answer.
    const release = receiver.hold()
    for (let event = 0; event < 12; event += 1) await create()
    release()
    await receiver.count(12)

    const sent = receiver.received.map(({ event }) => event.id)
    const created = (await listDeliveries()).data.map(({ event }) => event)
    expect(sent.toSorted()).toEqual(created.toSorted())
    expect(sent).not.toEqual(created)
  })

  test('old_secret: signs each event with the old secret as well, while it is rolled', async () => {
    await setKnobs({ old_secret: 'whsec_old' })
    await create()
    await receiver.count(1)

    const [{ body, signature } = { body: '', signature: '' }] = receiver.received
    expect(signature).toMatch(/^t=\d+,v1=\w{64},v1=\w{64}$/)
    const read = (secret: string) => Stripe.webhooks.constructEvent(body, signature, secret)
    expect(read('whsec_old')).toEqual(read(SECRET))
    expect(() => read('whsec_other')).toThrow(Stripe.errors.StripeSignatureVerificationError)
  })

  test.each([
    ['url', { url: 'ftp://x' }],
    ['lose', { lose: -1 }],
    ['duplicate', { duplicate: 1.5 }],
    ['shuffle', { shuffle: 'yes' }],
    ['delay_ms', { delay_ms: -1 }],
    ['old_secret', { old_secret: '' }],
    ['loose', { loose: 1 }],
  ])('refuse an invalid %s', async (name, knobs) => {
    await expect(setKnobs(knobs)).rejects.toThrow(name)
  })
})

test('pending deliveries and knobs survive a restart', async () => {
  const path = join(await makeTemporaryFolder(), 'provider.sqlite')
  const options = { path, webhookSecret: SECRET }
  const first = await startProvider(options)
  await first.control('POST', '/webhooks', { url: receiver.url, delay_ms: 200 })
  const intent = await first.stripe.paymentIntents.create(payment({ confirm: false }))
  await first.close()
  expect(receiver.received).toEqual([])

  const second = await startProvider(options)
  await receiver.count(1)
  await second.close()

  expect(receiver.received.map(({ event }) => event.data.object)).toMatchObject([{ id: intent.id }])
})

test('an event of an updated object says what its changed members were', async () => {
  const { id } = await provider.stripe.paymentIntents.create(
    payment({ payment_method: 'pm_card_pendingRefund' }),
  )
  const refund = await provider.stripe.refunds.create({ payment_intent: id })
  await provider.control('POST', `/refunds/${refund.id}/settle`, { status: 'succeeded' })
  await receiver.count(7)

  const updates = receiver.received
    .map(({ event }) => event)
    .filter(({ type }) => type === 'refund.updated' || type === 'charge.refund.updated')
  const previous = updates.map(({ data }) => data.previous_attributes)
  expect(previous).toContainEqual({ status: 'pending' })
  expect(previous.every((attributes) => attributes !== undefined)).toBe(true)
})
