import { beforeAll, expect, test } from '@jest/globals'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { nameOfKey, operationIdOf } from '../../../../verify/model/programs/ids.ts'
import { loadProduct } from '../../../../verify/model/programs/product.ts'
import { programsOf, type Programs } from '../../../../verify/model/programs/programs.ts'
import { Run } from '../../../../verify/model/programs/run.ts'

let programs: Programs

beforeAll(async () => {
  const settings = { tries: { calls: 1, retries: 0 }, checks: [60] }
  programs = programsOf(await loadProduct(REPOSITORY), settings)
})

const request = (key: number, more = {}) => ({ key: nameOfKey(key), amountMinor: 1_000, ...more })

/** Which of two texts the parameters of the pending statement have. */
function named(run: Run, texts: readonly string[]): string[] {
  const { pending } = run
  if (pending?.kind !== 'statement') throw new Error('no statement is pending')
  const parameters = JSON.stringify(pending.parameters)
  return texts.filter((text) => parameters.includes(text))
}

const NAMES = [nameOfKey(0), nameOfKey(1)]
const OPERATIONS = [operationIdOf(0, 1), operationIdOf(1, 1)]

test.each([
  ['reserves two keys', () => programs.send([request(0), request(1)]), NAMES],
  [
    'looks up two keys',
    () =>
      programs.send([request(0, { isCachedAsUsed: true }), request(1, { isCachedAsUsed: true })]),
    NAMES,
  ],
  ['claims two operations', () => programs.work(OPERATIONS), OPERATIONS],
])('%s together, and singly after that failed', async (_, programFor, texts) => {
  const run = new Run(programFor())
  await run.runUntilPending()
  expect(named(run, texts)).toEqual(texts)

  await run.answer({ kind: 'connection_lost' })
  expect(named(run, texts)).toEqual(texts.slice(0, 1))

  await run.answer({ kind: 'connection_lost' })
  expect(named(run, texts)).toEqual(texts.slice(1))
  run.abandon()
})
