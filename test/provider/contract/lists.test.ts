// Tests the provider's own records, read through every adapter: each list is complete, or an error.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import { startAnsweringServer, type AnsweringServer } from './answering-server.ts'
import { authorize, portCalls } from './calls.ts'
import type { ContractStandIn } from './fixture.ts'
import { fixtures } from './fixtures.ts'
import { identityOf, refundOf } from './payments.ts'

const T0_MS = 1_800_000_000_000
const always = { from: new Date(T0_MS - 86_400_000), to: new Date(T0_MS + 86_400_000) }

async function collectPages<Record>(pages: AsyncIterable<readonly Record[]>) {
  const collected: (readonly Record[])[] = []
  for await (const page of pages) collected.push(page)
  return collected
}

async function collect<Record>(pages: AsyncIterable<readonly Record[]>): Promise<Record[]> {
  return (await collectPages(pages)).flat()
}

describe.each(fixtures)('$name', ({ adapterFor, calls, paymentOf, reads, ...fixture }) => {
  let standIn: ContractStandIn
  let adapter: PaymentProvider

  beforeAll(async () => {
    standIn = await fixture.startStandIn(() => T0_MS)
    adapter = adapterFor(standIn.url)
  })
  beforeEach(async () => standIn.reset())
  afterAll(async () => standIn.close())

  async function hold(count = 1): Promise<void> {
    for (let made = 0; made < count; made += 1) await authorize(adapter, paymentOf())
  }

  test('a payment is listed with its amount, provider status and owner', async () => {
    const payment = paymentOf()
    const identity = identityOf('started')
    await adapter.calls.authorize.execute({ payment }, identity)

    const { tenantId, id: paymentId } = payment
    expect(await collect(adapter.listPayments(always))).toMatchObject([
      {
        amountMinor: 1999,
        currency: 'eur',
        providerStatus: { status: 'held' },
        createdAt: new Date(T0_MS),
        correlation: { tenantId, paymentId, refundId: null, operationId: identity.operationId },
      },
    ])
  })

  test('a refund and its capture are listed, with their owner, as refund and as movement', async () => {
    const paid = await calls.refund.ready(adapter, standIn)
    const refund = refundOf(paid, { amountMinor: 500 })
    const identity = identityOf('started')
    const made = await adapter.calls.refund.execute({ payment: paid, refund }, identity)

    const { providerPaymentId, tenantId, id: paymentId } = paid
    const { providerRefundId } = (made as { value: { providerRefundId: string } }).value
    expect(await collect(adapter.listRefunds(always))).toMatchObject([
      {
        providerRefundId,
        providerPaymentId,
        amountMinor: 500,
        currency: 'eur',
        providerStatus: { providerRefundId },
        correlation: {
          tenantId,
          paymentId,
          refundId: refund.id,
          operationId: identity.operationId,
        },
      },
    ])
    const movements = await collect(adapter.listMovements(always))
    expect(movements.filter(({ kind }) => kind === 'capture')).toMatchObject([
      { amountMinor: 1999, currency: 'eur', providerPaymentId, correlation: { paymentId } },
    ])
  })

  test('pages are read to the end of the list, each record once', async () => {
    const { pageSize } = fixture
    await hold(2 * pageSize + 5)

    const pages = await collectPages(adapter.listPayments(always))

    expect(pages.map(({ length }) => length)).toEqual([pageSize, pageSize, 5])
    const ids = pages.flat().map(({ providerPaymentId }) => providerPaymentId)
    expect(new Set(ids).size).toBe(2 * pageSize + 5)

    // Also when one in the middle fails.
    const listed: string[] = []
    for await (const page of adapter.listPayments(always)) {
      if (listed.length === 0) await standIn.addFault({ match: reads, fault: 'unavailable' })
      listed.push(...page.map(({ providerPaymentId }) => providerPaymentId))
    }
    expect(listed).toEqual(ids)
  })

  test.each([
    ['has its beginning and not its end', 0, 20_000, [200, 100]],
    ['that begins within a second has all of it', 10_999, 20_000, [200]],
    ['that ends within a second has all of it', 5_000, 20_001, [300, 200]],
    ['with nothing in it is empty', 1_000, 10_000, []],
  ])('a window %s, newest first', async (_case, fromMs, toMs, amounts) => {
    for (const amountMinor of [100, 200, 300]) {
      await authorize(adapter, paymentOf({ amountMinor }))
      await standIn.advance(10)
    }

    const window = { from: new Date(T0_MS + fromMs), to: new Date(T0_MS + toMs) }
    const listed = await collect(adapter.listPayments(window))

    expect(listed.map((record) => record.amountMinor)).toEqual(amounts)
  })

  test('one record by its id is the same as in the list, and undefined when there is none', async () => {
    const paid = await calls.refund.ready(adapter, standIn)
    await portCalls.refund.make(adapter, paid, identityOf('started'))
    const [listed] = await collect(adapter.listPayments(always))
    const [refund] = await collect(adapter.listRefunds(always))

    expect(listed).toBeDefined()
    expect(await adapter.readPayment(listed?.providerPaymentId ?? '')).toEqual(listed)
    expect(await adapter.readRefund(refund?.providerRefundId ?? '')).toEqual(refund)
    expect(await adapter.readPayment('unknown-id')).toBeUndefined()
    expect(await adapter.readRefund('unknown-id')).toBeUndefined()
    expect(await adapter.readDispute('unknown-id')).toBeUndefined()
  })

  test.each(['rate_limited', 'unavailable', 'reset_before', 'nonsense_body'])(
    'a record that meets %s is an error, never missing',
    async (fault) => {
      const { providerPaymentId } = await authorize(adapter, paymentOf())
      await standIn.addFault({ match: reads, fault })

      await expect(adapter.readPayment(providerPaymentId ?? '')).rejects.toThrow()
    },
  )

  test.each(['rate_limited', 'unavailable', 'reset_before'])(
    'a list that fails temporarily, with %s, is read again and reported',
    async (fault) => {
      await hold()
      await standIn.addFault({ match: reads, fault, times: 2 })
      const failures: unknown[] = []

      const list = adapter.listPayments(always, (failure) => void failures.push(failure))

      expect(await collect(list)).toHaveLength(1)
      expect(failures).toHaveLength(2)
    },
  )

  test('a list that fails four times in a row throws the error', async () => {
    await standIn.addFault({ match: reads, fault: 'hang_before', times: 4 })
    let failures = 0

    const list = adapterFor(standIn.url, 100).listRefunds(always, () => void (failures += 1))

    await expect(collect(list)).rejects.toThrow('no answer in 100 ms')
    expect(failures).toBe(3)
    expect(await collect(adapter.listRefunds(always))).toEqual([])
  })

  test('a list ends at once when the callback throws', async () => {
    await standIn.addFault({ match: reads, fault: 'rate_limited' })

    const list = adapter.listPayments(always, () => {
      throw new Error('told to end')
    })

    await expect(collect(list)).rejects.toThrow('told to end')
  })

  test('a malformed answer throws, and is not read again', async () => {
    await hold()
    await standIn.addFault({ match: reads, fault: 'nonsense_body' })
    let failures = 0

    const list = adapter.listPayments(always, () => void (failures += 1))

    await expect(collect(list)).rejects.toThrow()
    expect(failures).toBe(0)
  })

  describe('at another server', () => {
    let server: AnsweringServer
    afterEach(async () => server.close())

    test.each(fixture.noPages)('%s is not a page, for any list', async (_title, listener) => {
      server = await startAnsweringServer(listener)
      const answered = adapterFor(server.url)

      await expect(collect(answered.listPayments(always))).rejects.toThrow()
      await expect(collect(answered.listRefunds(always))).rejects.toThrow()
      if (fixture.hasDisputes !== false) {
        await expect(collect(answered.listDisputes(always))).rejects.toThrow()
      }
      await expect(collect(answered.listMovements(always))).rejects.toThrow()
    })
  })
})
