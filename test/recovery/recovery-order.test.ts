// Tests recovery after a worker crashed when the provider had executed its call. No matter who acts
// first (the sweeper, the client's retry, the provider's event or the outcome resolver, two of them
// concurrently), there is one charge, and everyone gets the same answer. While the provider
// remembers its keys the call is repeated; afterwards it is looked up.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { storeProviderEvent } from '../../src/db/events/provider-events.ts'
import { applyProviderEvent } from '../../src/operations/apply-provider-event.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { sweep } from '../../src/recovery/sweeper.ts'
import { postPayment, type ApiResponse } from '../support/client.ts'
import { dieAt } from '../support/engine-doubles.ts'
import type { Accepted, TestEngine } from '../support/engine.ts'
import { adminApi } from '../support/for-file.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import type { Tenant } from '../support/service.ts'
import { eventAbout } from '../operations/follow-payment/provider-events.ts'

const api = adminApi()
let t: TestEngine
let tenant: Tenant

beforeAll(() => {
  t = api.t
  tenant = { id: t.tenantId, apiKey: t.apiKey }
})

afterEach(() => t.provider.control('POST', '/reset'))

afterEach(() => expectLedgerBalanced(t.engine.store))

const async = { headers: { prefer: 'respond-async' } }

interface Dead extends Accepted {
  readonly key: string
}

const kinds = { started: 'payment_intent.create', authorized: 'payment_intent.capture' } as const

type Point = keyof typeof kinds

async function accept(): Promise<Dead> {
  const key = randomUUID()
  const accepted = await postPayment(api.url, tenant, undefined, { key, ...async })
  expect(accepted.status).toBe(202)
  return { ...(await t.findOperation({ key })), key }
}

/** A payment whose worker crashed after the provider executed the call from this recovery point. */
async function dieAfterExecuting(point: Point): Promise<Dead> {
  const ref = await accept()
  await dieAt(t, ref, point)
  expect(await executed(ref, kinds[point])).toHaveLength(1)
  return ref
}

const executed = async (ref: Dead, kind: string) =>
  (await t.executedFor(ref)).filter((call) => call.kind === kind)

const times = {
  'inside the provider’s memory': async (ref: Dead) => t.expireLease(ref),
  'past the provider’s memory': async (ref: Dead) => {
    const seconds = t.engine.settings.PROVIDER_KEY_WINDOW_SECONDS + 60
    await t.letTimePass(ref, seconds)
    for (const { id } of await executed(ref, kinds.started)) {
      const { created } = await t.provider.stripe.paymentIntents.retrieve(id)
      await t.provider.control('POST', `/objects/${id}`, { created: created - seconds })
    }
    // From now on a repeated call would charge again.
    await t.provider.control('POST', '/idempotency', { mode: 'forget' })
  },
}

type Actor = (ref: Dead) => Promise<unknown>

const actors: Record<string, Actor> = {
  sweeper: () => sweep(t.engine),
  'client retry': ({ key }) => postPayment(api.url, tenant, undefined, { key, ...async }),
  webhook: async ({ tenantId, paymentId }) => {
    const [made] = await t.executedFor({ paymentId })
    const named = { tenantId, id: paymentId, providerPaymentId: made?.id ?? '' }
    const event = eventAbout(named, { id: `evt_${paymentId.replaceAll('-', '')}` })
    await storeProviderEvent(t.engine.store.sql, event)
    return await applyProviderEvent(t.engine, event)
  },
  resolver: () => resolveDue(t.engine),
}

const names = Object.keys(actors)
const pairs = names.flatMap((one, index) =>
  names.slice(index).map((other) => [one, other] as const),
)

/** Runs all actors, including the worker, until the operation is completed. */
async function runUntilCompleted(ref: Dead): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    await sweep(t.engine)
    await runOperation(t.engine, ref)
    await resolveDue(t.engine)
    if ((await t.readKey(ref))['status'] === 'completed') return
    await t.letTimePass(ref, 5)
  }
  throw new Error('the operation is never completed')
}

/** An answer without the members that differ for each payment. */
const sayingOf = ({ json, status }: ApiResponse) => ({
  status,
  saying: { ...json, id: null, created_at: null, capture_before: null, provider: null },
})

let undisturbed: ApiResponse

beforeAll(async () => {
  const ref = await accept()
  expect(await runOperation(t.engine, ref)).toBe('finished')
  undisturbed = await postPayment(api.url, tenant, undefined, { key: ref.key })
})

describe.each(Object.keys(kinds) as Point[])(
  'a worker that crashed in the phase from %s',
  (point) => {
    describe.each(Object.entries(times))('%s', (_when, passTime) => {
      test.each(pairs)('first the %s and %s', async (...order) => {
        const ref = await dieAfterExecuting(point)
        await passTime(ref)

        await Promise.all(order.map(async (name) => await actors[name]?.(ref)))
        await runUntilCompleted(ref)

        expect(await executed(ref, 'payment_intent.create')).toHaveLength(1)
        expect(await executed(ref, 'payment_intent.capture')).toHaveLength(1)
        const retries = await Promise.all(
          [1, 2].map(() => postPayment(api.url, tenant, undefined, { key: ref.key })),
        )
        expect(new Set(retries.map(({ text }) => text)).size).toBe(1)
        const [answer] = retries
        expect(answer && sayingOf(answer)).toEqual(sayingOf(undisturbed))
      })
    })
  },
)
