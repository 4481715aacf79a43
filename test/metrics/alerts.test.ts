// Checks every metric, label and label value in the alerts against the exported metrics.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { definitions, PREFIX } from '../../src/metrics/metrics.ts'
import { findUnexported, JOBS, labelsOf, ownFamilies } from './exported.ts'
import { parseExpression } from './promql.ts'

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

function read(name: string): string {
  return readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8')
}

describe.each(rules)('$alert', ({ alert, expr, labels, annotations, ...rule }) => {
  const { selectors } = parseExpression(expr)

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
    expect(findUnexported(expr)).toEqual([])
  })

  test('mentions only existing labels', () => {
    const mentioned = Object.values(annotations).flatMap((text) =>
      [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label),
    )
    const known = selectors.flatMap(({ metric }) => labelsOf(metric) ?? [])

    for (const label of mentioned) expect(known).toContain(label)
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
  ['a label to group by', 'max by (what) (atomic_payments_operations)', 'what'],
  [
    'one of two values',
    'absent(up{job=~"atomic-payments-(api|x)"})',
    'up{job="atomic-payments-x"}',
  ],
])('detects %s that is not exported', (_, expr, unexported) => {
  expect(findUnexported(expr)).toEqual([unexported])
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
        ownFamilies.get(PREFIX + name),
        labels,
      ]),
    )
    expect(new Set(documented.map(([name]) => name))).toEqual(new Set(ownFamilies.keys()))
  })

  test('uses the job names of the alerts', () => {
    expect([...readme.matchAll(/job_name: (\S+)/g)].map(([, name]) => name)).toEqual(JOBS)
  })
})

test('names end in _total for counters and in _seconds for histograms', () => {
  for (const [name, kind] of ownFamilies) {
    expect(name).toMatch(/^atomic_payments_[a-z_]+$/)
    expect(name.endsWith('_total')).toBe(kind === 'counter')
    if (kind === 'histogram') expect(name).toMatch(/_seconds$/)
  }
})
