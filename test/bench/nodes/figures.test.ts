import { expect, test } from '@jest/globals'
import { connectionsAllowed, mediansOf, type NodesRow } from '../../../bench/nodes/figures.ts'
import { showNodesReport, type NodesReport } from '../../../bench/nodes/report.ts'

const rowOf = (own: Partial<NodesRow>): NodesRow => ({
  round: 1,
  nodes: 1,
  perSecond: 100,
  medianMs: 10,
  busy: 0.5,
  apiCpuMs: 1,
  workerCpuMs: 2,
  providerCpuMs: 3,
  postgresCpuMs: 4,
  connections: 12,
  unexpected: 0,
  ...own,
})

test('more processes have the medians of their own rounds, the fewest first', () => {
  const medians = mediansOf([
    rowOf({ nodes: 2, perSecond: 300 }),
    rowOf({ round: 1, perSecond: 90 }),
    rowOf({ round: 2, perSecond: 200 }),
    rowOf({ round: 3, perSecond: 110.456 }),
  ])

  expect(medians.map(({ nodes, perSecond }) => [nodes, perSecond])).toEqual([
    [1, 110.46],
    [2, 300],
  ])
})

test('each process may have its pool and a few connections more', () => {
  expect([1, 2, 4].map(connectionsAllowed)).toEqual([17, 34, 68])
})

test('the table shows what they cost, and the connections that are allowed', () => {
  const machine = { cores: 2, cpu: 'a processor', postgres: '18', node: 'v24', commit: 'c' }
  const report = { machine: { ...machine, busyBefore: 0 }, rows: [rowOf({})], unexpected: 3 }

  const shown = showNodesReport(report as unknown as NodesReport)

  expect(shown).toMatch(/^1 +100 +10 +50 % +1 +2 +3 +4 +12 +17$/m)
  expect(shown).toContain('unexpected answers: 3')
})
