// The scenarios in which a reconciliation compares, without other faults. The first: a partial capture,
// a refund, and money that moved without either, compared by several runs at once and once more. A
// crash in the middle is a case of test/reconciliation/.
import type { Lane } from './lane.ts'
import { releaseLateHold } from './late-holds.ts'
import type { Merchant } from './merchant.ts'
import { MANUAL, paid } from './payments.ts'
import { compare, hoursFrom, windowStart } from './reconcile.ts'
import type { Violation } from './results.ts'
import type { Scenario } from './scenario.ts'

export const comparisons: readonly Scenario[] = [
  {
    name: 'movements.compared',
    prepare: paid(MANUAL),
    act: moveAndCompare,
    check: checkComparison,
  },
  releaseLateHold,
]

async function moveAndCompare(merchant: Merchant, id: string): Promise<void> {
  const from = await windowStart(merchant)
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

async function findCharge({ lane, tenant }: Merchant): Promise<string> {
  const [row] = await lane.owner.sql<{ intent: string }[]>`
    select provider_payment_id as intent from payments where tenant_id = ${tenant.id}
  `
  const intent = await lane.provider.control('GET', `objects/${row?.intent}`)
  return (intent as { latest_charge: string }).latest_charge
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
