// Compares both sets of books, with a real database and a real Stripe stand-in. It must find
// exactly the planted differences.
import { randomUUIDv7 } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { findRun } from '../../src/reconciliation/runs.ts'
import { showId } from '../../src/domain/resource-id.ts'
import {
  movementOfCapture,
  newMovement,
} from '../../dev/stripe-stand-in/balance/balance-transaction.ts'
import type { ApiObjects } from '../../dev/stripe-stand-in/objects.ts'
import type {
  PaymentProvider,
  ProviderPayment,
  Window,
} from '../../src/provider/payment-provider.ts'
import { carryOutRun, endRunUnlessCompleted } from '../../src/reconciliation/carry-out-run.ts'
import { idAt, metadataOf, newIntent, openBooks, window, type Booked, type Books } from './books.ts'
import { stripeOf, withProvider } from '../support/engine-doubles.ts'

let books: Books

beforeAll(async () => {
  books = await openBooks()
})

afterEach(() => books.empty())

afterAll(() => books.close())

/**
 * Differences of every kind, each on its own payment: how it is planted, and the expected finding.
 */
const planted: Readonly<Record<string, (booked: Taker) => Promise<Expected> | Expected>> = {
  'an intent that this service did not create': () => {
    const intent = newIntent('requires_capture', 500, NOON, {})
    books.theirs.objects.save(intent)
    return { kind: 'missing_here', objectId: intent.id, tenantId: null }
  },
  'an intent that names a payment which we do not have': ({ take }) => {
    const { tenantId } = take('succeeded')
    const names = { tenantId, id: randomUUIDv7(), operationId: randomUUIDv7() }
    const intent = newIntent('declined', 500, NOON, metadataOf(names))
    books.theirs.objects.save(intent)
    return { kind: 'missing_here', objectId: intent.id, tenantId }
  },
  'a payment that the provider has lost': ({ take }) => {
    const { intent, tenantId } = take('requires_capture')
    books.theirs.objects.remove(intent.id)
    return { kind: 'missing_there', objectId: intent.id, tenantId }
  },
  'another amount': ({ take }) => {
    const { intent, tenantId, amount } = take('requires_capture')
    const other = amount + 1
    alter({ ...intent, amount: other, amount_capturable: other })
    return { kind: 'amount_differs', objectId: intent.id, tenantId }
  },
  'another currency': ({ take }) => {
    const { intent, tenantId } = take('requires_capture')
    alter({ ...intent, currency: 'eur' })
    return { kind: 'currency_differs', objectId: intent.id, tenantId }
  },
  'money held for a payment that was declined here': ({ take }) => {
    const { intent, tenantId, amount } = take('declined')
    alter({ ...intent, status: 'requires_capture', amount_capturable: amount })
    return { kind: 'status_differs', objectId: intent.id, tenantId }
  },
  'a second intent that names the same operation, in another currency': ({ take }) => {
    const booked = take('succeeded')
    const intent = newIntent('requires_capture', booked.amount, booked.at, metadataOf(booked))
    books.theirs.objects.save({ ...intent, currency: 'eur' })
    return { kind: 'held_twice', objectId: intent.id, tenantId: booked.tenantId }
  },
  'a refund that the provider has lost, and with it what moved': ({ takeRefunded }) => {
    const { refund, movements, tenantId } = takeRefunded()
    books.theirs.objects.remove(refund.providerId)
    books.theirs.objects.remove(movements.refund ?? '')
    return { kind: 'missing_there', objectId: refund.providerId, tenantId }
  },
  'a refund of another amount': async ({ takeRefunded }) => {
    const { refund, tenantId } = takeRefunded()
    const theirs = books.theirs.objects.find('refund', refund.providerId)
    alter({ ...(theirs as ApiObjects['refund']), amount: 399 })
    return { kind: 'amount_differs', objectId: refund.providerId, tenantId }
  },
  'a movement of another amount than the ledger says': ({ take }) => {
    const { movements, tenantId } = take('succeeded')
    const objectId = movements.capture ?? ''
    const movement = books.theirs.objects.find('balance_transaction', objectId)
    alter({ ...(movement as ApiObjects['balance_transaction']), amount: 1 })
    return { kind: 'ledger_differs', objectId, tenantId }
  },
  'a second movement of one capture': ({ take }) => {
    const { intent, tenantId } = take('succeeded')
    // Older than the first one, so the provider lists it after the first.
    const second = movementOfCapture(intent, intent.created - 60)
    books.theirs.objects.save(second)
    return { kind: 'ledger_differs', objectId: second.id, tenantId }
  },
  'a movement that the ledger does not know': async ({ take }) => {
    const { id, movements, tenantId } = take('succeeded')
    await books.store.sql`delete from ledger_postings where payment_id = ${id}`
    return { kind: 'missing_here', objectId: movements.capture ?? '', tenantId }
  },
  'a capture in the ledger that never moved': async ({ take }) => {
    const { id, movements, tenantId } = take('succeeded')
    books.theirs.objects.remove(movements.capture ?? '')
    const [posting] = await books.store.sql<{ transaction_id: string }[]>`
        select transaction_id from ledger_postings where payment_id = ${id}
      `
    const objectId = showId('ltx', posting?.transaction_id ?? '')
    return { kind: 'missing_there', objectId, tenantId }
  },
}

