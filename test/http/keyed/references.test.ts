// One order, one charge: a reference belongs to one payment, or refund, that may succeed.
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from '@jest/globals'
import { changeTenant } from '../../../src/db/tenants/tenants.ts'
import { get, paymentBody, post, postPayment, type ApiResponse } from '../../support/client.ts'
import { expectLedgerBalanced } from '../../support/ledger.ts'
import { startLimitedApiOn } from '../../support/limited-api.ts'
import type { ExecutedCall } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { expectProblem, expectReplay, isKeyKnown, makePayment } from '../payments.ts'
import { forFile, ONE_TRY, ownService, tenantOf } from '../../support/for-file.ts'

const service = ownService({
  ...ONE_TRY,
  CHECK_ON_READ_SECONDS: '1',
})

const tenant = tenantOf(service)

/** Another API of the service. */
const otherApi = forFile(() => startLimitedApiOn(service.databaseUrl, { WAIT_SECONDS: '20' }))

afterEach(() => service.control('DELETE', 'faults'))

afterEach(() => expectLedgerBalanced(service.store))

const newReference = () => `order-${randomUUID()}`

const pay = (reference: string, fields: Record<string, unknown> = {}, key: string = randomUUID()) =>
  postPayment(service.apiUrl, tenant, paymentBody({ reference, ...fields }), {
    key,
    headers: { prefer: 'wait=20' },
  })

const idOf = (answer: ApiResponse) => String(answer.json['id'])

/** The calls of a kind that the provider executed with the reference. */
async function executedWith(reference: string, kind: string): Promise<ExecutedCall[]> {
  const { data } = (await service.control('GET', 'executed')) as { data: ExecutedCall[] }
  return data.filter(
    (call) => call.kind === kind && call.metadata['atomic_reference'] === reference,
  )
}

const charges = (reference: string) => executedWith(reference, 'payment_intent.create')

function expectDuplicate(answer: ApiResponse, path: string, id: string): void {
  expectProblem(answer, 'duplicate-reference')
  expect(answer.json).toMatchObject({ earlier: id, location: `${path}/${id}` })
}

const expectDuplicateOf = (answer: ApiResponse, earlier: ApiResponse) =>
  expectDuplicate(answer, '/v1/payments', idOf(earlier))

describe('a second payment with a reference', () => {
  test('is refused, names the first one, and leaves nothing behind', async () => {
    const [reference, firstKey, key] = [newReference(), randomUUID(), randomUUID()]
    const first = await pay(reference, {}, firstKey)
    const second = await pay(reference, {}, key)

    expect(first.status).toBe(201)
    expect(first.json).toMatchObject({ status: 'succeeded', reference })
    expectDuplicateOf(second, first)
    expectDuplicateOf(await pay(reference, { amount: 500, capture_method: 'manual' }), first)
    expectReplay(await pay(reference, {}, firstKey), first)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
    expect(await charges(reference)).toHaveLength(1)
    const { json } = await get(service.apiUrl, tenant, `/v1/payments?reference=${reference}`)
    expect(json).toMatchObject({ data: [{ id: idOf(first) }], has_more: false })
  })

  test('is refused while the first one is in progress or its outcome is unknown', async () => {
    const reference = newReference()
    const match = { path: '/v1/payment_intents' }
    await service.control('POST', 'faults', { match, fault: 'nonsense_body' })
    const first = await pay(reference)
    expect(first.json).toMatchObject({ status: 'unknown' })

    expectDuplicateOf(await pay(reference), first)
    expect(await charges(reference)).toHaveLength(1)
  })

  test.each(['declined', 'canceled'] as const)(
    'is accepted once the first one is %s, and then the only one',
    async (status) => {
      const reference = newReference()
      const first =
        status === 'declined'
          ? await pay(reference, { payment_method: 'pm_card_chargeDeclined' })
          : await pay(reference, { capture_method: 'manual' })
      if (status === 'canceled') {
        await post(service.apiUrl, tenant, `/v1/payments/${idOf(first)}/cancel`)
      }
      const second = await pay(reference)

      expect(second.status).toBe(201)
      expectDuplicateOf(await pay(reference), second)
      const { json } = await get(service.apiUrl, tenant, `/v1/payments?reference=${reference}`)
      expect(
        (json['data'] as object[]).map((payment) => 'status' in payment && payment.status),
      ).toEqual(['succeeded', status])
    },
  )

  test('that was refused is accepted under the same key once the first one is canceled', async () => {
    const [reference, key] = [newReference(), randomUUID()]
    const first = await pay(reference, { capture_method: 'manual' })
    expectDuplicateOf(await pay(reference, {}, key), first)
    await post(service.apiUrl, tenant, `/v1/payments/${idOf(first)}/cancel`)

    const second = await pay(reference, {}, key)
    expect(second.status).toBe(201)
    expectReplay(await pay(reference, {}, key), second)
  })
})

