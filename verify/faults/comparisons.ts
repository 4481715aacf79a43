// The scenario of a reconciliation: a partial capture, a refund, and money that moved without either,
// compared with the provider by several runs at once and once more. Its faults are the runs that
// compete; a crash in the middle is a case of test/reconciliation/.
import { setTimeout as wait } from 'node:timers/promises'
import { requestReconciliation } from '../../src/db/reconciliation/reconciliation-runs.ts'
import { RECONCILIATIONS_QUEUE } from '../../src/db/queue/queues.ts'
import { createJobWaker } from '../../src/db/connection/notifications.ts'
import type { Case } from './case.ts'
import type { Lane } from './lane.ts'
import { RECOVERY_LIMIT_SECONDS, type Merchant } from './merchant.ts'
import { MANUAL } from './payments.ts'
import type { Violation } from './results.ts'
import type { Scenario } from './scenario.ts'

export const comparisons: readonly Scenario[] = [
  {
    name: 'movements.compared',
    prepare: async (merchant) => (await merchant.pay(MANUAL)).resource.id ?? '',
    act: moveAndCompare,
    check: checkComparison,
  },
]

const TIMES = 5

/** Several times in a full run, because timing plays a part; once in a quick run. */
export function planComparisons({ quick }: { readonly quick: boolean }): Case[] {
  return Array.from({ length: quick ? 1 : TIMES }, () =>
    comparisons.map(({ name }): Case => ({ scenario: name, injections: [] })),
  ).flat()
}

const HOUR_MS = 60 * 60 * 1_000
/** The times of the provider's records are in whole seconds. */
const SECOND_MS = 1_000

async function moveAndCompare(merchant: Merchant, id: string): Promise<void> {
  // So that the fees of the bystander are not compared: nothing of its data may change.
  await wait(SECOND_MS, undefined, { signal: merchant.signal })
  const from = new Date(Math.floor(Date.now() / SECOND_MS) * SECOND_MS)
  await merchant.capture(id, 1_500)
  await merchant.refund(id, 500)
  const charge = await findCharge(merchant)
  const adjustment = { type: 'adjustment', amount: -700, currency: 'usd', source: charge }
  await merchant.lane.provider.control('POST', 'balance_transactions', adjustment)
  // Windows that differ, because a second run of the same window is not begun.
  await compare(
    merchant,
    [1, 2, 3].map((hours) => ({ from, to: hoursFrom(hours) })),
  )
  await compare(merchant, [{ from, to: hoursFrom(4) }])
}

const hoursFrom = (hours: number) => new Date(Date.now() + hours * HOUR_MS)

async function findCharge({ lane, tenant }: Merchant): Promise<string> {
  const [row] = await lane.owner.sql<{ intent: string }[]>`
    select provider_payment_id as intent from payments where tenant_id = ${tenant.id}
  `
  const intent = await lane.provider.control('GET', `objects/${row?.intent}`)
  return (intent as { latest_charge: string }).latest_charge
}

const POLL_MS = 40

/** Has the worker carry out the runs at once. */
async function compare(
  { lane, signal, violations }: Merchant,
  windows: readonly { readonly from: Date; readonly to: Date }[],
): Promise<void> {
  const { sql } = lane.owner
  const request = { provider: 'stripe', requestedBy: 'fault suite' }
  const runs = await Promise.all(
    windows.map((window) => requestReconciliation(sql, { ...request, ...window })),
  )
  const ids = runs.map((run) => run.id)
  const endsAt = performance.now() + RECOVERY_LIMIT_SECONDS * 1_000
  while (performance.now() < endsAt) {
    createJobWaker(sql, () => {}, RECONCILIATIONS_QUEUE)()
    const open = await sql`
      select from reconciliation_runs where id = any(${ids}) and status <> 'completed'
    `
    if (open.length === 0) return
    await wait(POLL_MS, undefined, { signal })
  }
  violations.push({ invariant: 7, what: 'a reconciliation did not end' })
}

interface BalanceTransaction {
  readonly reporting_category: string
  readonly fee: number
  readonly source: { readonly payment_intent?: string } | string | null
}

/** Every fee is posted once, and the one finding is the unexplained movement. */
async function checkComparison({ lane, tenant }: Merchant): Promise<Violation[]> {
  const { sql } = lane.owner
  const [posted] = await sql<{ fees: number; intent: string }[]>`
    select
      coalesce(sum(case debit when 'provider_fees' then amount_minor else -amount_minor end), 0)
        ::float8 as fees,
      (select provider_payment_id from payments where tenant_id = ${tenant.id}) as intent
    from ledger_postings where tenant_id = ${tenant.id} and kind = 'provider_fee'
  `
  const found = await sql<{ kind: string }[]>`
    select kind from reconciliation_findings where tenant_id = ${tenant.id} order by kind
  `
  const fees = await readFees(lane, posted?.intent ?? '')
  const kinds = found.map(({ kind }) => kind).join(', ')
  return [
    ...(posted?.fees === fees
      ? []
      : [{ invariant: 5, what: `${posted?.fees} of ${fees} in fees are posted` }]),
    ...(kinds === 'unknown_movement'
      ? []
      : [{ invariant: 5, what: `the findings are: ${kinds || 'none'}` }]),
  ]
}

/** The fees at the provider for the movements of the payment. */
async function readFees({ providerUrl, secrets }: Lane, intent: string): Promise<number> {
  const answer = await fetch(
    `${providerUrl}/v1/balance_transactions?limit=100&expand[]=data.source`,
    { headers: { authorization: `Bearer ${secrets[0]}` } },
  )
  const { data } = (await answer.json()) as { data: readonly BalanceTransaction[] }
  return data
    .filter(({ source }) => typeof source === 'object' && source?.payment_intent === intent)
    .filter(({ reporting_category: category }) => category !== 'other_adjustment')
    .reduce((sum, { fee }) => sum + fee, 0)
}
