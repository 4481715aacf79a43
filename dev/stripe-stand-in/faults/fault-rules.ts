// Decides which requests get a fault. A rule matches properties of the request only. It does not
// depend on whether the request would execute or replay.
import type { ApiRequest } from '../requests/api-request.ts'
import type { FaultName } from './faults.ts'
import { findPaymentMethod } from '../payment-intents/payment-methods.ts'

export interface FaultRule {
  match: {
    method?: string | undefined
    /** `*` stands for any characters. */
    path?: string | undefined
    payment_method?: string | undefined
    /** Injects the fault into `times` matching requests from this one on, counted from 1. */
    nth?: number | undefined
  }
  fault: FaultName
  times: number
  delay_ms: number
}

export interface InjectedFault {
  fault: FaultName
  delayMs: number
}

interface CountedRule extends FaultRule {
  matched: number
  /** How often the rule injected its fault. The control API shows this name. */
  struck: number
}

export interface FaultRules {
  add(rule: FaultRule): CountedRule
  list(): CountedRule[]
  clear(): void
  /** Clears the rules, and forgets which idempotency keys got the fault of a payment method. */
  reset(): void
  /**
   * Counts the request in every matching rule, and returns the fault of the first rule that is due.
   */
  pick(request: ApiRequest): InjectedFault | undefined
}

/** Long enough to be noticed, and shorter than the usual timeouts of clients. */
const DELAY_DEFAULT_MS = 1_000

/** Stripe's own time limits reach about 80 s: its packages wait that long. */
const LATE_DEFAULT_MS = 60_000

/** By the clock of the stand-in for a request that executes late, otherwise by the machine's. */
export function delayDefaultMs(fault: FaultName): number {
  return fault.endsWith('_late') ? LATE_DEFAULT_MS : DELAY_DEFAULT_MS
}

/** Rules are kept in memory: a stand-in that was killed restarts without faults. */
export function createFaultRules(): FaultRules {
  let rules: { counted: CountedRule; isMatch: (request: ApiRequest) => boolean }[] = []
  const methodFaults = createMethodFaults()
  return {
    add: (rule) => {
      const counted = { ...rule, matched: 0, struck: 0 }
      rules.push({ counted, isMatch: createMatcher(rule.match) })
      return counted
    },
    list: () => rules.map(({ counted }) => counted),
    clear: () => {
      rules = []
    },
    reset: () => {
      rules = []
      methodFaults.reset()
    },
    pick: (request) => {
      let injected: InjectedFault | undefined
      for (const { counted, isMatch } of rules) {
        if (!isMatch(request)) continue
        counted.matched += 1
        if (injected !== undefined || !isDue(counted)) continue
        counted.struck += 1
        injected = { fault: counted.fault, delayMs: counted.delay_ms }
      }
      return injected ?? methodFaults.pick(request)
    },
  }
}

function isDue({ match: { nth }, matched, struck, times }: CountedRule): boolean {
  return nth === undefined ? struck < times : matched >= nth && matched < nth + times
}

function createMatcher({ method, path, payment_method }: FaultRule['match']) {
  const pattern = path?.split('*').map(escapePattern).join('.*')
  const pathPattern = new RegExp(`^${pattern ?? '.*'}$`)
  return (request: ApiRequest) =>
    (method === undefined || method === request.method) &&
    pathPattern.test(request.path) &&
    (payment_method === undefined || payment_method === request.params['payment_method'])
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
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
