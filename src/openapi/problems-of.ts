// Determines the problems that an endpoint can answer with. Most follow from the kind of the
// endpoint; a contract lists only the remaining ones.
import { problems, type ProblemType } from '../domain/problems/problems.ts'
import type { Contract } from '../http/contracts/contract.ts'
import type { Endpoint } from '../http/server/route.ts'

export type Access = Endpoint['access']

/**
 * Problems of requests that are refused before they reach an endpoint; they can occur with every
 * path.
 */
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

const accessProblems: Record<Access, readonly ProblemType[]> = {
  tenant: [
    'api-key-missing',
    'api-key-invalid',
    'too-many-invalid-keys',
    'scope-missing',
    'rate-limited',
    'too-many-concurrent-requests',
    'store-unavailable',
  ],
  admin: [
    'operator-key-invalid',
    'too-many-invalid-keys',
    'session-ended',
    'route-not-found',
    'store-unavailable',
  ],
  session: ['session-ended', 'route-not-found', 'store-unavailable'],
  console: ['route-not-found'],
  open: [],
}

/** Problems of requests that change something. */
const changeProblems: Partial<Record<Access, readonly ProblemType[]>> = {
  admin: ['operator-role-insufficient', 'csrf-token-invalid'],
  session: ['csrf-token-invalid'],
}

const bodyProblems: readonly ProblemType[] = [
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

const keyProblems: readonly ProblemType[] = [
  'idempotency-key-missing',
  'idempotency-key-empty',
  'idempotency-key-too-short',
  'idempotency-key-too-long',
  'idempotency-key-malformed',
  'idempotency-key-repeated',
  'repeatability-request-id-malformed',
  'repeatability-first-sent-missing',
  'repeatability-first-sent-malformed',
  'repeatability-first-sent-in-future',
  'repeatability-first-sent-too-old',
  'repeatability-keys-differ',
  'repeatability-client-id-unsupported',
  'request-timestamp-missing',
  'request-timestamp-invalid',
  'request-too-old',
  'idempotency-key-reused',
  'idempotency-key-expired',
  'too-many-stored-keys',
  'response-dropped',
  'operation-canceled',
]

/** Problems of operations that call the provider. */
const foreignProblems: readonly ProblemType[] = [
  'operation-in-progress',
  'outcome-unknown',
  'operation-timed-out',
  'invalid-state',
  'too-many-active-keys',
  'provider-unavailable',
]

/** Health checks are not limited, so they are never answered with `overloaded`. */
const PROBES = ['getHealth', 'getReadiness']

/** An endpoint, as far as its problems follow from it. */
export interface ContractedEndpoint {
  readonly access: Access
  readonly isRead: boolean
  readonly contract: Contract
}

export function problemsOf(endpoint: ContractedEndpoint): ReadonlySet<ProblemType> {
  const own = ownProblemsOf(endpoint)
  const statuses = new Set<number>(own.map((type) => problems[type].status))
  // A response for a status replaces the default response, so it must list these problems, too.
  const general = problemsAnywhere.filter((type) => statuses.has(problems[type].status))
  return new Set([...own, ...general])
}

function ownProblemsOf({ access, isRead, contract }: ContractedEndpoint): ProblemType[] {
  const { keyed, body, path, isList, refusesQuery, operationId, problems: others = [] } = contract
  const isProbe = PROBES.includes(operationId)
  return [
    ...accessProblems[access],
    ...(isRead ? [] : (changeProblems[access] ?? [])),
    ...(keyed === undefined ? [] : keyProblems),
    ...(keyed === 'foreign' ? foreignProblems : []),
    ...(body === undefined || access === 'open' ? [] : bodyProblems),
    ...(path === undefined ? [] : (['resource-not-found', 'route-not-found'] as const)),
    ...(isList === true || refusesQuery === true ? (['invalid-query'] as const) : []),
    ...others,
    ...(isProbe ? [] : (['overloaded', 'internal-error'] as const)),
  ]
}
