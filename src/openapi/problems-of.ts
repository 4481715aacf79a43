// Which problems an endpoint can answer with: those that every endpoint of its kind has follow from what its
// contract says of it, and need not be repeated there.
import { problems, type ProblemType } from '../domain/problems/problems.ts'
import type { Contract } from '../http/contracts/contract.ts'
import type { Endpoint } from '../http/server/routes.ts'

export type Access = Endpoint['access']

/** Of requests that come to no endpoint, whatever their path. */
export const problemsAnywhere: readonly ProblemType[] = [
  'malformed-request',
  'route-not-found',
  'method-not-allowed',
  'request-timeout',
  'expectation-failed',
  'headers-too-large',
  'overloaded',
  'internal-error',
]

const ofAccess: Record<Access, readonly ProblemType[]> = {
  tenant: [
    'api-key-missing',
    'api-key-invalid',
    'scope-missing',
    'rate-limited',
    'store-unavailable',
  ],
  admin: ['operator-key-invalid', 'route-not-found', 'store-unavailable'],
  open: [],
}

const ofBodies: readonly ProblemType[] = [
  'malformed-json',
  'duplicate-member',
  'nesting-too-deep',
  'forbidden-character',
  'body-too-large',
  'unsupported-content-type',
  'unsupported-content-encoding',
  'unknown-field',
  'invalid-field',
  'card-number-refused',
]

const ofKeys: readonly ProblemType[] = [
  'idempotency-key-missing',
  'idempotency-key-empty',
  'idempotency-key-too-long',
  'idempotency-key-malformed',
  'idempotency-key-repeated',
  'request-timestamp-missing',
  'request-timestamp-invalid',
  'request-too-old',
  'idempotency-key-reused',
  'idempotency-key-expired',
  'response-dropped',
]

/** Of operations that call the provider. */
const ofForeign: readonly ProblemType[] = [
  'operation-in-progress',
  'outcome-unknown',
  'operation-timed-out',
  'invalid-state',
  'too-many-active-keys',
  'provider-unavailable',
]

/** Health is told however busy the process is. */
const PROBES = ['getHealth', 'getReadiness']

export function problemsOf(access: Access, contract: Contract): ReadonlySet<ProblemType> {
  const own = ownProblemsOf(access, contract)
  const statuses = new Set<number>(own.map((type) => problems[type].status))
  // A status that is described by itself is no more what the default says of it.
  const alike = problemsAnywhere.filter((type) => statuses.has(problems[type].status))
  return new Set([...own, ...alike])
}

function ownProblemsOf(access: Access, contract: Contract): ProblemType[] {
  const { keyed, body, path, isList, refusesQuery, operationId, problems: others = [] } = contract
  const isProbe = PROBES.includes(operationId)
  return [
    ...ofAccess[access],
    ...(keyed === undefined ? [] : ofKeys),
    ...(keyed === 'foreign' ? ofForeign : []),
    ...(body === undefined || access === 'open' ? [] : ofBodies),
    ...(path === undefined ? [] : (['resource-not-found', 'route-not-found'] as const)),
    ...(isList === true || refusesQuery === true ? (['invalid-query'] as const) : []),
    ...others,
    ...(isProbe ? [] : (['overloaded', 'internal-error'] as const)),
  ]
}
