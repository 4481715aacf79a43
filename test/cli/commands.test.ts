// The commands of `npm run atomic`, as processes, on a real API with operations in each state.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { showId } from '../../src/domain/resource-id.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { makeDelivery, makeEndpoint } from '../http/webhooks/operators/tenant-webhooks.ts'
import {
  makeAbandoned,
  makeCompleted,
  makeFailed,
  makeUnknown,
  OPERATORS,
  runUnderFault,
  shownId,
  startAdminApi,
  type AdminApi,
} from '../support/admin.ts'
import type { Accepted } from '../support/engine.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { until } from '../support/until.ts'
import { atomic, CONTROL } from './atomic.ts'

let api: AdminApi

beforeAll(async () => {
  api = await startAdminApi()
})

afterAll(async () => {
  await expectLedgerBalanced(api.t.engine.store)
  await api.stop()
})

const run = (...args: string[]) => atomic(api.url, args)

/** Runs with --json, and reads the only line. */
async function readJson(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout } = await run(...args, '--json')
  expect(code).toBe(0)
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  return JSON.parse(stdout)
}

describe('unknown', () => {
  test('lists operations with their age and what a resume would do', async () => {
    const ref = await makeUnknown(api)
    const failed = await makeFailed(api)

    const { code, stdout } = await run('unknown')

    expect(code).toBe(0)
    expect(stdout).toContain(`${shownId(ref)}  payment.create  tenant tnt_`)
    expect(stdout).toMatch(/unknown for [\d.]+ s, since \d{4}-\d\d-\d\dT[\d:.]+Z/)
    expect(stdout).toContain('resume would look_up: It looks up the outcome at the provider')
    expect(stdout).not.toContain(shownId(failed))
  })

  test('lists those of one tenant', async () => {
    const ref = await makeUnknown(api)
    const tenant = showId('tnt', api.t.tenantId)

    const own = await readJson('unknown', '--tenant', tenant)
    const others = await readJson('unknown', '--tenant', 'tnt_01k9zq4s5tfexbgc1m6v8w2d3h')

    expect(own['data']).toContainEqual(expect.objectContaining({ id: shownId(ref), tenant }))
    expect(others).toEqual({ object: 'list', data: [], has_more: false })
  })
})

describe('explain', () => {
  test('shows attempts, provider calls and recovery points of an operation', async () => {
    const ref = await makeCompleted(api)

    const { code, stdout } = await run('explain', shownId(ref))

    expect(code).toBe(0)
    expect(stdout).toContain(`${shownId(ref)}  payment.create  completed`)
    expect(stdout).toMatch(/Z {2}accepted\n/)
    expect(stdout).toMatch(/\+[\d.]+ s {2}\w+: attempt 1, lease epoch 1, took/)
    expect(stdout).toMatch(/provider call of \d+\.\d\d USD: done/)
    expect(stdout).toMatch(/asked {4}\{.*\n +answered \{.*"payment_id":"pi_/)
    expect(stdout).toMatch(/\n {6}recovery point \w+/)
    expect(stdout).toContain('What happens next: It is completed.')
  })

  test.each([
    ['jpy', 500, '500 JPY'],
    ['kwd', 1_230, '1.230 KWD'],
  ])('places the decimal point of %s', async (currency, amountMinor, shown) => {
    const ref = await api.t.accept({ currency, amountMinor })
    await runUnderFault(api, ref, 'nonsense_body')

    expect((await run('explain', shownId(ref))).stdout).toContain(`call of ${shown}: unknown`)
  })

  test('finds operations by payment, key and UUID, the oldest first', async () => {
    const ref = await makeCompleted(api)
    const refund = await api.t.acceptRefund(ref)
    await api.t.engine.store.sql`update idempotency_keys set key = 'order 7' where id = ${ref.id}`
    const idsOf = async (subject: string) => {
      const { operations } = await readJson('explain', subject)
      return (operations as { id: string }[]).map(({ id }) => id)
    }

    expect(await idsOf(showPaymentId(ref.paymentId))).toEqual([shownId(ref), shownId(refund)])
    expect(await idsOf('order 7')).toEqual([shownId(ref)])
    expect(await idsOf(refund.id)).toEqual([shownId(refund)])
    // Its key in these tests is another one now.
    expect(await idsOf(ref.id)).toEqual([shownId(ref)])
  })

  test('says when nothing has the key', async () => {
    const { code, stdout, stderr } = await run('explain', 'order-never-made')

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe('No operation has this idempotency key or payment.\n')
  })

  test.each([
    ['an unknown outcome', makeUnknown, /service looks it up at the provider at .*resume op_/],
    ['a failed operation', makeFailed, /runs again when its client retries .*resume op_/],
    ['a lost worker', makeAbandoned, /lease 1 expired at .*Z\. .*resume op_/],
    ['a waiting one', async ({ t }: AdminApi) => await t.accept(), /waits in the queue/],
  ])('says what happens next to %s', async (_, make, expected) => {
    const { stdout } = await run('explain', shownId(await make(api)))

    expect(stdout).toMatch(expected)
  })

  test('strips controls from what clients and the provider sent', async () => {
    const evil = '\u001b]0;owned\u0007\u001b[31mred\u009b2J\r\nFAKE  op_1 completed\u202e'
    const ref = await api.t.accept({ description: evil, metadata: { '\u009b1A': evil } })
    await runUnderFault(api, ref, 'nonsense_body')
    await api.t.engine.store.sql`
      update idempotency_keys set last_error = ${evil} where id = ${ref.id}
    `

    const { stdout } = await run('explain', shownId(ref))
    const json = await run('explain', shownId(ref), '--json')

    expect(stdout).not.toMatch(CONTROL)
    expect(stdout).not.toMatch(/^FAKE/m)
    expect(stdout).toContain('last error: redFAKE  op_1 completed')
    expect(json.stdout).not.toMatch(CONTROL)
    const { operations } = JSON.parse(json.stdout)
    expect(operations).toMatchObject([{ last_error: evil }])
  })
})

describe('resume', () => {
  test('resumes an operation', async () => {
    const ref = await makeFailed(api)

    const { code, stdout } = await run('resume', shownId(ref))

    expect(code).toBe(0)
    expect(stdout).toContain(`${shownId(ref)} is resumed: pending`)
    expect(await api.trailOf(shownId(ref))).toMatchObject([
      { actor: 'alice', action: 'operation.resume' },
    ])
  })

  test('shows title, detail and link of a refusal', async () => {
    const ref = await makeCompleted(api)

    const { code, stdout, stderr } = await run('resume', shownId(ref))
    const json = await run('resume', shownId(ref), '--json')

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^The service refused: \S.*\n\S.*\n/)
    expect(stderr).toContain(`${api.url}/problems/nothing-to-resume\n`)
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stderr)).toMatchObject({
      object: 'error',
      status: 409,
      problem: { type: '/problems/nothing-to-resume' },
    })
  })
})

