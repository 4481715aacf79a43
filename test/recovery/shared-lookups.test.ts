// Tests that the outcome resolver reads one list for all unknown outcomes of a window: Stripe limits
// reads, and recovery must not cost unknown operations times pages.
// https://docs.stripe.com/rate-limits
import { expect, test } from '@jest/globals'
import { runOperation } from '../../src/engine/run-phases.ts'
import { createStripeProvider } from '../../src/provider/stripe/stripe-provider.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { payment as paying } from '../dev/stripe-stand-in/running-provider.ts'
import { withoutRetries, withProvider } from '../support/engine-doubles.ts'
import type { Accepted } from '../support/engine.ts'
import { t } from '../support/own-engine.ts'

async function madeUnknown(fault: string, path = '/v1/payment_intents'): Promise<Accepted> {
  const ref = await t.accept()
  const match = { method: 'POST', path }
  await t.provider.addFault({ match, fault, times: 3 })
  await runOperation(withoutRetries(t.engine), ref)
  await t.provider.control('DELETE', '/faults')
  await t.letTimePass(ref, 60)
  return ref
}

test('ten unknown payments among 233 intents read 3 pages, and each gets its own outcome', async () => {
  const executed: Accepted[] = []
  const absent: Accepted[] = []
  for (let made = 0; made < 5; made += 1) {
    executed.push(await madeUnknown('nonsense_body'))
    absent.push(await madeUnknown('unavailable'))
  }
  for (let made = 5; made < 233; made += 1) await t.provider.stripe.paymentIntents.create(paying())
  const isList = { method: 'GET', path: '/v1/payment_intents' }
  await t.provider.addFault({ match: { ...isList, nth: 1_000_000 }, fault: 'delay' })

  expect(await resolveDue(t.engine)).toMatchObject({ settled: 5, absent: 5, unclear: 0 })

  const { data } = await t.provider.control<{ data: object[] }>('GET', '/faults')
  expect(data).toMatchObject([{ matched: 3 }])
  for (const ref of executed) expect(await t.readKey(ref)).toMatchObject({ status: 'completed' })
  for (const ref of absent) {
    expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable' })
  }
})

test('a look-up that finds no turn is postponed, and costs the operation no check', async () => {
  const refs = [
    await madeUnknown('nonsense_body', '/v1/payment_intents/*/capture'),
    await madeUnknown('nonsense_body', '/v1/payment_intents/*/capture'),
  ]
  // The second read would have to wait for a second, and a look-up waits for half of its time limit.
  const provider = createStripeProvider({
    secretKey: 'sk_test_mock',
    apiBase: t.provider.url,
    timeoutMs: 1_500,
    readsPerSecond: 1,
  })

  const counts = await resolveDue(withProvider(t.engine, provider))

  expect(counts).toMatchObject({ settled: 1, postponed: 1, unclear: 0, found: 0 })
  const rows = await t.engine.store.sql`
    select checked_at, next_check_at > now() and next_check_at < now() + interval '6 s' as is_soon
    from idempotency_keys where status = 'unknown'
  `
  expect(rows).toEqual([{ checked_at: null, is_soon: true }])
  for (const ref of refs) await t.letTimePass(ref, 10)
  expect(await resolveDue(t.engine)).toMatchObject({ settled: 1, postponed: 0 })
})

test('a look-up that the provider refuses is made, and costs a check', async () => {
  const ref = await madeUnknown('nonsense_body', '/v1/payment_intents/*/capture')
  const { providerPaymentId } = await t.readPayment(ref)
  await t.provider.control('DELETE', `/objects/${providerPaymentId ?? ''}`)

  expect(await resolveDue(t.engine)).toMatchObject({ unclear: 1, postponed: 0 })

  const { checked_at } = await t.readKey(ref)
  expect(checked_at).not.toBeNull()
})
