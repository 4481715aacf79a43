// What the service exports: its metrics, their labels, and the values of labels with a fixed set of values.
import { queueGroups } from '../../src/config.ts'
import { storeErrorKinds } from '../../src/db/connection/store-errors.ts'
import { operationStatuses } from '../../src/domain/operations/operation.ts'
import { refusals, reservationResults, storeCircuits } from '../../src/http/observer.ts'
import { createMetrics, definitions, PREFIX, type Definition } from '../../src/metrics/metrics.ts'
import { maintenanceTasks } from '../../workers/maintenance.ts'
import { parseExposition } from './exposition.ts'
import { parseExpression, type Selector } from './promql.ts'

export const JOBS = ['atomic-payments-api', 'atomic-payments-worker']

/** Labels that Prometheus adds: https://prometheus.io/docs/concepts/jobs_instances/ */
const OF_EVERY_SERIES = ['job', 'instance']

const tasks = maintenanceTasks.map(({ name }) => name)

/** The possible values of labels with a fixed set of values. */
const values: Readonly<Record<string, readonly string[]>> = {
  'reservations_total.result': reservationResults,
  'refusals_total.reason': refusals,
  'store_errors_total.kind': storeErrorKinds,
  'circuit_open.circuit': [...storeCircuits, 'provider', 'redis'],
  'operations.status': operationStatuses.filter((status) =>
    ['pending', 'processing', 'unknown'].includes(status),
  ),
  'http_request_duration_seconds.status': ['2xx', '3xx', '4xx', '5xx'],
  'maintenance_total.task': tasks,
  'maintenance_duration_seconds.task': tasks,
  'maintenance_failures_total.task': tasks,
  'worker_queues.group': queueGroups,
  'up.job': JOBS,
}

const metrics = createMetrics()
metrics.exportGauges(() => Promise.resolve({}))

/** The kinds of the service's own metrics, by name. */
export const ownFamilies = parseExposition(await metrics.scrape()).families

metrics.exportProcess()

/** With those of its process. */
const families = parseExposition(await metrics.scrape()).families

export const definitionOf = (metric: string): Definition | undefined =>
  (definitions as Readonly<Record<string, Definition>>)[metric.slice(PREFIX.length)]

/** Returns the family of a series. A histogram has three series. */
function familyOf(metric: string): string {
  const family = metric.replace(/_(bucket|count|sum)$/, '')
  return families.get(family) === 'histogram' ? family : metric
}

export const kindOf = (metric: string) => families.get(familyOf(metric))

/** Returns the labels of an exported metric, or undefined. */
export function labelsOf(metric: string): readonly string[] | undefined {
  if (metric === 'up') return OF_EVERY_SERIES
  const family = familyOf(metric)
  if (!families.has(family)) return undefined
  const isBucket = metric !== family && metric.endsWith('_bucket')
  const own = definitionOf(family)?.labels ?? []
  return [...own, ...OF_EVERY_SERIES, ...(isBucket ? ['le'] : [])]
}

/** Returns the parts of an expression that are never exported: metrics, labels and values. */
export function findUnexported(expr: string): string[] {
  const { selectors, groupedBy } = parseExpression(expr)
  const known = selectors.flatMap(({ metric }) => labelsOf(metric) ?? [])
  const grouped = groupedBy.filter((label) => !known.includes(label))
  return [...selectors.flatMap(unexportedIn), ...grouped]
}

function unexportedIn({ metric, matchers }: Selector): string[] {
  const labels = labelsOf(metric)
  if (labels === undefined) return [metric]
  const family = familyOf(metric).replace(PREFIX, '')
  return matchers.flatMap(({ label, operator, value }) => {
    if (!labels.includes(label)) return [`${metric}{${label}}`]
    const possible = values[`${family}.${label}`]
    if (possible === undefined) return []
    // Each alternative must be possible, also those in parentheses.
    const texts = operator.includes('~') ? alternatives(value) : [value]
    return texts
      .filter((text) => !possible.includes(text))
      .map((text) => `${metric}{${label}="${text}"}`)
  })
}

function alternatives(pattern: string): string[] {
  const [, before = '', inside, after = ''] = /^(.*)\((.*)\)(.*)$/.exec(pattern) ?? []
  if (inside === undefined) return pattern.split('|')
  return inside.split('|').map((text) => before + text + after)
}
