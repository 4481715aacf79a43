// Renders the tables of docs/api.md: routes and problems.
import { storedProblems, type StoredProblem } from '../../src/domain/operations/stored-response.ts'
import { mayRetry, problems, type ProblemType } from '../../src/domain/problems/problems.ts'
import { tags, type Endpoints } from '../../src/http/contracts/contract.ts'
import type { Endpoint } from '../../src/http/endpoint.ts'
import { endpoints } from '../../src/http/server/routes.ts'
import { code, renderTable } from './markdown.ts'

/** One table for each tag of openapi.yaml. */
export function renderRoutes(): string {
  return Object.entries(tags)
    .map(([tag, description]) => {
      const ofTag = Object.entries(endpoints).filter(([, endpoint]) => endpoint.tag === tag)
      const rows = ofTag.map(showEndpoint)
      return [`### ${tag}`, description, renderTable(ROUTE_HEADER, rows)].join('\n\n')
    })
    .join('\n\n')
}

const ROUTE_HEADER = ['request', 'scope', 'idempotency key', 'what it does']

function showEndpoint([name, { serve, keyed, summary }]: [string, Endpoints[string]]): string[] {
  return [code(name), showScope(serve), keyed === undefined ? '' : 'required', summary]
}

function showScope(endpoint: Endpoint): string {
  if (endpoint.access === 'tenant') return code(endpoint.scope)
  if (endpoint.access === 'admin') return 'operator'
  return endpoint.access === 'session' ? 'session' : 'none'
}

/** Every problem type, by status. */
export function renderProblems(): string {
  const types = (Object.keys(problems) as ProblemType[]).toSorted(
    (one, other) => problems[one].status - problems[other].status,
  )
  const rows = types.map((type) => {
    const { status, title, meaning } = problems[type]
    return [code(type), String(status), title, mayRetry(type) ? 'yes' : 'no', meaning]
  })
  return renderTable(['type', 'status', 'title', 'retry', 'what it means and what to do'], rows)
}

/** The errors that are stored and replayed, by status. */
export function renderStoredProblems(): string {
  const rows = Object.entries(storedProblems)
    .map(([type, when]) => [String(problems[type as StoredProblem].status), code(type), when])
    .toSorted(([one = ''], [other = '']) => one.localeCompare(other))
  return renderTable(['status', 'type', 'when it is final'], rows)
}
