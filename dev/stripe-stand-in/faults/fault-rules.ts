// Decides which requests get a fault: by a rule, or by their payment method. It does not depend on
// whether the request would execute or replay.
import {
  createFaultRules as createRules,
  DELAY_DEFAULT_MS,
  type FaultRules as Rules,
  type InjectedFault as Injected,
} from '../../stand-in/fault-rules.ts'
import type { ApiRequest } from '../requests/api-request.ts'
import type { FaultName } from './faults.ts'
import { findPaymentMethod } from '../payment-intents/payment-methods.ts'

export type InjectedFault = Injected<FaultName>

export interface FaultRules extends Rules<FaultName, ApiRequest> {
  /** Clears the rules, and forgets which idempotency keys got the fault of a payment method. */
  reset(): void
}

/** Stripe's own time limits reach about 80 s: its packages wait that long. */
const LATE_DEFAULT_MS = 60_000

/** By the clock of the stand-in for a request that executes late, otherwise by the machine's. */
export function delayDefaultMs(fault: FaultName): number {
  return fault.endsWith('_late') ? LATE_DEFAULT_MS : DELAY_DEFAULT_MS
}

export function createFaultRules(): FaultRules {
  const rules = createRules<FaultName, ApiRequest>()
  const methodFaults = createMethodFaults()
  return {
    ...rules,
    reset: () => {
      rules.clear()
      methodFaults.reset()
    },
    pick: (request) => rules.pick(request) ?? methodFaults.pick(request),
  }
}

/** Injects the faults of payment methods, only into the first request of each idempotency key. */
function createMethodFaults() {
  const faultedKeys = new Set<string>()
  return {
    reset: () => faultedKeys.clear(),
    pick: ({ params, account, idempotencyKey }: ApiRequest): InjectedFault | undefined => {
      if (typeof params['payment_method'] !== 'string') return undefined
      const fault = findPaymentMethod(params['payment_method'])?.fault
      if (fault === undefined) return undefined
      if (idempotencyKey !== undefined) {
        const key = `${account} ${idempotencyKey}`
        if (faultedKeys.has(key)) return undefined
        faultedKeys.add(key)
      }
      return { fault, delayMs: delayDefaultMs(fault) }
    },
  }
}
