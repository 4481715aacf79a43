// The tools over stdio: what they do and say, and whether their annotations are true.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { paymentBody, postPayment } from '../support/client.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { connectStdio, type Agent, type Answer } from './connect.ts'
import { ONE_TRY, serviceInProcess, tenantOf } from '../support/for-file.ts'

const service = serviceInProcess({ ...ONE_TRY, CHECK_ON_READ_SECONDS: '3600' })
const tenant = tenantOf(service)
let agent: Agent

beforeAll(async () => {
  agent = await connectStdio(service.apiUrl, tenant)
})
afterEach(() => service.provider.control('DELETE', '/faults'))
afterEach(() => expectLedgerBalanced(service.store))
afterAll(() => agent.client.close())

const newReference = () => `order-${randomUUID()}`

const order = (fields: Record<string, unknown> = {}) => ({
  reference: newReference(),
  amount: 1999,
  currency: 'usd',
  payment_method: 'pm_card_visa',
  ...fields,
})

const executed = () => service.provider.executed()

const kindsOf = async ({ payment }: { readonly payment?: Answer['payment'] | undefined }) =>
  (await service.executedFor({ id: payment?.id })).map(({ kind }) => kind)

const held = () => agent.call('pay', order({ capture_method: 'manual' }))

const paid = () => agent.call('pay', order())

test('lists six tools with annotations and schemas, and answers in their form', async () => {
  const { tools } = await agent.client.listTools()
  const { payment, structured, message } = await paid()
  const hints = tools.map(({ name, annotations: of }) => [
    name,
    [of?.readOnlyHint, of?.destructiveHint, of?.idempotentHint, of?.openWorldHint],
  ])

  expect(hints).toEqual([
    ['pay', [false, true, true, true]],
    ['look_up', [true, false, true, true]],
    ['capture', [false, true, true, true]],
    ['cancel', [false, true, true, true]],
    ['refund', [false, true, true, true]],
    ['explain', [true, false, true, false]],
  ])
  for (const { outputSchema } of tools) {
    expect(outputSchema).toMatchObject({ type: 'object', required: ['outcome', 'message'] })
  }
  expect(structured).toMatchObject({ outcome: 'succeeded', message, payment })
})

describe('arguments', () => {
  const id = 'pay_01k9zq4s5tfexbgc1m6v8w2d3h'

  test.each<[string, Record<string, unknown>, string, string]>([
    ['pay', { capture: 'manual' }, 'capture', 'capture_method'],
    ['pay', { captureMethod: 'manual' }, 'captureMethod', 'capture_method'],
    ['pay', { payment_method_id: 'pm_1' }, 'payment_method_id', 'payment_method'],
    ['pay', { customer_id: 'cus_1' }, 'customer_id', 'customer'],
    ['pay', { confirm: false }, 'confirm', ''],
    ['look_up', { reference: 'order-1', attempt: 2 }, 'attempt', ''],
    ['look_up', { payment: id }, 'payment', 'payment_id'],
    ['capture', { payment_id: id, capture_amount: 500 }, 'capture_amount', 'amount'],
    ['cancel', { payment_id: id, reason: 'fraudulent' }, 'reason', ''],
    ['refund', { payment_id: id, reference: 'r-1', refund_amount: 5 }, 'refund_amount', 'amount'],
    ['explain', { payment_id: id, id }, 'id', 'payment_id'],
  ])('%s with %j is refused', async (name, fields, unknown, right) => {
    const input = name === 'pay' ? order(fields) : fields
    const before = await executed()
    const answer = await agent.call(name, input)

    expect(answer.isError).toBe(true)
    expect(answer.message).toContain(`${name} has no argument "${unknown}"`)
    expect(answer.text).toContain('Nothing was executed.')
    if (right !== '') expect(answer.message).toContain(`: use ${right}.`)
    expect(await executed()).toEqual(before)
  })

  test('have the names of the API', async () => {
    const { components } = parse(await readFile('openapi.yaml', 'utf8')) as {
      components: { schemas: Record<string, { properties: object }> }
    }
    const { tools } = await agent.client.listTools()
    const bodies = { pay: 'CreatePayment', capture: 'CapturePayment', refund: 'CreateRefund' }
    for (const [tool, body] of Object.entries(bodies)) {
      const found = tools.find(({ name }) => name === tool)
      const own = Object.keys(found?.inputSchema.properties ?? {})
      const names = Object.keys(components.schemas[body]?.properties ?? {})
      // The path of the API has the payment, and the server makes the key of the attempt.
      expect([...names, 'payment_id', 'attempt']).toEqual(expect.arrayContaining(own))
      expect(found?.inputSchema.additionalProperties).toBe(false)
    }
  })
})

