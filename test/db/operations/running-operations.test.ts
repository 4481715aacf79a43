// Tests that operations are counted while they run, each for its tenant.
import { expect, test } from '@jest/globals'
import { RunningOperations } from '../../../src/db/operations/running-operations.ts'

test('operations count for their tenant until they end, also with an error', async () => {
  const running = new RunningOperations()
  const { promise, reject } = Promise.withResolvers<string>()

  const failing = running.during('one', () => promise)
  const result = running.during('one', () => Promise.resolve('done'))
  expect([running.ofTenant('one'), running.ofTenant('other')]).toEqual([2, 0])
  expect(await result).toBe('done')
  expect(running.ofTenant('one')).toBe(1)
  reject(new Error('lost'))

  await expect(failing).rejects.toThrow('lost')
  expect(running.ofTenant('one')).toBe(0)
})
