import { describe, expect, test } from '@jest/globals'
import { curvesOf } from '../../../bench/soak/curves.ts'
import { historyTables, steadyTables, type Sample } from '../../../bench/soak/samples.ts'

/** A sample of a service in a steady state, after this number of payments. */
function sampleAt(payments: number, changed: Partial<Sample> = {}): Sample {
  const steady = { tableBytes: 10e6, indexBytes: 5e6, deadRows: 100 }
  const history = { tableBytes: 1e6 + payments * 300, indexBytes: payments * 100, deadRows: 0 }
  const answer = { p50: 5, p99: 20 }
  return {
    seconds: payments / 10,
    answers: payments * 3,
    payments,
    apiMemoryBytes: 100e6,
    workerMemoryBytes: 120e6,
    nodeCpuMs: payments * 9,
    postgresCpuMs: payments * 6,
    machineMs: payments * 200,
    othersMs: payments * 10,
    oldestJobSeconds: 0,
    oldestUnfinishedSeconds: 0,
    tables: Object.fromEntries([
      ...steadyTables.map((name) => [name, steady]),
      ...historyTables.map((name) => [name, history]),
    ]),
    latencyMs: { pay: answer, replay: answer, get: answer, refund: answer },
    ...changed,
  }
}

const samples = Array.from({ length: 31 }, (_, index) => sampleAt(index * 100))

const growing = (all: readonly Sample[]) =>
  curvesOf(all)
    .filter(({ verdict }) => verdict === 'GROWS')
    .map(({ plot, name }) => `${plot}: ${name}`)

describe('the curves of a soak', () => {
  test('are all flat when only the number of payments grows', () => {
    const curves = curvesOf(samples)

    const others = curves.filter(({ verdict }) => verdict !== 'flat')
    expect(curves.length).toBeGreaterThan(20)
    expect(others).toMatchObject([{ plot: 'The machine', last: 5, verdict: 'not judged' }])
  })

  test('GROW when answers take more and more processor time', () => {
    const slowing = samples.map((sample, index) => ({ ...sample, nodeCpuMs: index * index * 50 }))

    expect(growing(slowing)).toEqual(['Processor time of an answer: Node'])
  })

  test('name the process that leaks memory', () => {
    const leaking = samples.map((sample, index) => ({
      ...sample,
      workerMemoryBytes: 100e6 + index * 3e6,
    }))

    expect(growing(leaking)).toEqual(['Resident memory: worker'])
  })

  test('name the table that bloats and keeps dead rows', () => {
    const bloating = samples.map((sample, index) => {
      const jobs = { tableBytes: index * 1e6, indexBytes: 5e6, deadRows: index * 1_000 }
      return { ...sample, tables: { ...sample.tables, 'atomic_jobs.job': jobs } }
    })

    expect(growing(bloating)).toEqual([
      'Size of atomic_jobs.job: table',
      'Dead rows: atomic_jobs.job',
    ])
  })
})
