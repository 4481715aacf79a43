// Which objects a reconciliation run has compared, with a real database.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  deleteProgress,
  notComparedAmong,
  recordCompared,
} from '../../src/reconciliation/compared-objects.ts'
import { openBooks, type Books } from './books.ts'

let books: Books

beforeAll(async () => {
  books = await openBooks()
})

afterAll(() => books.close())

test('several workers delete what a run has compared, and never wait for each other', async () => {
  const { sql } = books.store
  const { id } = await books.newRun()
  for (let round = 0; round < 15; round += 1) {
    const objects = [0, 1, 2].map((part) =>
      Array.from({ length: 400 }, (_, number) => `object ${part} ${number * 7919}`),
    )
    const [first = [], ...others] = objects
    await recordCompared(sql, id, first)

    await Promise.all([
      deleteProgress(sql, id),
      deleteProgress(sql, id),
      ...others.map(async (ids) => {
        await recordCompared(sql, id, ids)
        await deleteProgress(sql, id)
      }),
    ])

    expect(await notComparedAmong(sql, id, objects.flat())).toHaveLength(1_200)
  }
})

test('deletes more objects than a batch has', async () => {
  const { sql } = books.store
  const { id } = await books.newRun()
  await sql`
    insert into reconciliation_seen (run_id, object_id)
    select ${id}, 'object ' || number from generate_series(1, 10_001) as number
  `

  await deleteProgress(sql, id)

  const left = await sql`select from reconciliation_seen where run_id = ${id}`
  expect(left.count).toBe(0)
})
