// Says what is wrong with an answer: the same for every request, whoever has thought of it.
import { problems, type ProblemType } from '../../src/domain/problems/problems.ts'
import { expectDocumented } from '../../test/support/documented.ts'
import type { Reply } from './connection.ts'
import type { Case } from './draft.ts'
import type { Secrets } from './secrets.ts'
import type { Result } from './sending.ts'

/** Of answers that nothing delays, on a machine that has other work to do. */
const USUAL_LIMIT_MS = 5_000

/** What is wrong with it, in sentences; none: all is as it has to be. */
export function judge(one: Case, result: Result, secrets: Secrets): string[] {
  if (result instanceof Error) return [result.message]
  const { status, body, ms } = result
  return [
    ...(status >= 500 ? [`answered ${status}`] : []),
    ...(ms > USUAL_LIMIT_MS && one.slow !== true ? [`answered after ${Math.round(ms)} ms`] : []),
    ...judgeContract(one, result),
    ...judgeType(one, result),
    ...secrets.findIn(body).map((secret) => `the answer holds ${secret}`),
    ...secrets
      .findIn(JSON.stringify([...result.headers]))
      .map((secret) => `a header holds ${secret}`),
  ]
}

function judgeContract({ draft }: Case, reply: Reply): string[] {
  // Without a body nothing tells whether it is the path or the method that there is none of.
  if (draft.method === 'HEAD' && [404, 405].includes(reply.status)) return []
  try {
    expectDocumented(draft.method, pathOf(draft.target), reply, reply.body)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
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
  // What HEAD is answered has no body, and the headers that it would have.
  const contentType = headers.get('content-type') ?? ''
  if (!contentType.startsWith('application/problem+json')) {
    return [`a problem of the type ${contentType || 'none'}`]
  }
  if (draft.method === 'HEAD') return []
  const type = problemTypeOf(reply)
  if (type !== undefined && types.includes(type)) return []
  return [`told ${type ?? 'no problem'} instead of ${types.join(' or ')}`]
}

/** The problem that an answer tells; undefined when it tells none that there is. */
export function problemTypeOf({ body }: Reply): ProblemType | undefined {
  const [, type = ''] = /^\{"type":"\/problems\/([a-z-]+)"/.exec(body) ?? []
  return Object.hasOwn(problems, type) ? (type as ProblemType) : undefined
}