test('pay with an absent customer is declined where it needs authentication', async () => {
  const input = order({ payment_method: 'pm_card_authenticationRequired' })
  const absent = await agent.call('pay', { ...input, off_session: true })
  const present = await agent.call('pay', {
    ...order({ payment_method: 'pm_card_authenticationRequired' }),
    return_url: 'https://shop.example/orders/1042',
  })

  expect(absent.payment).toMatchObject({
    status: 'declined',
    failure: { code: 'authentication_required' },
  })
  expect(present.payment?.status).toBe('requires_action')
})

test('pay gives the return_url to the API, which refuses what is no page', async () => {
  const answer = await agent.call('pay', order({ return_url: 'javascript:alert(1)' }))

  expect(answer.isError).toBe(true)
  expect(answer.message.match(/Invalid URL/g)).toHaveLength(1)
  expect(answer.message).toContain('/return_url: Invalid URL')
  expect(answer.message).toContain('This call executed nothing.')
})

describe('what stands is not what was asked', () => {
  test.each<[string, Record<string, unknown>, string, string]>([
    ['amount', { amount: 2500 }, 'amount 2500', 'amount 1999'],
    ['currency', { currency: 'eur' }, 'currency eur', 'currency usd'],
    ['both', { amount: 1, currency: 'eur' }, 'amount 1, currency eur', 'amount 1999, currency usd'],
    ['capture_method', { capture_method: 'manual' }, 'method manual', 'method automatic'],
  ])('pay with another %s', async (_, fields, asked, stands) => {
    const first = order()
    const made = await agent.call('pay', first)
    for (const attempt of [1, 2]) {
      const answer = await agent.call('pay', { ...first, ...fields, attempt })

      expect(answer).toMatchObject({ isError: true, payment: { id: made.payment?.id } })
      expect(answer.message).toMatch(/^Refused: what stands differs from what you asked for\./)
      expect(answer.message).toContain(asked)
      expect(answer.message).toContain(stands)
      expect(answer.structured?.['differences']).toHaveLength(Object.keys(fields).length)
    }
    expect(await kindsOf(made)).toEqual(['payment_intent.create', 'payment_intent.capture'])
  })

  test('pay of a declined, a held and an unknown payment', async () => {
    const declined = order({ payment_method: 'pm_card_chargeDeclined' })
    const onHold = order({ capture_method: 'manual' })
    const unknown = order()
    await agent.call('pay', declined)
    await agent.call('pay', onHold)
    const match = { path: '/v1/payment_intents' }
    await service.provider.addFault({ match, fault: 'nonsense_body' })
    await agent.call('pay', unknown)

    for (const asked of [declined, onHold, unknown]) {
      const answer = await agent.call('pay', { ...asked, amount: 2500 })
      expect(answer).toMatchObject({ isError: true, payment: { amount: 1999 } })
      expect(answer.message).toContain('Asked: amount 2500. Stands: amount 1999.')
    }
    // The message of what stands is part of it.
    const { message } = await agent.call('pay', { ...onHold, amount: 2500 })
    expect(message).toContain('Do not pay again. Call capture')
  })

  test('refund with another amount or of another payment', async () => {
    const [one, other] = [await paid(), await paid()]
    const asked = { payment_id: one.payment?.id, reference: newReference(), amount: 500 }
    const made = await agent.call('refund', asked)
    const more = await agent.call('refund', { ...asked, amount: 700 })
    const open = await agent.call('refund', { ...asked, amount: undefined })

    expect(more).toMatchObject({ isError: true, refund: { id: made.refund?.id } })
    expect(more.message).toContain('Asked: amount 700. Stands: amount 500.')
    expect(open).toMatchObject({ isError: false, refund: { id: made.refund?.id } })
    for (const attempt of [1, 2]) {
      const there = { ...asked, payment_id: other.payment?.id, attempt }
      const elsewhere = await agent.call('refund', there)
      expect(elsewhere).toMatchObject({ isError: true, refund: { id: made.refund?.id } })
      expect(elsewhere.message).toContain(`Stands: payment ${one.payment?.id}.`)
    }
    expect(await kindsOf(other)).not.toContain('refund.create')
  })

  test('capture of another amount', async () => {
    const { payment } = await held()
    await agent.call('capture', { payment_id: payment?.id, amount: 500 })
    const answer = await agent.call('capture', { payment_id: payment?.id, amount: 700 })

    expect(answer).toMatchObject({ outcome: 'refused', isError: true })
  })
})