describe('resolve', () => {
  /** Looks at the provider, as a worker would, until the command has ended. */
  async function whileWorkerLooks<Value>(work: Promise<Value>): Promise<Value> {
    let ended = false
    const end = work.finally(() => (ended = true))
    await until(async () => {
      await resolveDue(api.t.engine)
      return ended
    })
    return await end
  }

  const providerIdOf = async ({ paymentId }: Accepted) => {
    const executed = await api.t.provider.executed()
    const shown = showPaymentId(paymentId)
    return executed.find(({ metadata }) => metadata['atomic_payment'] === shown)?.id ?? ''
  }

  test('prints the verdict of the look-up', async () => {
    const url = await api.serve({ WAIT_MAX_SECONDS: '20' })
    const ref = await makeUnknown(api)
    const args = ['resolve', shownId(ref), '--provider-id', await providerIdOf(ref)]

    const { code, stdout } = await whileWorkerLooks(atomic(url, args))

    expect(code).toBe(0)
    expect(stdout).toMatch(/claim act_\w+ of alice at .*"provider_id":"pi_/)
    expect(stdout).toContain('verdict: verified (it happened)')
  })

  test('shows a claim that the provider contradicts as a refusal', async () => {
    const url = await api.serve({ WAIT_MAX_SECONDS: '20' })
    const ref = await makeUnknown(api)
    const args = ['resolve', shownId(ref), '--did-not-happen', 'not in the dashboard, ticket 7']

    const { code, stderr } = await whileWorkerLooks(atomic(url, args))

    expect(code).toBe(1)
    expect(stderr).toContain('The look-up at the provider: ')
    expect(stderr).toContain('/problems/resolution-contradicted')
  })

  test('prints the proposal that a second operator has to confirm', async () => {
    const ref = await makeUnknown(api)
    const proof = ['--did-not-happen', 'not in the dashboard, ticket 7', '--unverified']
    const args = ['resolve', shownId(ref), ...proof]

    const proposal = await run(...args)
    const again = await run(...args)
    const confirmed = await atomic(api.url, [...args, '--json'], {
      ATOMIC_ADMIN_KEY: OPERATORS.bob,
    })

    expect(proposal.code).toBe(0)
    expect(proposal.stdout).toContain(`${shownId(ref)}: alice proposed {"outcome"`)
    expect(proposal.stdout).toContain('Another operator must send the same body within')
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('/problems/second-operator-needed')
    expect(confirmed.code).toBe(0)
    expect(JSON.parse(confirmed.stdout)).toMatchObject({
      resolution: { proposed_by: 'alice', claimed_by: 'bob' },
    })
    const shown = await run('explain', shownId(ref))
    expect(shown.stdout).toMatch(/claim act_\w+ of alice and bob at/)
    await resolveDue(api.t.engine)
  })

  test.each([
    ['no claim', []],
    ['both claims', ['--provider-id', 'pi_1', '--did-not-happen', 'ticket 4711']],
    ['a note without an id', ['--did-not-happen', 'ticket 4711', '--note', 'seen']],
    ['an unverified id', ['--provider-id', 'pi_1', '--unverified']],
  ])('refuses %s', async (_, args) => {
    expect((await run('resolve', 'op_1', ...args)).code).toBe(2)
  })
})

describe('replay', () => {
  test('sends failed webhooks again', async () => {
    const { sql } = api.t.engine.store
    const endpoint = await makeEndpoint(sql, api.t.tenantId)
    await makeDelivery(sql, endpoint)
    const since = new Date(Date.now() - 3_600_000).toISOString()

    const { code, stdout } = await run('replay', endpoint.id, '--since', since)
    const json = await readJson('replay', endpoint.id, '--since', since)

    expect(code).toBe(0)
    expect(stdout).toBe(
      `${endpoint.id} of ${endpoint.tenant}: 1 deliveries since ${since} are pending again.\n`,
    )
    expect(json).toMatchObject({ object: 'webhook_replay', deliveries: 0 })
  })

  test.each([[], ['--since', 'yesterday'], ['--since', '2026-01-31T12:00:00']])(
    'refuses a time without its zone: %s %s',
    async (...args) => {
      expect((await run('replay', 'we_1', ...args.filter((arg) => arg !== undefined))).code).toBe(2)
    },
  )
})
