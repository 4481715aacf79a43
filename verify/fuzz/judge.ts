// Checks an answer: status, problem, conformance to openapi.yaml, time limit, and leaked secrets.
import { problems, type ProblemType } from '../../src/domain/problems/problems.ts'
import { findUndocumented } from '../../test/support/worker/find-undocumented.ts'
import type { Reply, Result } from './connection.ts'
import { isRefused } from './defects/fields.ts'
import type { Case } from './draft.ts'
import { operations } from './operations.ts'
import { CARD_NUMBERS } from './values.ts'

export type Secrets = ReturnType<typeof secretsOf>

/** @param keys the secret values by name. Reports contain the names only. */
export function secretsOf(keys: ReadonlyMap<string, string>) {
  const cards = new RegExp(CARD_NUMBERS.join('|'))
  return {
    /** Returns the names of the secrets in a text. */
    findIn(text: string): string[] {
      const found = [...keys].filter(([, key]) => text.includes(key)).map(([name]) => name)
      // Removes all separators between the digits.
      const hasCard = MAYBE_CARD.test(text) && cards.test(text.replaceAll(/\D+/g, ''))
      return hasCard ? [...found, 'a card number'] : found
    },
  }
}

/** A fast pre-check: at least twelve digits with short separators. Most texts have none. */
const MAYBE_CARD = /(?:\d[^0-9A-Za-z]{0,3}){12}/

/** Time limit of an answer, generous enough for a busy machine. */
const USUAL_LIMIT_MS = 5_000

/** Returns the violations in an answer. Empty if the answer is right. */
export function judge(one: Case, result: Result, secrets: Secrets): string[] {
  if (result instanceof Error) return [result.message]
  const { status, body, ms } = result
  return [
    ...(status >= 500 ? [`answered ${status}`] : []),
    ...(ms > USUAL_LIMIT_MS && one.slow !== true ? [`answered after ${Math.round(ms)} ms`] : []),
    ...judgeContract(one, result),
    ...judgeType(one, result),
    ...judgeAcceptance(one, result),
    ...secrets.findIn(body).map((secret) => `the answer contains ${secret}`),
    ...secrets
      .findIn(JSON.stringify([...result.headers]))
      .map((secret) => `a header contains ${secret}`),
  ]
}

function judgeContract({ draft }: Case, reply: Reply): string[] {
  // An answer to HEAD has no body, so it cannot tell an unknown path from an unknown method.
  if (draft.method === 'HEAD' && [404, 405].includes(reply.status)) return []
  return findUndocumented(draft.method, pathOf(draft.target), reply, reply.body)
}

/** The path of a request target in any of its forms (RFC 9112 section 3.2). */
function pathOf(target: string): string {
  const [path = ''] = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split(/[?#]/)
  return path
}

function judgeType({ draft, types }: Case, reply: Reply): string[] {
  if (types.length === 0) return []
  const { status, headers } = reply
  const allowed = new Set<number>(types.map((type) => problems[type].status))
  if (!allowed.has(status)) {
    return [`answered ${status} instead of ${types.join(' or ')}`]
  }
  // An answer to HEAD has the headers of a GET, but no body.
  const contentType = headers.get('content-type') ?? ''
  if (!contentType.startsWith('application/problem+json')) {
    return [`a problem with the content type ${contentType || 'none'}`]
  }
  if (draft.method === 'HEAD') return []
  const type = problemTypeOf(reply)
  if (type !== undefined && types.includes(type)) return []
  return [`answered ${type ?? 'no problem'} instead of ${types.join(' or ')}`]
}

/** A body that the service accepts must be valid by openapi.yaml. */
function judgeAcceptance({ operation, draft, types }: Case, { status }: Reply): string[] {
  const body = operations.find(({ id }) => id === operation)?.body
  if (body === undefined || types.length > 0 || status >= 300) return []
  const text = Buffer.from(draft.body ?? '', 'latin1').toString()
  const value = (text === '' ? {} : JSON.parse(text)) as unknown
  return isRefused(value, body.isValid) ? ['accepted a body that openapi.yaml does not allow'] : []
}

/** The problem in an answer. Undefined if it has none, or one that does not exist. */
export function problemTypeOf({ body }: Reply): ProblemType | undefined {
  const [, type = ''] = /^\{"type":"\/problems\/([a-z-]+)"/.exec(body) ?? []
  return Object.hasOwn(problems, type) ? (type as ProblemType) : undefined
}
