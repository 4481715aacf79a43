// The commands of `npm run atomic` on a real API with operations in each state.
import { afterEach, describe, expect, test } from '@jest/globals'
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { parseId, showId } from '../../src/domain/resource-id.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
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
  whileLookedUp,
  type AdminApi,
} from '../support/admin.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { atomic, CONTROL } from './atomic.ts'
import { adminApi } from '../support/for-file.ts'

const api = adminApi()

afterEach(() => expectLedgerBalanced(api.t.engine.store))

const run = (...args: string[]) => atomic(api.url, args)

const sql = () => api.t.engine.store.sql

/** Joins the lines that were broken after 80 columns: they are indented by 4 more. */
function unwrapped(text: string): string {
  const [first = '', ...others] = text.split('\n')
  return others.reduce((joined, line) => {
    const indent = indentOf(joined.slice(joined.lastIndexOf('\n') + 1))
    return line !== '' && indentOf(line) === indent + 4
      ? `${joined} ${line.trimStart()}`
      : `${joined}\n${line}`
  }, first)
}

const indentOf = (line: string): number => line.search(/\S|$/)

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
    expect(unwrapped(stdout)).toContain(`${shownId(ref)}  payment.create  tenant tnt_`)
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
  test('shows the whole life of a payment in 80 columns', async () => {
    const endpoint = await makeEndpoint(sql(), api.t.tenantId)
    const ref = await makeCompleted(api)
    await sql()`
      insert into key_replays (
        tenant_id, operation_id, replays, conflicts, mismatches, first_at, last_at
      )
      values (${ref.tenantId}, ${ref.id}, 3, 1, 2, now(), now())
    `
    await sql()`
      insert into webhook_attempts (
        tenant_id, id, delivery_id, number, started_at, latency_ms, http_status
      )
      select tenant_id, gen_random_uuid(), id, 1, now(), 12, 500
      from webhook_deliveries where endpoint_id = ${parseId('we', endpoint.id) ?? ''}
    `

    const { code, stdout } = await run('explain', shownId(ref))

    expect(code).toBe(0)
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    const text = unwrapped(stdout)
    expect(text).toContain(`${shownId(ref)}  payment.create  completed`)
    expect(text).toContain('; used again: replayed 3, refused in progress 1, for another request 2')
    expect(text).toMatch(/Z {2}\+0\.000 s {2}request: payment.create\n/)
    expect(text).toMatch(/wait: waits for a worker, took [\d.]+ s\n/)
    expect(text).toMatch(/work: \w+, a call: done, took .*\n +attempt 1, lease epoch 1\n/)
    expect(text).toMatch(/provider call of \d+\.\d\d USD: done/)
    expect(text).toMatch(/asked \w+: .*\n +answered .*payment_id: "pi_/)
    expect(text).toMatch(/\n {4}recovery point \w+/)
    expect(text).toMatch(/event: payment.succeeded\n {4}evt_/)
    expect(text).toMatch(
      /webhook: payment.succeeded: 500, took 0.012 s\n {4}attempt 1 of \w+ to we_/,
    )
    expect(text).toMatch(/payment.succeeded to we_\w+: pending/)
    expect(text).toMatch(/ledger: capture\n {4}.*merchant_payable -?\d+\.\d\d USD/)
    expect(text).toContain('What happens next: It is completed.')
  })

  test('shows a takeover, and says what has more', async () => {
    const ref = await makeAbandoned(api)
    expect(await runOperation(api.t.engine, ref)).toBe('finished')
    await sql()`
      insert into phase_runs (
        tenant_id, id, payment_id, operation_id, operation, phase, attempt, lease_epoch, started_at
      )
      select tenant_id, gen_random_uuid(), payment_id, operation_id, operation, 'started', number, 9,
        now() + interval '1 hour'
      from (select * from phase_runs where payment_id = ${ref.paymentId} limit 1) as run
      cross join generate_series(1, 100) as number
    `

    const { stdout } = await run('explain', showPaymentId(ref.paymentId))

    expect(unwrapped(stdout)).toMatch(/takeover: another worker takes over, lease epoch 2/)
    expect(stdout).toContain('Only the beginning is shown: there are more runs.')
  })

  test.each([
    ['jpy', 500, '500 JPY'],
    ['kwd', 1_230, '1.230 KWD'],
  ])('places the decimal point of %s', async (currency, amountMinor, shown) => {
    const ref = await api.t.accept({ currency, amountMinor })
    await runUnderFault(api, ref, 'nonsense_body')

    const { stdout } = await run('explain', shownId(ref))
    expect(stdout).toContain(`call of ${shown}: unknown`)
  })

  test('finds a payment by its id, its keys, operations and their UUIDs', async () => {
    const ref = await makeCompleted(api)
    const refund = await api.t.acceptRefund(ref)
    await sql()`update idempotency_keys set key = 'order 7' where id = ${ref.id}`
    const payment = showPaymentId(ref.paymentId)

    // The key of the payment in these tests is its UUID; it is another one now.
    for (const subject of [payment, 'order 7', refund.id, shownId(refund), ref.id]) {
      expect(await readJson('explain', subject)).toMatchObject({
        object: 'explanation',
        payments: [
          {
            id: payment,
            life: { operations: [{ id: shownId(ref) }, { id: shownId(refund) }] },
            next: { [shownId(refund)]: expect.stringContaining('It waits in the queue') },
          },
        ],
        has_more: false,
      })
    }
  })

  test('says when nothing has the key', async () => {
    const { code, stdout, stderr } = await run('explain', 'order-never-made')

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe('No payment has this idempotency key.\n')
  })

  test.each([
    showPaymentId('01890a5d-ac96-774b-bcce-b302099a8057'),
    showId('op', '01890a5d-ac96-774b-bcce-b302099a8057'),
  ])('refuses %s, which nothing has', async (id) => {
    const { code, stdout, stderr } = await run('explain', id)

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('/problems/resource-not-found\n')
  })

  test.each([
    ['an unknown outcome', makeUnknown, /service looks it up at the provider at .*resume op_/],
    ['a failed operation', makeFailed, /runs again when its client retries .*resume op_/],
    ['a lost worker', makeAbandoned, /lease 1 expired at .*Z\. .*resume op_/],
    ['a waiting one', async ({ t }: AdminApi) => await t.accept(), /waits in the queue/],
  ])('says what happens next to %s', async (_, make, expected) => {
    const { stdout } = await run('explain', shownId(await make(api)))

    expect(unwrapped(stdout)).toMatch(expected)
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
    const { payments } = JSON.parse(json.stdout)
    expect(payments).toMatchObject([{ life: { operations: [{ last_error: evil }] } }])
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
  test('prints the verdict of the lookup', async () => {
    const url = await api.serve({ WAIT_MAX_SECONDS: '20' })
    const ref = await makeUnknown(api)
    const args = [
      'resolve',
      shownId(ref),
      '--provider-id',
      (await api.t.executedFor(ref))[0]?.id ?? '',
    ]

    const { code, stdout } = await whileLookedUp(api, atomic(url, args))

    expect(code).toBe(0)
    expect(unwrapped(stdout)).toMatch(/claim act_\w+ of alice at .*"provider_id":"pi_/)
    expect(stdout).toContain('verdict: verified (it happened)')
  })

  test('shows a claim that the provider contradicts as a refusal', async () => {
    const url = await api.serve({ WAIT_MAX_SECONDS: '20' })
    const ref = await makeUnknown(api)
    const args = ['resolve', shownId(ref), '--did-not-happen', 'not in the dashboard, ticket 7']

    const { code, stderr } = await whileLookedUp(api, atomic(url, args))

    expect(code).toBe(1)
    expect(stderr).toContain('The lookup at the provider: ')
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
    expect(unwrapped(proposal.stdout)).toContain(`${shownId(ref)}: alice proposed {"outcome"`)
    expect(proposal.stdout).toContain('Another operator must send the same body within')
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('/problems/second-operator-needed')
    expect(confirmed.code).toBe(0)
    expect(JSON.parse(confirmed.stdout)).toMatchObject({
      resolution: { proposed_by: 'alice', claimed_by: 'bob' },
    })
    for (const subject of [shownId(ref), showPaymentId(ref.paymentId)]) {
      const { stdout } = await run('explain', subject)
      expect(stdout).toMatch(/claim act_\w+ of alice and bob at/)
      expect(await readJson('explain', subject)).toMatchObject({
        payments: [{ resolutions: { [shownId(ref)]: { proposed_by: 'alice' } } }],
      })
    }
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
    const endpoint = await makeEndpoint(sql(), api.t.tenantId)
    await makeDelivery(sql(), endpoint)
    const since = new Date(Date.now() - 3_600_000).toISOString()

    const { code, stdout } = await run('replay', endpoint.id, '--since', since)
    const json = await readJson('replay', endpoint.id, '--since', since)

    expect(code).toBe(0)
    expect(unwrapped(stdout)).toBe(
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