const NOON = new Date('2026-03-01T12:00:00Z')

interface Expected {
  readonly kind: string
  readonly objectId: string
  readonly tenantId: string | null
}

interface Taker {
  /** An unchanged payment of this kind, without a refund. */
  readonly take: (kind: Booked['kind']) => Booked
  readonly takeRefunded: () => Booked & { refund: NonNullable<Booked['refund']> }
}

function takeFrom(booked: readonly Booked[]): Taker {
  // Starts in the middle, away from the ends of the window.
  const left = booked.slice(Math.floor(booked.length / 2))
  const takeIf = (fits: (entry: Booked) => boolean) => {
    const [taken] = left.splice(left.findIndex(fits), 1)
    if (taken === undefined) throw new Error('there are too few payments')
    return taken
  }
  return {
    take: (kind) => takeIf((entry) => entry.kind === kind && entry.refund === null),
    takeRefunded: () =>
      takeIf(({ refund }) => refund !== null) as ReturnType<Taker['takeRefunded']>,
  }
}

/** Plants a difference of every kind, and returns the findings that follow. */
async function plantAll(booked: readonly Booked[]): Promise<Expected[]> {
  const taker = takeFrom(booked)
  const expected: Expected[] = []
  for (const plant of Object.values(planted)) expected.push(await plant(taker))
  return expected
}

function alter(object: ApiObjects[keyof ApiObjects]): void {
  books.theirs.objects.save(object)
}

async function foundNow() {
  return (await books.findings()).map(({ kind, object_id, tenant_id }) => ({
    kind,
    objectId: object_id,
    tenantId: tenant_id,
  }))
}

const inOrder = (expected: readonly Expected[]) =>
  expected.toSorted((one, other) => compareText(keyOf(one), keyOf(other)))
const keyOf = ({ kind, objectId }: Expected) => `${kind} ${objectId}`
const compareText = (one: string, other: string) => (one < other ? -1 : 1)

const DAY_MS = 24 * 60 * 60 * 1_000
const nextDay = { from: window.to, to: new Date(window.to.getTime() + DAY_MS) }

/** Carries out a new run. */
const compare = async (parts = books.parts, own = window) =>
  await carryOutRun(parts, (await books.newRun(own)).id)

/** Notes the windows whose movements are listed. */
function noting(listed: Window[]): Books['parts'] {
  const provider = stripeOf(books.parts)
  const listMovements: PaymentProvider['listMovements'] = (asked) => {
    listed.push(asked)
    return provider.listMovements(asked)
  }
  return withProvider(books.parts, { ...provider, listMovements })
}

/** More of each tenant than a page has. */
const MANY = 1_600

