import { expect, test } from '@jest/globals'
import { inTransaction } from '../../../src/db/connection/transaction.ts'
import { openFindings, type NewFinding } from '../../../src/db/operations/findings.ts'
import { store } from '../../support/own-store.ts'
import { until } from '../../support/until.ts'

const ROUNDS = 10

const findingOf = (objectId: string): NewFinding => ({
  provider: 'stripe',
  kind: 'missing_here',
  objectId,
  runId: null,
  subject: null,
  ours: null,
  theirs: null,
})

const countWaiting = async () => {
  const waiting = await store.sql`
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
  `
  return waiting.count
}

test('two runs that open the same findings in different orders do not deadlock', async () => {
  const opened: number[] = []
  for (let round = 1; round <= ROUNDS; round += 1) {
    const findings = [findingOf(`pi_${round}_a`), findingOf(`pi_${round}_b`)]
    const reversed = findings.toReversed()
    // Both runs wait for a third, which gives up: after that, each could lock what the other needs.
    const third = inTransaction(store.sql, async (tx) => {
      await openFindings(tx, findings.slice(1))
      const waiting = [reversed, findings].map((all) => openFindings(store.sql, all))
      await until(async () => (await countWaiting()) === 2)
      throw new GivenUp(waiting)
    })
    const error: unknown = await third.catch((thrown: unknown) => thrown)
    if (!(error instanceof GivenUp)) throw error
    opened.push(...(await Promise.all(error.waiting)))
  }

  expect(opened).toHaveLength(2 * ROUNDS)
  expect(opened.reduce((sum, count) => sum + count, 0)).toBe(2 * ROUNDS)
})

class GivenUp extends Error {
  readonly waiting: readonly Promise<number>[]

  constructor(waiting: readonly Promise<number>[]) {
    super('given up')
    this.waiting = waiting
  }
}
