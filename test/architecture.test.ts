import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { listPhaseRuns } from '../src/db/operations/phase-runs.ts'
import { operationMoves } from '../src/domain/operations/operation.ts'
import type { PaymentRequest } from '../src/domain/payments/payment.ts'
import { paymentTransitions } from '../src/domain/payments/payment-status.ts'
import { createPayment } from '../src/operations/create-payment/phases.ts'
import { operations } from '../src/operations/index.ts'
import { runOperation } from '../src/engine/run-phases.ts'
import { aroundCall } from './support/engine-doubles.ts'
import { startTestEngine, type TestEngine } from './support/engine.ts'

const architecture = readFileSync(new URL('../ARCHITECTURE.md', import.meta.url), 'utf8')

/** The arrows of the state diagram below a heading, as `from -> to`. */
function diagramBelow(heading: string): string[] {
  const section = architecture.split(`# ${heading}\n`)[1] ?? ''
  const diagram = /```mermaid\n([^]*?)```/.exec(section)?.[1] ?? ''
  return [...diagram.matchAll(/^ *(\S+) --> (\S+):/gm)].map(([, from, to]) => `${from} -> ${to}`)
}

describe('the state diagram of payment.create', () => {
  let t: TestEngine

  beforeAll(async () => {
    t = await startTestEngine()
  })

  afterAll(() => t.stop())

  const arrows = diagramBelow('The recovery points of `payment.create`')

  test('leaves each recovery point of the phase table, and no other', () => {
    const left = new Set(arrows.map((arrow) => arrow.split(' -> ')[0]))
    expect([...left]).toEqual(['[*]', ...Object.keys(createPayment.phases)])
  })

  test('has the arrows that payments take, and no other', async () => {
    const taken = new Set([
      ...(await arrowsOf({})),
      ...(await arrowsOf({ captureMethod: 'manual' })),
      ...(await arrowsOf({ paymentMethod: 'pm_card_chargeDeclined' })),
      ...(await arrowsOf({}, cancelingBeforeCapture())),
    ])
    expect([...taken].toSorted()).toEqual(arrows.toSorted())
  })

  /** An engine whose authorizations are canceled at the provider before they can be captured. */
  function cancelingBeforeCapture(): TestEngine['engine'] {
    return aroundCall(t.engine, 'capture', async (original, { payment }) => {
      await t.provider.stripe.paymentIntents.cancel(payment.providerPaymentId ?? '')
      return original()
    })
  }

  async function arrowsOf(
    request: Partial<PaymentRequest>,
    engine: TestEngine['engine'] = t.engine,
  ): Promise<string[]> {
    const ref = await t.accept(request)
    expect(await runOperation(engine, ref)).toBe('finished')
    const runs = await listPhaseRuns(t.engine.store, ref.tenantId, ref.paymentId)
    // A try that a busy machine let time out has reached nothing, and is no arrow.
    const steps = runs.filter(({ reached }) => reached !== null)
    return steps.map(({ phase, reached }) => `${phase ?? '[*]'} -> ${reached}`)
  }
})

test('the diagram of the statuses of an operation is the table of the code', () => {
  const section = architecture.split('# The statuses of an operation\n')[1] ?? ''
  const diagram = /```mermaid\nstateDiagram-v2\n([^]*?)```/.exec(section)?.[1] ?? ''

  const named = (status: string) => (status === 'new' || status === 'gone' ? '[*]' : status)
  const rows = operationMoves.map(
    ({ from, to, by }) => `  ${named(from)} --> ${named(to)}: ${by}\n`,
  )
  expect(diagram).toBe(rows.join(''))
})

test('the diagram of the payment statuses has the steps of the table, and no other', () => {
  const steps = Object.entries(paymentTransitions).flatMap(([from, next]) =>
    next.map((to) => `${from} -> ${to}`),
  )
  const arrows = diagramBelow('The statuses of a payment')
  expect(arrows.toSorted()).toEqual(['[*] -> processing', ...steps].toSorted())
})

describe.each(operations.map(({ name }) => name))('the phase table of %s', (name) => {
  const folder = new URL('../src/operations/', import.meta.url)
  const [table] = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('phases.ts'))
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
    .filter((source) => source.includes(`defineOperation('${name}'`))
    .map((source) => /^\/\/ recovery point[^]*?^\}, .*$/m.exec(source)?.[0])

  const shownIn = ['ARCHITECTURE.md', ...(name === createPayment.name ? ['README.md'] : [])]

  test.each(shownIn)('is shown in %s as it stands in the code', (page) => {
    expect(table).toBeDefined()
    expect(readFileSync(new URL(`../${page}`, import.meta.url), 'utf8')).toContain(table)
  })
})
