// The scenarios of a payment that may move to a second provider: one whose first provider answers, and
// one whose first provider does not.
import { setProviders } from '../../src/db/tenants/tenants.ts'
import { ROUTED, type Case } from './case.ts'
import type { Merchant } from './merchant.ts'
import { AUTOMATIC, CREATION } from './payments.ts'
import type { LaneNeeds, Scenario } from './scenario.ts'
import { secondProvider } from './second-provider-kind.ts'

const { name: second = '', paymentMethod = '' } = secondProvider ?? {}

const needs: LaneNeeds = {
  secondProvider: true,
  // One call that is not executed is enough to move.
  settings: { CALL_ATTEMPTS: '1' },
}

const { payment_method: stripe, ...CARD } = AUTOMATIC
const PAYMENT = {
  ...CARD,
  payment_methods: { stripe, [second]: paymentMethod },
}

export const routed: readonly Scenario[] = [
  { name: ROUTED[0], needs, prepare: useBoth, act: (merchant) => merchant.pay(PAYMENT) },
  { name: ROUTED[1], needs, prepare: useBoth, act: move },
]

async function useBoth({ lane, tenant }: Merchant): Promise<string> {
  const routes = [{ provider: 'stripe' }, { provider: second }]
  await setProviders(lane.owner.sql, tenant.id, routes)
  return ''
}

/** The first provider executes nothing, once. */
async function move(merchant: Merchant, _id: string, injections: Case['injections']) {
  const { lane, violations } = merchant
  await lane.provider.plantFault({ match: CREATION, fault: 'rate_limited', times: 1 })
  const { resource } = await merchant.pay(PAYMENT)
  if (injections.length > 0) return
  const executed = (await lane.listExecuted()).filter(
    ({ metadata }) => metadata['atomic_payment'] === resource.id,
  )
  if (executed.some(({ provider }) => provider === second)) return
  violations.push({ invariant: 7, what: 'the payment did not move, although nothing was executed' })
}
