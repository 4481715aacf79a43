// Tests that the outcome resolver reads one list for all unknown outcomes of a window: Stripe limits
// reads, and recovery must not cost unknown operations times pages.
// https://docs.stripe.com/rate-limits
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { runOperation } from '../../src/engine/run-phases.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { payment as paying } from '../dev/stripe-stand-in/running-provider.ts'
import { withoutRetries } from '../support/engine-doubles.ts'
import { startTestEngine, type Accepted, type TestEngine } from '../support/engine.ts'

let t: TestEngine

beforeAll(async () => {
  t = await startTestEngine()
})
afterAll(() => t.stop())

async function madeUnknown(fault: string): Promise<Accepted> {
  const ref = await t.accept()
  const match = { method: 'POST', path: '/v1/payment_intents' }
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
