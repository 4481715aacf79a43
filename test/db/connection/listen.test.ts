// A store that listens is closed whenever its process is told to stop, which may be in the middle of
// connecting: nothing may be left behind that nobody waits for, or the process ends as if it had failed.
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { createTestDatabase } from '../../support/database.ts'
import { openTestStore } from '../reservations.ts'

/** Over which a connection is made, a step of half a millisecond at a time. */
const MOMENTS = 60

function ignore(): void {}

test('a store that is closed while it begins to listen ends in order', async () => {
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
