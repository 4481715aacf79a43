// The scenario of batches: a tenant's requests and its provider's answers arrive together, so that
// they share statements. Faults at the second statement of a name strike several members.
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { beginPayment, PAYMENT, send, sendRefused, tagOf, untilAllAnswered } from './contests.ts'
import type { Injection } from './case.ts'
import type { Merchant } from './merchant.ts'
import { untilWaiting } from './rendezvous.ts'
import type { Scenario } from './scenario.ts'

const PAYMENTS = 6
const REFUSED = 2

export const payTogether: Scenario = {
  name: 'payment.create.together',
  needs: { settings: { WORKER_CONCURRENCY: String(PAYMENTS), API_KEY_CACHE_SECONDS: '60' } },
  prepare: authenticate,
  act: pay,
}

/** Later requests of the tenant need no statement of their own before their intents. */
async function authenticate({ sender }: Merchant): Promise<string> {
  const { response } = await sender.client.GET('/v1/payments')
  if (!response.ok) throw new Error(`the first request was answered ${response.status}`)
  return ''
}

/**
 * Several payments at once, one of them requested twice, and some that the store refuses. The row of
 * their tenant is locked, so that the first intent waits for it, and the others for the first. Then
 * the provider's answers are passed on together.
 */
async function pay(merchant: Merchant, _id: string, injections: readonly Injection[]) {
  const { lane, tenant } = merchant
  lane.process('worker').provider.gather(PAYMENTS)
  const payments = Array.from({ length: PAYMENTS }, () => beginPayment(merchant))
  const { requests } = await inTransaction(lane.owner.sql, async (tx) => {
    await tx`select from tenants where id = ${tenant.id} for update`
    const sent = [...payments, ...payments.slice(-1)].map((payment) => send(merchant, payment))
    const refused = Array.from({ length: REFUSED }, (_, index) => payForeign(merchant, index))
    await untilWaiting(lane, 2, GATHERING_LIMIT_MS)
    return { requests: [...sent, ...refused] }
  })
  await Promise.all(requests)
  await untilAllAnswered(merchant)
  const areMade = payments.every(({ answers }) => answers[0]?.status === 201)
  if (injections.length === 0 && areMade) await checkShared(merchant)
}

/** Names a customer that the tenant does not own. */
async function payForeign(merchant: Merchant, index: number): Promise<void> {
  const label = `foreign-${index}`
  const body = { ...PAYMENT, customer: 'cus_of_no_tenant', ...tagOf(merchant, label) }
  const refused = { why: 'invalid', key: label, label } as const
  await sendRefused(merchant, { kind: 'payment.create', body }, refused)
}

/** A fault may keep the second statement from being sent. */
const GATHERING_LIMIT_MS = 500

/**
 * Without a fault, intents and phases have shared statements.
 *
 * @throws Error when each had one of its own: then the faults of this scenario strike no batch.
 */
async function checkShared({ lane, tenant }: Merchant): Promise<void> {
  const [shared] = await lane.owner.sql<{ intents: number; phases: number }[]>`
    with members as (
      select phase is null as is_intent, count(distinct operation_id)::int as number
      from phase_runs where tenant_id = ${tenant.id} group by xmin::text, is_intent
    )
    select
      coalesce(max(number) filter (where is_intent), 0) as intents,
      coalesce(max(number) filter (where not is_intent), 0) as phases
    from members
  `
  const { intents = 0, phases = 0 } = shared ?? {}
  if (intents < 2 || phases < 2) {
    throw new Error(`no batch: at most ${intents} intents and ${phases} phases shared a statement`)
  }
}