test('50 requests at once with different keys and one reference make one charge', async () => {
  const reference = newReference()
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      postPayment(
        index % 2 === 0 ? service.apiUrl : otherApi.url,
        tenant,
        paymentBody({ reference }),
        { headers: { prefer: 'wait=20' } },
      ),
    ),
  )

  const created = answers.filter(({ status }) => status === 201)
  expect(created).toHaveLength(1)
  const [first] = created
  for (const answer of answers.filter((one) => one !== first)) {
    expectDuplicateOf(answer, first as ApiResponse)
  }
  expect(await charges(reference)).toHaveLength(1)
  expect(await service.store.sql`select from payments where reference = ${reference}`).toHaveLength(
    1,
  )
})

test('many references at once, in different orders on two APIs, make one charge each', async () => {
  const references = Array.from({ length: 12 }, newReference)
  const send = (url: string, ordered: readonly string[]) =>
    ordered.map((reference) =>
      // The usual five seconds are not enough on a busy machine.
      postPayment(url, tenant, paymentBody({ reference }), { headers: { prefer: 'wait=20' } }),
    )
  const answers = await Promise.all([
    ...send(service.apiUrl, references),
    ...send(otherApi.url, references.toReversed()),
  ])

  expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
    ...Array<number>(12).fill(201),
    ...Array<number>(12).fill(409),
  ])
  for (const reference of references) expect(await charges(reference)).toHaveLength(1)
})

describe('a payment that has failed', () => {
  const failing = async (reference: string, key: string) => {
    await service.control('POST', 'faults', { match: {}, fault: 'rate_limited' })
    const failed = await pay(reference, {}, key)
    expectProblem(failed, 'provider-unavailable')
  }

  test('leaves its reference free, and cannot go on while another payment uses it', async () => {
    const [reference, key] = [newReference(), randomUUID()]
    await failing(reference, key)
    const other = await pay(reference, { capture_method: 'manual' })
    expect(other.status).toBe(201)

    const late = await pay(reference, {}, key)
    expectDuplicateOf(late, other)
    expect(late.headers.get('idempotency-key-expires')).not.toBeNull()
    expect(await charges(reference)).toHaveLength(1)

    await post(service.apiUrl, tenant, `/v1/payments/${idOf(other)}/cancel`)
    const final = await pay(reference, {}, key)
    expect(final.json).toMatchObject({ status: 'succeeded', reference })
    expectDuplicateOf(await pay(reference), final)
  })
})

describe('a second refund with a reference', () => {
  const refund = (
    payment: { readonly id: string },
    reference: string,
    { key = randomUUID(), amount = 100 }: { key?: string; amount?: number } = {},
  ) =>
    post(
      service.apiUrl,
      tenant,
      `/v1/payments/${payment.id}/refunds`,
      { amount, reference },
      {
        key,
        headers: { prefer: 'wait=20' },
      },
    )
  const made = () => makePayment(service, tenant, 'succeeded')
  const expectDuplicateRefund = (answer: ApiResponse, earlier: ApiResponse) =>
    expectDuplicate(answer, '/v1/refunds', idOf(earlier))

  test('is refused, also of another payment, and leaves nothing behind', async () => {
    const [reference, key] = [newReference(), randomUUID()]
    const [payment, other] = [await made(), await made()]
    const first = await refund(payment, reference)
    const second = await refund(other, reference, { key })

    expect(first.json).toMatchObject({ status: 'succeeded', reference })
    expectDuplicateRefund(second, first)
    expectDuplicateRefund(await refund(payment, reference), first)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
    expect(await executedWith(reference, 'refund.create')).toHaveLength(1)
    const { json } = await get(service.apiUrl, tenant, `/v1/payments/${other.id}`)
    expect(json).toMatchObject({ amount_refunded: 0 })
    const [{ left } = { left: null }] = await service.store.sql`
      select amount_refunding_minor::int as left from payments
      where reference is null and amount_refunding_minor > 0
    `
    expect(left).toBeNull()
  })

  test('is refused 19 times of 20 at once', async () => {
    const reference = newReference()
    const payment = await made()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => refund(payment, reference, { amount: 1 })),
    )

    const first = answers.find(({ status }) => status === 201)
    for (const answer of answers.filter((one) => one !== first)) {
      expectDuplicateRefund(answer, first as ApiResponse)
    }
    expect(await executedWith(reference, 'refund.create')).toHaveLength(1)
  })

  test('is accepted once the first one has failed, which then cannot go on', async () => {
    const [reference, key] = [newReference(), randomUUID()]
    const payment = await made()
    await service.control('POST', 'faults', { match: {}, fault: 'rate_limited' })
    expectProblem(await refund(payment, reference, { key }), 'provider-unavailable')
    const second = await refund(payment, reference)

    expect(second.status).toBe(201)
    expectDuplicateRefund(await refund(payment, reference, { key }), second)
    expect(await executedWith(reference, 'refund.create')).toHaveLength(1)
  })

  test('is listed with the others that had its reference, newest first', async () => {
    const reference = newReference()
    const [payment, other] = [await made(), await made()]
    await service.control('POST', 'faults', { match: {}, fault: 'rate_limited' })
    const failed = await refund(payment, reference)
    expectProblem(failed, 'provider-unavailable')
    const second = await refund(other, reference)
    await refund(other, newReference())
    const list = async (query: string) => {
      const { json } = await get(service.apiUrl, tenant, `/v1/refunds?${query}`)
      return { refunds: json['data'], more: json['has_more'] }
    }

    const all = await list(`reference=${reference}`)
    expect(all).toMatchObject({
      refunds: [{ id: idOf(second), status: 'succeeded' }, { status: 'failed' }],
      more: false,
    })
    expect(await list(`reference=${reference}&starting_after=${idOf(second)}`)).toEqual({
      refunds: (all.refunds as object[]).slice(1),
      more: false,
    })
    expect(await list('limit=3')).toMatchObject({ refunds: [{}, { id: idOf(second) }, {}] })
  })

  test('may have the reference of a payment', async () => {
    const reference = newReference()
    const payment = await pay(reference)

    expect((await refund({ id: idOf(payment) }, reference)).status).toBe(201)
  })
})

