// Compares a problem in an API response with those that the OpenAPI documents list, and with the table
// of problem types.
import { acpError } from '../../../src/domain/problems/flavor.ts'
import { problemBody } from '../../../src/domain/problems/problem-error.ts'
import { problems, type ProblemType } from '../../../src/domain/problems/problems.ts'

type Json = Record<string, unknown>

const DECLINES = ['payment-declined', 'authorization-expired', 'refund-declined']

/** The problems that may have a member, which the one schema of all problems allows to each. */
const CARRIERS: Readonly<Record<string, readonly string[]>> = {
  payment: ['payment-declined', 'authorization-expired'],
  refund: ['refund-declined', 'charge-disputed'],
  earlier: ['duplicate-reference'],
  location: ['duplicate-reference', 'response-dropped'],
  errors: [
    'reference-required',
    'unknown-field',
    'invalid-amount',
    'amount-too-small',
    'unknown-currency',
    'customer-not-found',
    'invalid-field',
    'capture-exceeds-authorization',
    'webhook-url-refused',
    'card-number-refused',
    'secret-refused',
  ],
}

/** Returns the differences of the body from the problems that its operation may answer with. */
export function findUndocumentedProblem(
  allowed: readonly string[],
  status: number,
  headers: Headers,
  body: string,
): string[] {
  const shown = JSON.parse(body) as Json
  const error = shown['error'] as Json | undefined
  if (error === undefined) return checkAcpError(allowed, status, shown)
  const [, name = ''] =
    /problems\/([a-z0-9-]+)$/.exec(String(shown['type'] ?? error['doc_url'])) ?? []
  if (!allowed.includes(name)) return [`the problem ${name} is not documented`]
  // In the flavour of Stripe, the status is another one, and the members are those of the error.
  if (shown['type'] === undefined) return checkMembers(name, error)
  const expected = problemBody(name as ProblemType)
  const { code } = expected['error'] as Json
  return [
    ...checkMembers(name, shown),
    ...(['title', 'status'].every((member) => shown[member] === expected[member]) &&
    shown['status'] === status
      ? []
      : ['title or status are not those of the problem']),
    ...(DECLINES.includes(name) || error['code'] === code
      ? []
      : ['the code is of another problem']),
    ...(headers.get('content-type')?.startsWith('application/problem+json') === true
      ? []
      : ['the content type is not that of a problem']),
  ]
}

function checkMembers(name: string, members: Json): string[] {
  const extra = Object.keys(CARRIERS).filter(
    (member) => Object.hasOwn(members, member) && CARRIERS[member]?.includes(name) === false,
  )
  const [resource] = name.split('-')
  const isMissing = DECLINES.includes(name) && !('payment' in members || 'refund' in members)
  return [
    ...extra.map((member) => `${name} has no ${member}`),
    ...(isMissing ? [`${resource ?? ''} is missing`] : []),
  ]
}

/** The flavour `acp` has no types, only codes; that of a decline is the provider's. */
function checkAcpError(allowed: readonly string[], status: number, { code }: Json): string[] {
  const known = allowed.filter((name) => Object.hasOwn(problems, name)) as ProblemType[]
  const isKnown = status === 402 || known.some((type) => acpError(type).code === code)
  return isKnown ? [] : [`the code ${String(code)} is not documented`]
}