describe('many payments', () => {
  test('finds nothing when the books agree, and every difference when they do not', async () => {
    const booked = await books.fill(MANY)

    const listed: Window[] = []

    const agreed = await compare(noting(listed))

    expect(agreed).toMatchObject({ payments: MANY, found: 0, open: 0, repaired: 0, in_motion: 0 })
    expect(agreed).toMatchObject({ refunds: MANY / 10, movements: MANY * 0.95, fees: MANY * 0.85 })
    expect(await books.findings()).toEqual([])
    // Nothing was read a second time.
    expect(listed).toHaveLength(1)

    const expected = await plantAll(booked)
    const run = await books.newRun()
    const counts = await carryOutRun(books.parts, run.id)

    expect(inOrder(await foundNow())).toEqual(inOrder(expected))
    expect(counts).toMatchObject({ found: expected.length, open: expected.length, repaired: 0 })
    // Each was posted by the first run.
    expect(counts).toMatchObject({ fees: 0 })

    const again = await compare()

    expect(again).toMatchObject({ found: 0, open: expected.length })
    expect(await foundNow()).toHaveLength(expected.length)
    expect(await findRun(books.store.sql, run.id)).toMatchObject({
      status: 'completed',
      counts: { found: expected.length },
    })
    const seen = await books.store.sql`select from reconciliation_seen`
    expect(seen.count).toBe(0)
  })
})

describe('a finding that an operator closed', () => {
  const close = () => books.store.sql`
    update reconciliation_findings
    set status = 'resolved', resolved_at = now(), resolved_by = 'ann', note = 'mended there'
  `

  /** A payment whose currency differed once. It was corrected, and its finding closed. */
  async function mended(): Promise<Booked> {
    const taken = takeFrom(await books.fill(60)).take('succeeded')
    alter({ ...taken.intent, currency: 'eur' })
    await compare()
    alter(taken.intent)
    await close()
    return taken
  }

  test('does not hide a later movement with a different amount', async () => {
    const { movements, tenantId } = await mended()
    const objectId = movements.capture ?? ''
    const movement = books.theirs.objects.find('balance_transaction', objectId)
    alter({ ...(movement as ApiObjects['balance_transaction']), amount: 1 })

    const counts = await compare()

    expect(counts).toMatchObject({ found: 1, open: 1 })
    expect(await foundNow()).toContainEqual({ kind: 'ledger_differs', objectId, tenantId })
  })

  test('does not hide that the movement is missing later', async () => {
    const { movements, tenantId } = await mended()
    books.theirs.objects.remove(movements.capture ?? '')

    const counts = await compare()

    expect(counts).toMatchObject({ found: 1, open: 1 })
    const objectId = expect.stringMatching(/^ltx_/)
    expect(await foundNow()).toContainEqual({ kind: 'missing_there', objectId, tenantId })
  })

  test('still explains the movement while the difference is the same', async () => {
    await books.fill(60)
    const intent = { ...newIntent('succeeded', 500, NOON, {}) }
    alter(intent)
    alter(movementOfCapture(intent, intent.created))
    await compare()
    await close()

    const again = await compare()

    expect(again).toMatchObject({ found: 0, open: 0 })
    expect(await foundNow()).toEqual([
      { kind: 'missing_here', objectId: intent.id, tenantId: null },
    ])
  })
})

