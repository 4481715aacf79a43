// Compares the generated sections with the tables of the code.
import { describe, expect, test } from '@jest/globals'
import { renderFlavours, renderProblems, renderRoutes } from '../../../dev/docs/api-tables.ts'
import { renderLayers } from '../../../dev/docs/layers-table.ts'
import { renderStateDiagram } from '../../../dev/docs/markdown.ts'
import { renderPhaseTable, renderPhaseTables } from '../../../dev/docs/phase-tables.ts'
import { renderStandInFaults, renderStandInMethods } from '../../../dev/docs/stand-in-tables.ts'
import {
  renderOperationStates,
  renderPaymentStates,
  renderRefundStates,
} from '../../../dev/docs/status-diagrams.ts'
import { faultNames } from '../../../dev/stripe-stand-in/faults/faults.ts'
import { paymentMethods } from '../../../dev/stripe-stand-in/payment-intents/payment-methods.ts'
import { operationMoves } from '../../../src/domain/operations/operation.ts'
import { paymentTransitions } from '../../../src/domain/payments/payment-status.ts'
import { refundTransitions } from '../../../src/domain/payments/refund.ts'
import { differences } from '../../../src/domain/problems/flavor.ts'
import { mayRetry, problems, type ProblemType } from '../../../src/domain/problems/problems.ts'
import { endpoints } from '../../../src/http/server/routes.ts'
import { operations } from '../../../src/operations/index.ts'
import { confined, layers } from '../../layers.ts'

const arrowsIn = (diagram: string) =>
  [...diagram.matchAll(/^ {2}(\S+) --> (\S+?)(?:: .+)?$/gm)].map(([, from, to]) => `${from} ${to}`)

const rowsIn = (tables: string) =>
  [...tables.matchAll(/^\| `([^`]+)` \|/gm)].map(([, first = '']) => first)

describe.each(operations)('the phase table of $name', ({ name, phases }) => {
  test('is the text of its source, and has a row for each recovery point', () => {
    const table = renderPhaseTable(name)

    const sources = renderPhaseTables()
    expect(sources).toContain(table)
    const points = [...table.matchAll(/^ {2}(\w+): +\{/gm)].map(([, point]) => point)
    expect(points).toEqual(Object.keys(phases))
    expect(table).toMatch(/^```ts\n\/\/ recovery point .*\nexport const \w+ = defineOperation\('/)
    expect(table).toMatch(/\}, .*\)\n```$/s)
  })
})

test('all phase tables have a heading and say what the operation does, in the order of the list', () => {
  const tables = renderPhaseTables()

  const headings = [...tables.matchAll(/^### `(.+)`\n\n[A-Z].{20,100}\n/gm)]
  expect(headings.map(([, name]) => name)).toEqual(operations.map(({ name }) => name))
})

test.each([
  ['payments', renderPaymentStates(), paymentTransitions],
  ['refunds', renderRefundStates(), refundTransitions],
])('the statuses of %s are the table of the domain', (_, diagram, transitions) => {
  const steps = Object.entries<readonly string[]>(transitions).flatMap(([from, next]) =>
    next.length === 0 ? `${from} [*]` : next.map((to) => `${from} ${to}`),
  )

  expect(arrowsIn(diagram)).toEqual(['[*] processing', ...steps])
})

test('the statuses of an operation are the table of the domain, with its labels', () => {
  const shown = (status: string) => (status === 'new' || status === 'gone' ? '[*]' : status)
  const lines = operationMoves.map(({ from, to, by }) => `  ${shown(from)} --> ${shown(to)}: ${by}`)

  expect(renderOperationStates()).toBe(
    ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n'),
  )
})

test('the tables of the stand-in have every payment method and every fault', () => {
  for (const { id } of paymentMethods) expect(renderStandInMethods()).toContain(`\`${id}\``)
  expect(rowsIn(renderStandInFaults()).toSorted()).toEqual(faultNames.toSorted())
})

test('a label that would break the diagram is refused', () => {
  const arrow = { from: 'one', to: 'two', label: 'first; second' }

  expect(() => renderStateDiagram([arrow])).toThrow('Mermaid cannot show the label first; second')
})

test('the routes have every contract once', () => {
  expect(rowsIn(renderRoutes()).toSorted()).toEqual(Object.keys(endpoints).toSorted())
})

test('the problems have every type once, by status, with what it means', () => {
  const table = renderProblems()

  expect(rowsIn(table).toSorted()).toEqual(Object.keys(problems).toSorted())
  const statuses = [...table.matchAll(/^\| `[\w-]+` \| (\d+) \|/gm)].map(([, status]) =>
    Number(status),
  )
  expect(statuses).toEqual(statuses.toSorted((one, other) => one - other))
  for (const type of rowsIn(table) as ProblemType[]) {
    const { status, title, meaning } = problems[type]
    const retry = mayRetry(type) ? 'yes' : 'no'
    expect(table).toContain(`| \`${type}\` | ${status} | ${title} | ${retry} | ${meaning} |`)
  }
})

test('the layers have a row for each layer and each confined package', () => {
  expect(rowsIn(renderLayers())).toEqual([
    ...layers.map(({ files }) => files),
    ...confined.map(([name]) => name),
  ])
  expect(renderLayers()).toContain(
    '\n| `src/operations/*/endpoint.ts` | `./`, `src/http/`, `src/db/`, `src/domain/`, `src/provider/adapters.ts` |\n',
  )
})

test('the flavours have a row for each difference', () => {
  const table = renderFlavours()

  expect(table.split('\n')).toHaveLength(2 + differences.length)
  for (const { situation } of differences) expect(table).toContain(`\n| ${situation} | `)
  expect(table).toContain(
    '| `422` `idempotency_error`, `idempotency_key_reused` | `400` `idempotency_error`, `idempotency_key_reused` |',
  )
})
