// The scenarios: what a client requests for each operation. Requirements of the operation are
// prepared without a fault.
import { contests } from './contests.ts'
import { eventScenarios, follow } from './event-scenarios.ts'
import { AUTOMATIC, DECLINED, MANUAL } from './payments.ts'
import type { Strike } from './case.ts'
import { reapings } from './reaping.ts'
import type { Violation } from './results.ts'
import type { Shop } from './shop.ts'

export interface Scenario {
  readonly name: string
  /** Creates what the operation works on and returns its id. */
  readonly prepare?: (shop: Shop) => Promise<string>
  /** Makes the requests. Scenarios with points of their own read from the injections what to do. */
  readonly act: (shop: Shop, id: string, strikes: readonly Strike[]) => Promise<unknown>
  /** Checks that only this scenario needs, beside the invariants. */
  readonly judge?: (shop: Shop) => Promise<Violation[]>
}

export const scenarios: readonly Scenario[] = [
  { name: 'payment.create', act: (shop) => shop.pay(AUTOMATIC) },
  { name: 'payment.create.declined', act: (shop) => shop.pay(DECLINED) },
  { name: 'payment.create.manual', act: (shop) => shop.pay(MANUAL) },
  {
    name: 'payment.capture',
    prepare: (shop) => makePayment(shop, MANUAL),
    act: (shop, id) => shop.capture(id, 2_000),
  },
  {
    name: 'payment.cancel',
    prepare: (shop) => makePayment(shop, MANUAL),
    act: (shop, id) => shop.cancel(id),
  },
  {
    name: 'refund.create',
    prepare: (shop) => makePayment(shop, AUTOMATIC),
    act: (shop, id) => shop.refund(id, 1_000),
  },
  follow,
]

async function makePayment(shop: Shop, body: Parameters<Shop['pay']>[0]): Promise<string> {
  const { resource } = await shop.pay(body)
  return resource.id ?? ''
}

/** @throws Error when the scenario is unknown. */
export function scenarioNamed(name: string): Scenario {
  const all = [...scenarios, ...contests, ...reapings, ...eventScenarios]
  const scenario = all.find((known) => known.name === name)
  if (scenario !== undefined) return scenario
  throw new Error(`unknown scenario "${name}"; the scenarios are ${namesOf(all)}`)
}

function namesOf(named: readonly { readonly name: string }[]): string {
  return named.map(({ name }) => name).join(', ')
}