describe('the reference', () => {
  test.each(['', 'a'.repeat(256), 'order 1', 'Bestellung-ä', 'a\nb', 7, ['a']])(
    'may not be %j',
    async (reference) => {
      const key = randomUUID()
      const answer = await pay(reference as string, {}, key)

      expectProblem(answer, 'invalid-field')
      const errors = answer.json['errors'] as { pointer: string }[]
      expect(new Set(errors.map(({ pointer }) => pointer))).toEqual(new Set(['/reference']))
      expect(await isKeyKnown(service, tenant, key)).toBe(false)
    },
  )

  test('may be 255 characters long, and null is none', async () => {
    expect((await pay('a'.repeat(255))).status).toBe(201)
    for (const _ of [1, 2]) {
      const answer = await postPayment(service.apiUrl, tenant, paymentBody({ reference: null }))
      expect(answer.json).toMatchObject({ status: 'succeeded', reference: null })
    }
  })

  test.each(['', 'a%20b', 'a'.repeat(256)])('of a list may not be %j', async (reference) => {
    for (const list of ['payments', 'refunds']) {
      const answer = await get(service.apiUrl, tenant, `/v1/${list}?reference=${reference}`)

      expectProblem(answer, 'invalid-query')
    }
  })
})

test('pages of a reference hold only its payments', async () => {
  const reference = newReference()
  const ids: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const declined = await pay(reference, { payment_method: 'pm_card_chargeDeclined' })
    ids.unshift((declined.json['payment'] as { id: string }).id)
    await pay(newReference())
  }
  const list = async (query: string) => {
    const { json } = await get(
      service.apiUrl,
      tenant,
      `/v1/payments?reference=${reference}&${query}`,
    )
    return { ids: (json['data'] as { id: string }[]).map(({ id }) => id), more: json['has_more'] }
  }

  expect(await list('limit=2')).toEqual({ ids: ids.slice(0, 2), more: true })
  expect(await list(`starting_after=${ids[1]}`)).toEqual({ ids: ids.slice(2), more: false })
})

describe('a tenant that requires references', () => {
  test('gets 422 without one, which leaves the key unused, and its retries of earlier requests as before', async () => {
    const owner = await service.createTenant()
    const [early, late] = [randomUUID(), randomUUID()]
    const send = (key: string, fields = {}) =>
      postPayment(service.apiUrl, owner, paymentBody(fields), { key })
    const first = await send(early)
    await changeTenant(service.store.sql, owner.id, { requires_reference: true })
    // The API forgets the API keys that it has cached.
    const refused = await until(async () => {
      const answer = await send(randomUUID())
      return answer.status !== 201 && answer
    })

    expectProblem(refused, 'reference-required')
    expectProblem(await send(late), 'reference-required')
    expect(await isKeyKnown(service, owner, late)).toBe(false)
    expect(refused.json).toMatchObject({ errors: [{ pointer: '/reference' }] })
    expectReplay(await send(early), first)
    const path = `/v1/payments/${idOf(first)}/refunds`
    expectProblem(await post(service.apiUrl, owner, path, { amount: 1 }), 'reference-required')
    expectProblem(await post(service.apiUrl, owner, path), 'reference-required')
    const reference = newReference()
    expect((await send(randomUUID(), { reference })).status).toBe(201)
    expect((await post(service.apiUrl, owner, path, { reference })).status).toBe(201)

    await changeTenant(service.store.sql, owner.id, { requires_reference: false })
    expect(await until(async () => (await send(randomUUID())).status === 201)).toBe(true)
  })

  test('does not require one of another tenant', async () => {
    const owner = await service.createTenant()
    await changeTenant(service.store.sql, owner.id, { requires_reference: true })

    const answer = await postPayment(service.apiUrl, tenant, paymentBody())
    expect(answer.status).toBe(201)
  })
})