describe('automatic repair', () => {
  test('follows a payment that was captured at the provider, without a finding', async () => {
    const booked = await books.fill(60)
    const { intent, id, amount } = takeFrom(booked).take('requires_capture')
    const captured = { ...intent, status: 'succeeded', amount_capturable: 0 } as const
    alter({ ...captured, amount_received: amount })
    alter(movementOfCapture({ ...intent, amount_received: amount }, intent.created))

    const counts = await compare()
    const again = await compare()

    expect(counts).toMatchObject({ repaired: 1, found: 0, in_motion: 1 })
    expect(again).toMatchObject({ repaired: 0, found: 0 })
    const events = await books.store.sql`
      select type, payment_id, status from provider_events
    `
    expect([...events]).toEqual([{ type: 'comparison', payment_id: id, status: 'pending' }])
    const jobs = await books.store.sql`
      select from atomic_jobs.job where name = 'provider-events' and data ->> 'eventId' = (
        select id from provider_events
      )
    `
    expect(jobs.count).toBe(1)
  })

  test('opens a finding if the usual phases could not follow', async () => {
    const booked = await books.fill(60)
    const { intent, tenantId } = takeFrom(booked).take('requires_capture')
    alter({ ...intent, status: 'canceled', amount_capturable: 0 })
    await compare()
    await books.store.sql`update provider_events set status = 'ignored', settled_at = now()`

    await compare()

    expect(await foundNow()).toEqual([{ kind: 'status_differs', objectId: intent.id, tenantId }])
  })

  test('gives an event that lost its job an hour ago one new job', async () => {
    await books.store.sql`
      insert into provider_events (provider, id, type, object_id, occurred_at, received_at)
      values
        ('stripe', 'evt_lost', 'charge.updated', 'ch_1', now(), now() - interval '2 hours'),
        ('stripe', 'evt_new', 'charge.updated', 'ch_1', now(), now())
    `

    const counts = await compare()
    const again = await compare()

    expect([counts?.requeued, again?.requeued]).toEqual([1, 0])
    const [job] = await books.store.sql`
      select data from atomic_jobs.job where name = 'provider-events'
    `
    expect(job?.['data']).toEqual({ provider: 'stripe', eventId: 'evt_lost', tenantId: null })
  })

  test('compares the intent of an event, even if it is outside of the window', async () => {
    const before = new Date(window.from.getTime() - 60 * 60 * 1_000)
    const intent = newIntent('requires_capture', 500, before, {})
    books.theirs.objects.save(intent)
    await books.store.sql`
      insert into provider_events (
        provider, id, type, object_id, provider_payment_id, status, occurred_at, received_at,
        settled_at
      )
      values (
        'stripe', 'evt_1', 'payment_intent.created', ${intent.id}, ${intent.id}, 'unmatched',
        ${NOON.toISOString()}, ${NOON.toISOString()}, now()
      )
    `

    await compare()

    expect(await foundNow()).toEqual([
      { kind: 'missing_here', objectId: intent.id, tenantId: null },
    ])
  })
})

