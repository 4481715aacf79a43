// Decides which requests get a fault: by a rule, or by their payment method. It does not depend on
// whether the request would execute or replay.
import {
  createFaultRules as createRules,
  DELAY_DEFAULT_MS,
  type InjectedFault as Injected,
} from '../../stand-in/fault-rules.ts'
import type { ApiRequest } from '../requests/api-request.ts'
import type { FaultName } from './faults.ts'
import { findPaymentMethod } from '../payment-intents/payment-methods.ts'

export type InjectedFault = Injected<FaultName>

export type FaultRules = ReturnType<typeof createFaultRules>

/** Stripe's own time limits reach about 80 s: its packages wait that long. */
const LATE_DEFAULT_MS = 60_000

/** By the clock of the stand-in for a request that executes late, otherwise by the machine's. */
export function delayDefaultMs(fault: FaultName): number {
  return fault.endsWith('_late') ? LATE_DEFAULT_MS : DELAY_DEFAULT_MS
}

export function createFaultRules() {
  const rules = createRules<FaultName>()
  /** The idempotency keys that got the fault of a payment method: only their first request does. */
  const faultedKeys = new Set<string>()
  const ofMethod = (request: ApiRequest): InjectedFault | undefined => {
    const { params, account, idempotencyKey } = request
    if (typeof params['payment_method'] !== 'string') return undefined
    const fault = findPaymentMethod(params['payment_method'])?.fault
    if (fault === undefined) return undefined
    if (idempotencyKey !== undefined) {
      const key = `${account} ${idempotencyKey}`
      if (faultedKeys.has(key)) return undefined
      faultedKeys.add(key)
    }
    return { fault, delayMs: delayDefaultMs(fault) }
  }
  return {
    ...rules,
    /** Clears the rules, and forgets which keys got a fault. */
    reset: () => {
      rules.clear()
      faultedKeys.clear()
    },
    pick: (request: ApiRequest) => rules.pick(request) ?? ofMethod(request),
  }
}
