// Determines the problems that an endpoint can answer with. Most follow from the kind of the
// endpoint; a contract lists only the remaining ones.
import { problems, type ProblemType } from '../domain/problems/problems.ts'
import type { Endpoints } from '../http/contracts/contract.ts'
import type { Endpoint } from '../http/endpoint.ts'

/** Problems that many endpoints have, by the name under which `x-problems` lists them. */
export const problemGroups = {
  /** Of requests that are refused before they reach an endpoint: they can occur with every path. */
  anywhere: [
    'malformed-request',
    'route-not-found',
    'method-not-allowed',
    'request-timeout',
    'expectation-failed',
    'headers-too-large',
    'overloaded',
    'internal-error',
  ],
  /** Of requests with the API key of a tenant. */
  tenant: [
    'api-key-missing',
    'api-key-invalid',
    'too-many-invalid-keys',
    'scope-missing',
    'rate-limited',
    'too-many-concurrent-requests',
    'store-unavailable',
  ],
  /** Of requests with the key or the session of an operator. */
  operator: ['operator-key-invalid', 'too-many-invalid-keys', 'session-ended', 'store-unavailable'],
  /** Of requests with a session of the console. */
  session: ['session-ended', 'store-unavailable'],
  /** Of operators' requests that change something. */
  change: ['operator-role-insufficient', 'csrf-token-invalid'],
  /** Of requests with a body. */
  body: [
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
    'secret-refused',
  ],
  /** Of requests with an idempotency key. */
  key: [
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
  ],
  /** Of operations that call the provider. */
  provider: [
    'operation-in-progress',
    'outcome-unknown',
    'operation-timed-out',
    'invalid-state',
    'too-many-active-keys',
    'provider-unavailable',
  ],
} as const satisfies Record<string, readonly ProblemType[]>

type ProblemGroup = keyof typeof problemGroups

/** Health checks are not limited, so they are never answered with `overloaded`. */
const PROBES = ['getHealth', 'getReadiness']

/** Every problem of an endpoint. */
export function problemsOf(method: string, endpoint: Endpoints[string]): ReadonlySet<ProblemType> {
  const own = problemNamesOf(method, endpoint).flatMap((name) =>
    isGroup(name) ? problemGroups[name] : name,
  )
  const all = PROBES.includes(endpoint.operationId) ? own : [...own, ...ALWAYS]
  const statuses = new Set<number>([400, ...all.map((type) => problems[type].status)])
  // A response for a status replaces the default response.
  const general = problemGroups.anywhere.filter((type) => statuses.has(problems[type].status))
  return new Set([...all, ...general])
}

const ALWAYS = ['overloaded', 'internal-error'] as const

const isGroup = (name: ProblemType | ProblemGroup): name is ProblemGroup =>
  Object.hasOwn(problemGroups, name)

/** The problems of an endpoint as `x-problems` lists them, without those that are anywhere. */
export function problemNamesOf(
  method: string,
  {
    serve: { access },
    keyed,
    body,
    path,
    isList,
    refusesQuery,
    problems: others = [],
  }: Endpoints[string],
): (ProblemType | ProblemGroup)[] {
  const names: (ProblemType | ProblemGroup | false)[] = [
    ...groupsOf(access, method === 'GET'),
    keyed !== undefined && 'key',
    keyed === 'foreign' && 'provider',
    body !== undefined && access !== 'open' && 'body',
    path !== undefined && 'resource-not-found',
    (isList === true || refusesQuery === true) && 'invalid-query',
    ...others,
  ]
  return names.filter((name) => name !== false)
}

function groupsOf(
  access: Endpoint['access'],
  isRead: boolean,
): readonly (ProblemType | ProblemGroup)[] {
  if (access === 'tenant') return ['tenant']
  if (access === 'admin') return isRead ? ['operator'] : ['operator', 'change']
  if (access === 'session') return isRead ? ['session'] : ['session', 'csrf-token-invalid']
  return []
}
