// Tests that a listening store can be closed at any time, also while it connects. A promise that is
// left behind and rejects would end the process as if it had failed.
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { createTestDatabase } from '../../support/database.ts'
import { openTestStore } from '../reservations.ts'

/** The time in which a connection is made, in steps of half a millisecond. */
const MOMENTS = 60

function ignore(): void {}

test('closes a store that is about to listen', async () => {
  const database = await createTestDatabase()
  const lost: unknown[] = []
  const keep = (error: unknown) => void lost.push(error)
  process.on('unhandledRejection', keep)
  for (let moment = 0; moment < MOMENTS; moment += 1) {
    const store = openTestStore(database.url, 1)
    store.listen('anything', ignore, ignore)
    await delay(moment / 2)
    await store.close()
  }
  process.off('unhandledRejection', keep)
  await database.drop()

  expect(lost).toEqual([])
})