describe('look_up', () => {
  const missing = { pay: 'pay_01k9zq4s5tfexbgc1m6v8w2d3h', re: 're_01k9zq4s5tfexbgc1m6v8w2d3h' }

  test.each([
    ['look_up', { reference: 'order-unknown' }],
    ['look_up', { refund_reference: 'refund-unknown' }],
    ['look_up', { payment_id: missing.pay }],
    ['look_up', { refund_id: missing.re }],
    ['explain', { payment_id: missing.pay }],
  ])('%s %j finds nothing', async (name, input) => {
    expect(await agent.call(name, input)).toMatchObject({ outcome: 'not_found', isError: false })
  })

  test.each([[{}], [{ reference: 'order-1', payment_id: missing.pay }]])(
    'is refused with %j, which does not name one thing',
    async (input) => {
      const answer = await agent.call('look_up', input)

      expect(answer).toMatchObject({ outcome: 'refused', isError: true })
      expect(answer.message).toContain('reference, payment_id, refund_reference, refund_id')
    },
  )
})

describe('idempotentHint is true: the same call again does nothing more', () => {
  test('pay, also in another process and after its key is forgotten', async () => {
    const asked = order()
    const first = await agent.call('pay', asked)
    const other = await connectStdio(service.apiUrl, tenant)
    const second = await other.call('pay', asked)
    await other.client.close()
    await service.store.sql`
      update idempotency_keys set expires_at = now() - interval '2 days' where tenant_id = ${tenant.id}
    `
    const third = await agent.call('pay', asked)

    expect(first).toMatchObject({ outcome: 'succeeded', payment: { reference: asked.reference } })
    expect(second).toEqual(first)
    expect(third).toEqual(first)
    expect(await kindsOf(first)).toEqual(['payment_intent.create', 'payment_intent.capture'])
  })

  test.each(['capture', 'cancel'])('%s', async (name) => {
    const { payment } = await held()
    const input = { payment_id: payment?.id }
    const first = await agent.call(name, input)
    const second = await agent.call(name, input)

    expect(first.outcome).toBe(name === 'capture' ? 'succeeded' : 'canceled')
    expect(second).toEqual(first)
    expect(await kindsOf(first)).toEqual(['payment_intent.create', `payment_intent.${name}`])
  })

  test('refund', async () => {
    const { payment } = await paid()
    const input = { payment_id: payment?.id, reference: newReference(), amount: 500 }
    const first = await agent.call('refund', input)
    const second = await agent.call('refund', input)

    expect(first).toMatchObject({ outcome: 'succeeded', refund: { amount: 500 } })
    expect(second).toEqual(first)
    expect(await agent.call('look_up', { refund_reference: input.reference })).toEqual(first)
    const made = await kindsOf({ payment })
    expect(made.filter((kind) => kind === 'refund.create')).toHaveLength(1)
  })
})

test('destructiveHint is true: no other call puts back a charge or what is refunded', async () => {
  const { payment } = await paid()
  const canceled = await agent.call('cancel', { payment_id: payment?.id })

  expect(canceled).toMatchObject({ outcome: 'refused', isError: true })
  expect(canceled.message).toContain('invalid-state')
  await agent.call('refund', { payment_id: payment?.id, reference: newReference() })
  const again = await agent.call('refund', { payment_id: payment?.id, reference: newReference() })
  expect(again.message).toContain('refund-exceeds-capture')
})

test('readOnlyHint is true: look_up and explain write and execute nothing', async () => {
  const stored = async () => {
    const [row] = await service.store.sql`
      select (select jsonb_agg(p order by id) from payments as p)::text as payments,
        (select count(*) from idempotency_keys)::int as keys, (select count(*) from events)::int as events
    `
    return { row, calls: (await executed()).length }
  }
  const { payment } = await paid()
  const before = await stored()
  const found = await agent.call('look_up', { reference: payment?.reference })
  await agent.call('look_up', { payment_id: payment?.id })
  await agent.call('look_up', { reference: newReference() })
  const explained = await agent.call('explain', { payment_id: payment?.id })

  expect(found).toMatchObject({ outcome: 'succeeded', payment: { id: payment?.id } })
  expect(explained.message).toContain('payment.create started: done')
  expect(await stored()).toEqual(before)
})

