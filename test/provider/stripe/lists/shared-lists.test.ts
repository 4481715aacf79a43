// Tests that lookups share lists, and that a shared list proves to each of them what a list of its
// own would: no lookup is answered from a list that began before it.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Payment } from '../../../../src/domain/payments/payment.ts'
import type { PaymentProvider } from '../../../../src/provider/payment-provider.ts'
import type { Json } from '../../../../src/provider/provider-text.ts'
import {
  shareLists,
  type CreatedWithin,
} from '../../../../src/provider/stripe/lists/shared-lists.ts'
import {
  payment as paying,
  startProvider,
  type RunningProvider,
} from '../../../dev/stripe-stand-in/running-provider.ts'
import { until } from '../../../support/until.ts'
import { adapterFor, identityOf, paymentOf, criteriaOf } from '../adapter-calls.ts'

const T0_MS = 1_800_000_000_000
const DAY_MS = 86_400_000

describe('at the stand-in', () => {
  let provider: RunningProvider
  let adapter: PaymentProvider
  let nowMs: number

  beforeAll(async () => {
    provider = await startProvider({ systemNow: () => nowMs })
    adapter = adapterFor(provider.url)
  })
  beforeEach(async () => {
    nowMs = T0_MS
    await provider.control('POST', '/reset')
  })
  afterAll(async () => provider.close())

  interface Lost {
    readonly payment: Payment
    readonly identity: ReturnType<typeof identityOf>
    readonly calledAtMs: number
  }

  /** A call whose answer was lost, and that the provider has executed or not. */
  async function lose(wasExecuted: boolean): Promise<Lost> {
    const payment = paymentOf()
    const identity = identityOf('started')
    if (wasExecuted) await adapter.calls.authorize.execute({ payment }, identity)
    return { payment, identity, calledAtMs: nowMs }
  }

  const find = ({ payment, identity, calledAtMs }: Lost) =>
    adapter.calls.authorize.find({ payment }, criteriaOf(identity, calledAtMs))

  const isList = { method: 'GET', path: '/v1/payment_intents' }

  /** Counts the pages that are read from now on: a rule counts each request that it matches. */
  async function countPages(): Promise<() => Promise<number | undefined>> {
    await provider.addFault({ match: { ...isList, nth: 1_000_000 }, fault: 'delay' })
    return async () => {
      const { data } = await provider.control<{ data: { matched: number }[] }>('GET', '/faults')
      return data[0]?.matched
    }
  }

  test('windows that are far apart are listed apart', async () => {
    const lost = [await lose(true)]
    nowMs += DAY_MS
    await provider.stripe.paymentIntents.create(paying())
    nowMs += DAY_MS
    lost.push(await lose(false))
    const pages = await countPages()

    const found = await Promise.all(lost.map(find))

    expect(found).toMatchObject([
      { outcome: 'done', answered: { listed: 1 } },
      { outcome: 'not_executed', answered: { listed: 0 } },
    ])
    expect(await pages()).toBe(2)
  })

  test('a list that is not read to its end proves nothing to any of them', async () => {
    const lost = [await lose(true), await lose(false)]
    for (let made = 0; made < 100; made += 1) await provider.stripe.paymentIntents.create(paying())
    await provider.addFault({ match: { ...isList, nth: 2 }, fault: 'unavailable' })

    const found = await Promise.all(lost.map(find))

    const notLooked = { outcome: 'unknown', answered: { looked: false, listed: 100 } }
    expect(found).toMatchObject([notLooked, notLooked])
  })
})

describe('shareLists', () => {
  const WINDOW = { from: 100, to: 200 }

  /** Lists whose single page is what exists when the list begins, and that wait for `release`. */
  function listsOf(objects: readonly Json[]) {
    const begun: CreatedWithin[] = []
    const released = Promise.withResolvers<void>()
    const read = shareLists(async function* (within) {
      const page = [...objects]
      begun.push(within)
      await released.promise
      yield page
    })
    return { read, begun, release: () => released.resolve() }
  }

  const isNamed = (id: string) => (object: Json) => object['id'] === id

  const untilBegun = async (begun: readonly unknown[], count: number) => {
    await until(() => begun.length >= count)
  }

  test('answers no lookup from a list that began before it', async () => {
    const objects: Json[] = []
    const { read, begun, release } = listsOf(objects)
    const early = read(WINDOW, isNamed('pi_late'))
    await untilBegun(begun, 1)
    objects.push({ id: 'pi_late' })

    const late = read(WINDOW, isNamed('pi_late'))
    await untilBegun(begun, 2)
    release()

    expect(await early).toMatchObject({ found: [], listed: 0 })
    expect(await late).toMatchObject({ found: [{ id: 'pi_late' }], listed: 1 })
  })

  test('lists one window that covers those that overlap or touch', async () => {
    const { read, begun, release } = listsOf([])
    release()

    const readings = await Promise.all(
      [
        { from: 300, to: 400 },
        { from: 200, to: 250 },
        { from: 100, to: 200 },
        { from: 251, to: 260 },
        { from: 120, to: 130 },
      ].map((within) => read(within, isNamed('pi_1'))),
    )

    expect(begun).toEqual([
      { from: 100, to: 250 },
      { from: 251, to: 260 },
      { from: 300, to: 400 },
    ])
    expect(readings.map(({ within }) => within)).toEqual([
      { from: 300, to: 400 },
      { from: 100, to: 250 },
      { from: 100, to: 250 },
      { from: 251, to: 260 },
      { from: 100, to: 250 },
    ])
  })

  test('lengthens no window by more than an hour', async () => {
    const { read, begun, release } = listsOf([])
    release()
    const day = { from: 0, to: 86_400 }
    const short = { from: 80_000, to: 80_700 }
    const near = { from: 80_600, to: 84_000 }
    const tooFar = { from: 83_000, to: 84_600 }

    const readings = await Promise.all(
      [day, short, near, tooFar].map((within) => read(within, isNamed('pi_1'))),
    )

    expect(begun).toEqual([day, { from: 80_000, to: 84_000 }, tooFar])
    expect(readings.map(({ within }) => within)).toEqual([
      day,
      { from: 80_000, to: 84_000 },
      { from: 80_000, to: 84_000 },
      tooFar,
    ])
  })
})