describe('a run', () => {
  const emptyPages = async function* (): AsyncGenerator<never[]> {}

  function withPages(pages: () => AsyncIterable<ProviderPayment[]>): Books['parts'] {
    const provider: PaymentProvider = {
      ...stripeOf(books.parts),
      listPayments: pages,
      listRefunds: emptyPages,
      listMovements: emptyPages,
    }
    return withProvider(books.parts, provider)
  }

  const recordNumbered = (number: number): ProviderPayment => ({
    providerPaymentId: `pi_${number}`,
    amountMinor: 500,
    currency: 'usd',
    providerStatus: { status: 'canceled', reason: null },
    createdAt: NOON,
    correlation: null,
  })

  test('requests a page after the previous one is done, so that memory holds one page', async () => {
    const done: number[] = []
    async function* pages() {
      for (let page = 0; page < 5; page += 1) {
        const seen = await books.store.sql`
          select from reconciliation_seen where object_id like 'pi%'
        `
        done.push(seen.count)
        yield Array.from({ length: 100 }, (_, index) => recordNumbered(page * 100 + index))
      }
    }

    const counts = await compare(withPages(pages))

    expect(done).toEqual([0, 100, 200, 300, 400])
    expect(counts).toMatchObject({ payments: 500, found: 500 })
  })

  test('stores the reason when it fails, and can be restarted', async () => {
    async function* broken() {
      yield [recordNumbered(1)]
      throw new Error('the line is dead')
    }
    const run = await books.newRun()

    await expect(carryOutRun(withPages(broken), run.id)).rejects.toThrow('the line is dead')

    expect(await findRun(books.store.sql, run.id)).toMatchObject({
      status: 'failed',
      lastError: 'the line is dead',
      counts: { payments: 1, found: 1 },
    })
    const counts = await carryOutRun(books.parts, run.id)
    expect(counts).toMatchObject({ payments: 0, found: 0 })
    expect(await carryOutRun(books.parts, run.id)).toBeUndefined()
  })

  /**
   * Comparison of which the first try fails in its second list of movements; what is late was not
   * in the first list.
   */
  function failingOnce(isLate: (movementId: string) => boolean): Books['parts'] {
    const provider = stripeOf(books.parts)
    let lists = 0
    const listMovements: PaymentProvider['listMovements'] = async function* (asked) {
      lists += 1
      const list = lists
      for await (const page of provider.listMovements(asked)) {
        yield list === 1 ? page.filter(({ movementId }) => !isLate(movementId)) : page
      }
      if (list === 2) throw new Error('the line is dead')
    }
    return withProvider(books.parts, { ...provider, listMovements })
  }

  test('does not take a late movement of an earlier try for a second movement', async () => {
    const { movements } = takeFrom(await books.fill(60)).take('succeeded')
    const parts = failingOnce((id) => id === movements.capture)
    const run = await books.newRun()
    await expect(carryOutRun(parts, run.id)).rejects.toThrow('the line is dead')

    const counts = await carryOutRun(parts, run.id)

    expect(counts).toMatchObject({ found: 0, open: 0 })
    expect(await foundNow()).toEqual([])
  })

  test.each(['first', 'last'] as const)(
    'stops when another worker completes the same run, at the %s page of movements',
    async (moment) => {
      const expected = await plantAll(await books.fill(120))
      const run = await books.newRun()
      const provider = stripeOf(books.parts)
      const listMovements: PaymentProvider['listMovements'] = async function* (asked) {
        if (moment === 'first') await carryOutRun(books.parts, run.id)
        yield* provider.listMovements(asked)
        if (moment === 'last') await carryOutRun(books.parts, run.id)
      }
      const overtaken = withProvider(books.parts, { ...provider, listMovements })

      expect(await carryOutRun(overtaken, run.id)).toBeUndefined()

      expect(inOrder(await foundNow())).toEqual(inOrder(expected))
      expect(await findRun(books.store.sql, run.id)).toMatchObject({ status: 'completed' })
    },
  )

  test('finds a second movement in the next try, even if an earlier try saw both late', async () => {
    const { intent, movements, tenantId } = takeFrom(await books.fill(60)).take('succeeded')
    const second = movementOfCapture(intent, intent.created - 60)
    books.theirs.objects.save(second)
    const parts = failingOnce((id) => id === movements.capture || id === second.id)
    const run = await books.newRun()
    await expect(carryOutRun(parts, run.id)).rejects.toThrow('the line is dead')

    await carryOutRun(parts, run.id)

    const found = await foundNow()
    expect(found).toEqual([{ kind: 'ledger_differs', objectId: found[0]?.objectId, tenantId }])
    expect([movements.capture, second.id]).toContain(found[0]?.objectId)
  })

  test('reads a page again after a temporary failure, and logs it', async () => {
    await books.fill(60)
    await books.provider.addFault({ match: { method: 'GET' }, fault: 'unavailable' })
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
    const run = await books.newRun()

    const counts = await carryOutRun({ ...books.parts, log }, run.id)

    expect(counts).toMatchObject({ payments: 60, found: 0 })
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      run: run.id,
      msg: 'a read at the provider failed; it is repeated',
    })
  })

  test('reads no page again after it was told to stop', async () => {
    const ending = new AbortController()
    await books.provider.addFault({ match: { method: 'GET' }, fault: 'rate_limited', times: 2 })
    const write = () => ending.abort(new Error('told to'))
    const log = pino({ level: 'warn' }, { write })

    const carriedOut = carryOutRun({ ...books.parts, log }, (await books.newRun()).id, {
      signal: ending.signal,
    })

    await expect(carriedOut).rejects.toThrow('told to')
  })

  test('is completed by the try that ends, even if an earlier try has failed meanwhile', async () => {
    const run = await books.newRun()
    async function* pages() {
      yield [recordNumbered(1)]
      await endRunUnlessCompleted(books.store.sql, run.id, {}, 'the job was taken away')
    }

    await carryOutRun(withPages(pages), run.id)

    expect(await findRun(books.store.sql, run.id)).toMatchObject({
      status: 'completed',
      lastError: null,
    })
  })

  test('stays completed when a try that another one has overtaken fails', async () => {
    const run = await books.newRun()
    async function* broken() {
      yield* []
      await carryOutRun(books.parts, run.id)
      throw new Error('the line is dead')
    }

    await expect(carryOutRun(withPages(broken), run.id)).rejects.toThrow('the line is dead')

    expect(await findRun(books.store.sql, run.id)).toMatchObject({
      status: 'completed',
      lastError: null,
    })
  })

  test('stops between two pages', async () => {
    const ending = new AbortController()
    async function* pages() {
      yield [recordNumbered(1)]
      ending.abort(new Error('told to'))
      yield [recordNumbered(2)]
    }
    const run = await books.newRun()

    const carriedOut = carryOutRun(withPages(pages), run.id, { signal: ending.signal })

    await expect(carriedOut).rejects.toThrow('told to')
    expect(await foundNow()).toHaveLength(1)
  })

  test('stops before the next record of a page', async () => {
    const ending = new AbortController()
    const booked = await books.fill(60)
    const taker = takeFrom(booked)
    for (let times = 0; times < 3; times += 1) {
      const { intent } = taker.take('succeeded')
      alter({ ...intent, amount_received: intent.amount_received - 1 })
    }
    let reads = 0
    const provider: PaymentProvider = {
      ...stripeOf(books.parts),
      readPayment(id) {
        reads += 1
        ending.abort(new Error('told to'))
        return stripeOf(books.parts).readPayment(id)
      },
    }
    const run = await books.newRun()

    const carriedOut = carryOutRun(withProvider(books.parts, provider), run.id, {
      signal: ending.signal,
    })

    await expect(carriedOut).rejects.toThrow('told to')
    expect(reads).toBe(1)
  })

  test('opens each finding once with two concurrent runs of the same window', async () => {
    const expected = await plantAll(await books.fill(120))
    const [one, other] = [await books.newRun(), await books.newRun()]

    await Promise.all([
      carryOutRun(books.parts, one.id),
      carryOutRun(books.parts, other.id),
      carryOutRun(books.parts, other.id),
    ])

    expect(inOrder(await foundNow())).toEqual(inOrder(expected))
  })

  test('finds the movement of a surplus hold that was captured a day later', async () => {
    const booked = takeFrom(await books.fill(60)).take('succeeded')
    const intent = newIntent('requires_capture', booked.amount, booked.at, metadataOf(booked))
    const hold = { ...intent, currency: 'eur' }
    books.theirs.objects.save(hold)
    await compare()
    const capturedAt = new Date(booked.at.getTime() + DAY_MS)
    const captured = { ...hold, status: 'succeeded', amount_capturable: 0 } as const
    const movement = movementOfCapture(
      { ...captured, amount_received: booked.amount },
      Math.floor(capturedAt.getTime() / 1_000),
    )
    alter({ ...captured, amount_received: booked.amount })
    alter(movement)

    await compare(books.parts, nextDay)

    const found = await foundNow()
    expect(found.map(({ kind, objectId }) => ({ kind, objectId }))).toEqual(
      expect.arrayContaining([
        { kind: 'held_twice', objectId: hold.id },
        { kind: 'missing_here', objectId: movement.id },
      ]),
    )
  })

  test('finds what moved in its window, also for a payment of an earlier day', async () => {
    const { intent, tenantId } = takeFrom(await books.fill(60)).take('succeeded')
    const source = String(intent.latest_charge)
    const taken = { type: 'adjustment', amount: -100, currency: 'usd', source }
    const movement = newMovement(taken, nextDay.from.getTime() / 1_000)
    alter(movement)

    const ofItsDay = await compare()
    const ofTheNext = await compare(books.parts, nextDay)

    expect(ofItsDay).toMatchObject({ found: 0 })
    expect(ofTheNext).toMatchObject({ payments: 0, movements: 1, found: 1 })
    const objectId = movement.id
    expect(await foundNow()).toEqual([{ kind: 'unknown_movement', objectId, tenantId }])
  })

  test('finds the movement of a capture that was posted a day later', async () => {
    const booked = await books.fill(60)
    const { id, at } = takeFrom(booked).take('succeeded')
    const postedAt = new Date(at.getTime() + DAY_MS)
    await books.store.sql`
      update ledger_postings set id = ${idAt(postedAt)}, created_at = ${postedAt.toISOString()}
      where payment_id = ${id}
    `

    const listed: Window[] = []

    const counts = await compare(noting(listed), nextDay)

    // The fee is posted with the movement, however late that is found.
    expect(counts).toMatchObject({ found: 0, fees: 1 })
    expect(listed).toHaveLength(2)
  })
})
