// The scenario of batches: a tenant's requests and its provider's answers arrive together, so that
// they share statements. Faults at the second statement of a name strike several members.
import { beginPayment, PAYMENT, send, sendRefused, tagOf, untilAllAnswered } from './contests.ts'
import type { Injection } from './case.ts'
import type { Merchant } from './merchant.ts'
import type { Scenario } from './scenario.ts'

/** The first one of each kind is alone in its statement. The others wait for it, and share one. */
const PAYMENTS = 6
const REFUSED = 2

export const payTogether: Scenario = {
  name: 'payment.create.together',
  needs: { settings: { WORKER_CONCURRENCY: String(PAYMENTS), API_KEY_CACHE_SECONDS: '60' } },
  prepare: authenticate,
  act,
}

/** Later requests of the tenant need no statement of their own before their intents. */
async function authenticate({ sender }: Merchant): Promise<string> {
  const { response } = await sender.client.GET('/v1/payments')
  if (!response.ok) throw new Error(`the first request was answered ${response.status}`)
  return ''
}

/** Several payments at once, one of them requested twice, and some that the store refuses. */
async function act(merchant: Merchant, _id: string, injections: readonly Injection[]) {
  merchant.lane.process('worker').provider.gather(PAYMENTS)
  const payments = Array.from({ length: PAYMENTS }, () => beginPayment(merchant))
  const refusals = Array.from({ length: REFUSED }, async (_, index) => {
    const label = `foreign-${index}`
    const body = { ...PAYMENT, customer: 'cus_of_no_tenant', ...tagOf(merchant, label) }
    const refused = { why: 'invalid', key: label, label } as const
    await sendRefused(merchant, { kind: 'payment.create', body }, refused)
  })
  const requested = [...payments, ...payments.slice(-1)]
  await Promise.all([...requested.map((payment) => send(merchant, payment)), ...refusals])
  await untilAllAnswered(merchant)
  const areMade = payments.every(({ answers }) => answers[0]?.status === 201)
  if (injections.length === 0 && areMade) await checkShared(merchant)
}

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
