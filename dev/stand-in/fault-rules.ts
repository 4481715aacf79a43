// Decides which requests get a fault. A rule matches properties of the request only. It does not
// depend on what the request would execute.
import { z } from 'zod'

/** What a rule matches. */
export const faultMatch = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT']).optional(),
  /** `*` stands for any characters. */
  path: z.string().startsWith('/').optional(),
  payment_method: z.string().optional(),
  /** Injects the fault into `times` matching requests from this one on, counted from 1. */
  nth: z.int().min(1).optional(),
})

export interface FaultRule<Name extends string> {
  match: z.infer<typeof faultMatch>
  fault: Name
  times: number
  delay_ms: number
}

export interface MatchedRequest {
  method: string
  path: string
  params: { readonly payment_method?: unknown }
}

export interface InjectedFault<Name extends string> {
  fault: Name
  delayMs: number
}

interface CountedRule<Name extends string> extends FaultRule<Name> {
  matched: number
  /** How often the rule injected its fault. The control API shows this name. */
  struck: number
}

export type FaultRules<Name extends string> = ReturnType<typeof createFaultRules<Name>>

/** Long enough to be noticed, and shorter than the usual timeouts of clients. */
export const DELAY_DEFAULT_MS = 1_000

/** Rules are kept in memory: a stand-in that was killed restarts without faults. */
export function createFaultRules<Name extends string>() {
  let rules: { counted: CountedRule<Name>; isMatch: (request: MatchedRequest) => boolean }[] = []
  return {
    add: (rule: FaultRule<Name>) => {
      const counted: CountedRule<Name> = { ...rule, matched: 0, struck: 0 }
      rules.push({ counted, isMatch: createMatcher(rule.match) })
      return counted
    },
    list: () => rules.map(({ counted }) => counted),
    clear: () => {
      rules = []
    },
    /** Counts the request in every matching rule, and returns the fault of the first that is due. */
    pick: (request: MatchedRequest) => {
      let injected: InjectedFault<Name> | undefined
      for (const { counted, isMatch } of rules) {
        if (!isMatch(request)) continue
        counted.matched += 1
        if (injected !== undefined || !isDue(counted)) continue
        counted.struck += 1
        injected = { fault: counted.fault, delayMs: counted.delay_ms }
      }
      return injected
    },
  }
}

function isDue({ match: { nth }, matched, struck, times }: CountedRule<string>): boolean {
  return nth === undefined ? struck < times : matched >= nth && matched < nth + times
}

function createMatcher({ method, path, payment_method }: FaultRule<string>['match']) {
  const pattern = path?.split('*').map(escapePattern).join('.*')
  const pathPattern = new RegExp(`^${pattern ?? '.*'}$`)
  return (request: MatchedRequest) =>
    (method === undefined || method === request.method) &&
    pathPattern.test(request.path) &&
    (payment_method === undefined || payment_method === request.params.payment_method)
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
}