test('openWorldHint is false for explain: it works while the provider does not', async () => {
  const { payment } = await paid()
  await service.provider.addFault({ match: {}, fault: 'rate_limited', times: 100 })
  const explained = await agent.call('explain', { payment_id: payment?.id })

  expect(explained).toMatchObject({ outcome: 'found', isError: false })
})

describe('pay', () => {
  test('says what an agent must not misread when the outcome is unknown', async () => {
    const match = { path: '/v1/payment_intents' }
    await service.provider.addFault({ match, fault: 'nonsense_body' })
    const asked = order()
    const first = await agent.call('pay', asked)
    const second = await agent.call('pay', asked)
    const third = await agent.call('pay', { ...asked, attempt: 2 })
    const looked = await agent.call('look_up', { reference: asked.reference })

    expect(first.message).toBe(
      `The outcome is not known yet. Do not pay again, not with another reference or attempt either. Call look_up with reference "${asked.reference}" in a few seconds.`,
    )
    for (const answer of [first, second, third, looked]) {
      expect(answer).toMatchObject({
        outcome: 'not_known_yet',
        message: first.message,
        isError: false,
      })
    }
    expect(await kindsOf(looked)).toEqual(['payment_intent.create'])
  })

  test('tells a decline, and takes another card with the next attempt', async () => {
    const asked = order({ payment_method: 'pm_card_chargeDeclined' })
    const declined = await agent.call('pay', asked)
    const same = await agent.call('pay', { ...asked, payment_method: 'pm_card_visa' })
    const second = await agent.call('pay', { ...asked, payment_method: 'pm_card_visa', attempt: 2 })
    const third = await agent.call('pay', { ...asked, attempt: 3 })

    expect(declined.message).toContain('call pay with the same reference and attempt 2')
    expect(same).toMatchObject({ outcome: 'declined', payment: { id: declined.payment?.id } })
    expect(second).toMatchObject({ outcome: 'succeeded' })
    expect(third).toMatchObject({ outcome: 'succeeded', payment: { id: second.payment?.id } })
  })

  test('goes on with the same call after an outage of the provider', async () => {
    await service.provider.addFault({ match: {}, fault: 'rate_limited', times: 100 })
    const asked = order()
    const failed = await agent.call('pay', asked)
    await service.provider.control('DELETE', '/faults')
    const paidNow = await agent.call('pay', asked)

    expect(failed.outcome).toBe('nothing_happened')
    expect(failed.message).toContain('Call pay again with exactly the same arguments')
    expect(paidNow.outcome).toBe('succeeded')
    expect(await kindsOf(paidNow)).toEqual(['payment_intent.create', 'payment_intent.capture'])
  })

  test('finds the payment that another program made for the reference', async () => {
    const asked = order()
    const body = paymentBody({ reference: asked.reference })
    const { json } = await postPayment(service.apiUrl, tenant, body)
    const answer = await agent.call('pay', asked)

    expect(answer).toMatchObject({ outcome: 'succeeded', payment: { id: json['id'] } })
    expect(await kindsOf(answer)).toHaveLength(2)
  })

  test('asks for authentication without the secret of the cardholder', async () => {
    const asked = order({ payment_method: 'pm_card_threeDSecureRequired' })
    const answer = await agent.call('pay', asked)

    expect(answer.outcome).toBe('action_required')
    expect(answer.text).not.toContain('secret')
  })
})

test('a refused call says why, and shows no API key', async () => {
  const stranger = await connectStdio(service.apiUrl, { ...tenant, apiKey: 'sk_test_unknown_key' })
  const answers = [
    await stranger.call('pay', order()),
    await stranger.call('look_up', { reference: 'order-1' }),
  ]
  await stranger.client.close()

  for (const answer of answers) {
    expect(answer).toMatchObject({ outcome: 'refused', isError: true })
    expect(answer.message).toContain('api-key-invalid')
    expect(answer.text).not.toContain('sk_test')
  }
  const wrong = await agent.call('pay', order({ amount: 1 }))
  expect(wrong.message).toContain('amount-too-small')
  expect(wrong.message).toContain('executed nothing')
  const card = await agent.call('pay', order({ payment_method: '4242424242424242' }))
  expect(card.message).toContain('card-number-refused')
  expect(card.text).not.toContain('4242')
})
