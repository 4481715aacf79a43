// Checks every metric, label and label value in the alerts against the exported metrics.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { queueGroups } from '../../src/config.ts'
import { storeErrorKinds } from '../../src/db/connection/store-errors.ts'
import { operationStatuses } from '../../src/domain/operations/operation.ts'
import { refusals, reservationResults, storeCircuits } from '../../src/http/observer.ts'
import { createMetrics, definitions, PREFIX, type Definition } from '../../src/metrics/metrics.ts'
import { maintenanceTasks } from '../../workers/maintenance.ts'
import { parseExposition } from './exposition.ts'
import { parseExpression, type Selector } from './promql.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const alerts = parse(read('alerts.yml')) as { groups: { name: string; rules: Rule[] }[] }
const rules = alerts.groups.flatMap((group) => group.rules)
const readme = read('README.md')
const exported = await exportedFamilies()

/** Metrics that Prometheus adds to a scrape: https://prometheus.io/docs/concepts/jobs_instances/ */
const OF_PROMETHEUS: Readonly<Record<string, readonly string[]>> = { up: ['job', 'instance'] }
const JOBS = ['atomic-payments-api', 'atomic-payments-worker']

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
  'maintenance_total.task': maintenanceTasks.map(({ name }) => name),
  'maintenance_duration_seconds.task': maintenanceTasks.map(({ name }) => name),
  'maintenance_failures_total.task': maintenanceTasks.map(({ name }) => name),
  'worker_queues.group': queueGroups,
  'up.job': JOBS,
}

function read(name: string): string {
  return readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8')
}

async function exportedFamilies(): Promise<ReadonlyMap<string, string>> {
  const metrics = createMetrics()
  metrics.exportGauges(() => Promise.resolve({}))
  return parseExposition(await metrics.scrape()).families
}

/** Returns the family of a series. A histogram has three series. */
function familyOf(metric: string): string {
  const family = metric.replace(/_(bucket|count|sum)$/, '')
  return exported.get(family) === 'histogram' ? family : metric
}

function labelsOf(metric: string): readonly string[] | undefined {
  const family = familyOf(metric)
  if (metric in OF_PROMETHEUS) return OF_PROMETHEUS[metric]
  if (!exported.has(family)) return undefined
  const name = family.slice(PREFIX.length)
  return (definitions as Readonly<Record<string, Definition>>)[name]?.labels
}

/** Returns the parts of a selector that are never exported. */
function findUnexported({ metric, matchers }: Selector): string[] {
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

describe.each(rules)('$alert', ({ alert, expr, labels, annotations, ...rule }) => {
  const { selectors, groupedBy } = parseExpression(expr)

  test('has a name, a delay, a severity, a summary and a description', () => {
    expect(alert).toMatch(/^AtomicPayments[A-Za-z]+$/)
    expect(rule.for).toMatch(/^\d+[mh]$/)
    expect(['page', 'ticket']).toContain(labels['severity'])
    expect(Object.keys(annotations).toSorted()).toEqual(['description', 'summary'])
    expect(annotations['summary']).toMatch(/^.{20,150}\.$/)
    expect(annotations['description']).toMatch(/^[^\n]{80,600}\.$/)
  })

  test('selects only exported metrics, labels and values', () => {
    expect(selectors.length).toBeGreaterThan(0)
    expect(selectors.flatMap(findUnexported)).toEqual([])
  })

  test('groups by and mentions only existing labels', () => {
    const mentioned = Object.values(annotations).flatMap((text) =>
      [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label),
    )
    const known = selectors.flatMap(({ metric }) => labelsOf(metric) ?? [])

    for (const label of [...groupedBy, ...mentioned]) expect(known).toContain(label)
  })
})

test('alerts on a tenant that repeats requests', () => {
  const alert = rules.find((rule) => rule.alert === 'AtomicPaymentsManyDuplicates')
  const { selectors, groupedBy } = parseExpression(alert?.expr ?? '')

  const metrics = new Set(selectors.map(({ metric }) => metric))
  expect(metrics).toEqual(
    new Set([`${PREFIX}tenant_duplicates_total`, `${PREFIX}tenant_requests_total`]),
  )
  expect(new Set(groupedBy)).toEqual(new Set(['tenant']))
})

test('has unique alert names', () => {
  const names = rules.map(({ alert }) => alert)

  expect(names.length).toBeGreaterThanOrEqual(10)
  expect(new Set(names).size).toBe(names.length)
})

test.each([
  [
    'a metric',
    'sum(rate(atomic_payments_reservation_total[5m])) > 1',
    'atomic_payments_reservation_total',
  ],
  [
    'a series of a metric that is not a histogram',
    'atomic_payments_operations_count > 1',
    'atomic_payments_operations_count',
  ],
  [
    'a label',
    'atomic_payments_operations{state="unknown"} > 1',
    'atomic_payments_operations{state}',
  ],
  [
    'a value',
    'atomic_payments_operations{status="lost"} > 1',
    'atomic_payments_operations{status="lost"}',
  ],
  [
    'one of two values',
    'absent(up{job=~"atomic-payments-(api|x)"})',
    'up{job="atomic-payments-x"}',
  ],
])('detects %s that is not exported', (_, expr, unexported) => {
  expect(parseExpression(expr).selectors.flatMap(findUnexported)).toEqual([unexported])
})

describe('deploy/README.md', () => {
  const rows = [...readme.matchAll(/^\| `(\w+)` \| (\w+) \|([^|]*)\|/gm)]
  const documented = rows.map(([, name = '', kind = '', labels = '']) => [
    PREFIX + name,
    kind,
    [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
  ])

  test('documents exactly the exported metrics, with kind and labels', () => {
    expect(documented).toEqual(
      Object.entries(definitions).map(([name, { labels }]) => [
        PREFIX + name,
        exported.get(PREFIX + name),
        labels,
      ]),
    )
    expect(new Set(documented.map(([name]) => name))).toEqual(new Set(exported.keys()))
  })

  test('uses the job names of the alerts', () => {
    expect([...readme.matchAll(/job_name: (\S+)/g)].map(([, name]) => name)).toEqual(JOBS)
  })
})

test('names end in _total for counters and in _seconds for histograms', () => {
  for (const [name, kind] of exported) {
    expect(name).toMatch(/^atomic_payments_[a-z_]+$/)
    expect(name.endsWith('_total')).toBe(kind === 'counter')
    if (kind === 'histogram') expect(name).toMatch(/_seconds$/)
  }
})
